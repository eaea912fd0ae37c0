package request

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// ForCaller turns any error into what a caller may see. Unless told is true, err says more than the result; that is for the log.
func ForCaller(err error) (e *schedule.Error, told bool) {
	switch {
	case errors.As(err, &e):
		return e, e.Code != schedule.CodeInternal
	case errors.Is(err, kv.ErrCorrupt):
		return schedule.Errorf(schedule.CodeInternal,
			"a record of the schedule cannot be read; the log of the frontend says why"), false
	case errors.Is(err, nats.ErrMaxPayload):
		return schedule.Errorf(schedule.CodeInvalidArgument,
			"the schedule, with what is asked for, is larger than NATS accepts in one message: "+
				"store its input elsewhere and pass a reference"), false
	case isUnavailable(err):
		return schedule.Errorf(schedule.CodeUnavailable,
			"NATS did not answer as it should, so it is not known whether the request was carried out: try again, "+
				"where there is a requestId with the same one"), false
	}
	return schedule.Errorf(schedule.CodeInternal, "internal error; the log of the frontend says more"), false
}

// isUnavailable reports whether an error comes from NATS, and another attempt may do better.
func isUnavailable(err error) bool {
	for _, target := range []error{
		context.DeadlineExceeded, context.Canceled,
		nats.ErrTimeout, nats.ErrNoResponders, nats.ErrConnectionClosed, nats.ErrConnectionDraining,
		nats.ErrConnectionReconnecting, nats.ErrDisconnected, nats.ErrReconnectBufExceeded,
		jetstream.ErrNoStreamResponse, jetstream.ErrNoHeartbeat,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return isRefused(err)
}

// isRefused reports whether an error bears one of the JetStream API, and so comes from a server. Other errors of the
// client are about arguments. Watches of a bucket still have those of the older client inside.
func isRefused(err error) bool {
	var refused jetstream.JetStreamError
	if errors.As(err, &refused) && refused.APIError() != nil {
		return true
	}
	var older nats.JetStreamError
	return errors.As(err, &older) && older.APIError() != nil
}
