package request

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestForCaller(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		err  error
		code schedule.Code
		told bool
	}{
		{"an error for callers", schedule.Errorf(schedule.CodeNotFound, "no such schedule"), schedule.CodeNotFound, true},
		{"a defect", schedule.Errorf(schedule.CodeInternal, "no pointer"), schedule.CodeInternal, false},
		{"time is over", context.DeadlineExceeded, schedule.CodeUnavailable, false},
		{"nobody answers", nats.ErrNoResponders, schedule.CodeUnavailable, false},
		{"the stream is gone", jetstream.ErrStreamNotFound, schedule.CodeUnavailable, false},
		{"the stream of a watch is gone", nats.ErrStreamNotFound, schedule.CodeUnavailable, false},
		{"a bad argument", jetstream.ErrInvalidKey, schedule.CodeInternal, false},
		{"no such stream", jetstream.ErrNoStreamResponse, schedule.CodeUnavailable, false},
		{"the server refuses", &jetstream.APIError{Code: 503}, schedule.CodeUnavailable, false},
		{"too large", nats.ErrMaxPayload, schedule.CodeInvalidArgument, false},
		{"a record is corrupt", kv.ErrCorrupt, schedule.CodeInternal, false},
		{"anything else", errors.New("secret"), schedule.CodeInternal, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e, told := ForCaller(fmt.Errorf("secret: %w", test.err))
			assert.Equal(t, test.code, e.Code)
			assert.Equal(t, test.told, told)
			assert.NotContains(t, e.Error(), "secret")
			assert.NotEmpty(t, e.Message)
		})
	}
}
