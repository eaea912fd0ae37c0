package topology

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// minAPILevel is the level of the JetStream API that came with MinVersion. Delayed messages are older, but since
	// then a client may remove one by a header of another message.
	minAPILevel = 4
	// MinVersion is the first version of NATS that can do what Carillon needs.
	MinVersion = "2.14"
)

// Ensure makes the cluster ready and returns its facts. It may be called by any number of processes at once, and again
// at any time.
//
// A process whose settings or format do not go with the cluster is refused, with CodeFailedPrecondition. Other than the
// shards, the replicas follow the settings: buckets and streams are updated to the number a process asks for, and kept
// at what they have when it does not ask. Where processes ask for different numbers, the last to start prevails.
//
// A bucket of records that was deleted is not made anew, since all would go on without them: that is refused, with
// CodeFailedPrecondition; [Recreate] does it. Streams that were deleted are made anew, for what they had to do can be made anew from the
// records, and what they had told is lost already.
//
// A cluster that is still starting is waited for until ctx ends; the error then has CodeUnavailable and says what was
// waited for.
func Ensure(ctx context.Context, js jetstream.JetStream, names subjects.Names, s Settings) (Facts, error) {
	if err := s.validate(); err != nil {
		return Facts{}, err
	}
	if err := checkServer(ctx, js); err != nil {
		return Facts{}, err
	}
	for {
		facts, err := agree(ctx, js, names, s)
		if err != nil {
			return Facts{}, err
		}
		if err := build(ctx, js, names, facts, s.Replicas != 0); err != nil {
			return Facts{}, err
		}
		// If the replicas were changed meanwhile, some of what was just built follows the old number.
		now, err := complete(ctx, js, names)
		if err != nil {
			return Facts{}, err
		}
		if now.Replicas == facts.Replicas {
			return now, nil
		}
	}
}

// checkServer makes sure that the server can do what is needed, before anything is created on it.
func checkServer(ctx context.Context, js jetstream.JetStream) error {
	return retry(ctx, "JetStream to answer", func(ctx context.Context) error {
		conn := js.Conn()
		info, err := js.AccountInfo(ctx)
		enabled, _ := conn.ConnectedServerJetStream()
		switch {
		case errors.Is(err, jetstream.ErrJetStreamNotEnabled) && conn.IsConnected() && !enabled,
			errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
			return schedule.Errorf(schedule.CodeFailedPrecondition,
				"JetStream is not enabled on the NATS server at %s, or not for this account: "+
					"enable it (nats-server --jetstream), with version %s or later",
				conn.ConnectedUrlRedacted(), MinVersion)
		case err != nil:
			return err
		case info.API.Level < minAPILevel:
			return schedule.Errorf(schedule.CodeFailedPrecondition,
				"the NATS server at %s has version %s: version %s or later is needed, for delayed messages",
				conn.ConnectedUrlRedacted(), conn.ConnectedServerVersion(), MinVersion)
		}
		return nil
	})
}
