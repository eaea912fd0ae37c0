package topology

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"no answer":                        {nats.ErrTimeout, true},
		"no servers for the replicas":      {&jetstream.APIError{Code: http.StatusBadRequest, ErrorCode: bus.CodeNoPeers}, true},
		"a consumer is still being erased": {&jetstream.APIError{Code: http.StatusInternalServerError, ErrorCode: bus.CodeConsumerNotMade}, true},
		"wrapped":                          {fmt.Errorf("make: %w", &jetstream.APIError{ErrorCode: bus.CodeNotLeader}), true},
		"unavailable":                      {&jetstream.APIError{Code: http.StatusServiceUnavailable}, true},
		"no JetStream in the account": {&jetstream.APIError{
			Code: http.StatusServiceUnavailable, ErrorCode: jetstream.JSErrCodeJetStreamNotEnabledForAccount,
		}, false},
		"no room":       {&jetstream.APIError{Code: http.StatusInternalServerError, ErrorCode: bus.CodeNoRoom}, false},
		"bad request":   {&jetstream.APIError{Code: http.StatusBadRequest, ErrorCode: jetstream.JSErrCodeBadRequest}, false},
		"not by NATS":   {errors.New("unavailable"), false},
		"ended by hand": {context.Canceled, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, Transient(test.err))
		})
	}
}
