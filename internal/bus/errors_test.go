package bus

import (
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

func TestIsWrongSequence(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"one replica":       {&jetstream.APIError{ErrorCode: 10071}, true},
		"several replicas":  {&jetstream.APIError{ErrorCode: 10164}, true},
		"wrapped":           {fmt.Errorf("store: %w", &jetstream.APIError{ErrorCode: 10164}), true},
		"another refusal":   {&jetstream.APIError{ErrorCode: 10077}, false},
		"no acknowledgment": {nats.ErrTimeout, false},
		"no such thing":     {errors.New("wrong last sequence: 5"), false},
		"none":              {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, IsWrongSequence(test.err))
		})
	}
}
