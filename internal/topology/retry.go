package topology

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// attemptTimeout bounds one attempt, so that a request lost in an election is repeated.
	attemptTimeout = 5 * time.Second
	minBackoff     = 20 * time.Millisecond
	maxBackoff     = time.Second
)

// errAgain means that another process was faster: look again.
var errAgain = errors.New("changed by another process at the same time")

// errNoCluster explains why a server cannot hold several replicas.
var errNoCluster = schedule.Errorf(schedule.CodeFailedPrecondition,
	"several replicas need a NATS cluster of at least as many servers, and this server is on its own: "+
		"ask for 1 replica, or connect to a cluster")

// retry repeats a step until it succeeds, fails for good, or ctx ends. what says what it waits for.
func retry(ctx context.Context, what string, step func(context.Context) error) error {
	backoff := minBackoff
	var last error
	for {
		err := attempt(ctx, step)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil && !Transient(err) {
			return explain(what, err)
		}
		// The last failure before the end says more than the end itself.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return schedule.Errorf(schedule.CodeUnavailable, "gave up waiting for %s: %v", what, hint(last))
		case <-time.After(backoff):
			backoff = min(2*backoff, maxBackoff)
		}
	}
}

func attempt(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return step(ctx)
}

// Transient reports whether a failure passes by itself, because a cluster starts, elects, or moves replicas.
func Transient(err error) bool {
	for _, passing := range []error{
		errAgain, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected,
		nats.ErrConnectionReconnecting, nats.ErrReconnectBufExceeded, nats.ErrStaleConnection,
		jetstream.ErrStreamNotFound, jetstream.ErrJetStreamNotEnabled, jetstream.ErrNoStreamResponse,
	} {
		if errors.Is(err, passing) {
			return true
		}
	}
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case bus.CodeNoPeers, bus.CodeNotLeader, bus.CodeConsumerNotMade, bus.CodeSubjectsOverlap, bus.CodeStreamOffline,
		bus.CodeMoveInProgress:
		return true
	case jetstream.JSErrCodeJetStreamNotEnabledForAccount:
		return false
	}
	return api.Code == http.StatusServiceUnavailable
}

// noRoom reports whether a stream was refused for the bytes that it would reserve. A cluster decides this by the servers that it
// can reach: a missing one may have room.
func noRoom(err error) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode {
	case bus.CodeNoRoom, bus.CodeAboveStreamLimit:
		return true
	case bus.CodeNoPeers:
		return strings.Contains(api.Description, "insufficient storage") && !strings.Contains(api.Description, "peer offline")
	}
	return false
}

// hint puts advice in front of a failure.
func hint(err error) error {
	if bus.CodeOf(err) == bus.CodeNoPeers {
		return fmt.Errorf("each replica needs a NATS server of its own, with JetStream and with room: %w", err)
	}
	return err
}

// explain tells the user what to do about a failure that does not pass.
func explain(what string, err error) error {
	var known *schedule.Error
	if errors.As(err, &known) {
		return err
	}
	switch bus.CodeOf(err) {
	case bus.CodeReplicasUnsupported:
		return errNoCluster
	case bus.CodeNoRoom:
		return schedule.Errorf(schedule.CodeFailedPrecondition, "%s cannot be made or changed: its streams have set more bytes apart than the NATS "+
			"server has room for: give it more disk, or a larger max_file_store, and start it anew", what)
	}
	return fmt.Errorf("topology: %s: %w", what, err)
}
