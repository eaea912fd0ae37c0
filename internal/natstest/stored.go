package natstest

import (
	"context"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Stored returns how many messages of each subject a stream has. The pulse of a task stream, which is there always, is left out.
func Stored(ctx context.Context, js jetstream.JetStream, stream string) (map[string]uint64, error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, err
	}
	stored := map[string]uint64{}
	for subject, count := range info.State.Subjects {
		if !strings.HasSuffix(subject, ".pulse") && !strings.HasSuffix(subject, ".pulsed") {
			stored[subject] = count
		}
	}
	return stored, nil
}

// StopPulse removes the pulse of a task stream, for tests of what a stream has to the last message.
func StopPulse(ctx context.Context, js jetstream.JetStream, stream, timer, pulse string) error {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	for _, subject := range []string{timer, pulse} {
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}
