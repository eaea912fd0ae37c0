package sleep_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

func TestFor(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wait, limit, took time.Duration
		err               error
	}{
		"to its end":  {time.Hour, 2 * time.Hour, time.Hour, nil},
		"cut short":   {time.Hour, time.Minute, time.Minute, context.DeadlineExceeded},
		"not at all":  {0, time.Hour, 0, nil},
		"in the past": {-time.Hour, time.Hour, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.limit)
				defer cancel()
				began := time.Now()
				assert.ErrorIs(t, sleep.For(ctx, test.wait), test.err)
				assert.Equal(t, test.took, time.Since(began))
			})
		})
	}
}
