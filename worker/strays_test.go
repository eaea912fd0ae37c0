package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestStraysAreAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStrays(make(chan struct{}, 2))
		assert.Zero(t, s.wait(t.Context()), "there is none")
		first, second := make(chan returned, 1), make(chan returned, 1)
		count, keeps := s.add(first)
		assert.Equal(t, 1, count)
		assert.False(t, keeps)
		count, _ = s.add(second)
		assert.Equal(t, 2, count)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first <- returned{}
		assert.Equal(t, 1, s.wait(ctx), "one is left when the time is over")
		second <- returned{}
		assert.Zero(t, s.wait(t.Context()))
	})
}
