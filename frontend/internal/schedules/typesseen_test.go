package schedules

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/taskqueue"
)

// TestTypesSeen checks how long each kind of answer is remembered.
func TestTypesSeen(t *testing.T) {
	t.Parallel()
	now, asked := time.Unix(0, 0), 0
	var types taskqueue.Types
	var failed error
	silent := false
	s := newTypesSeen(func() time.Time { return now }, func(ctx context.Context, _ actionType) (taskqueue.Types, error) {
		asked++
		if silent {
			<-ctx.Done()
		}
		return types, failed
	})
	of := actionType{"default", "q", "it"}
	// remembered returns how long the answer to the next question holds.
	remembered := func(warns bool) time.Duration {
		before, begin := asked, now
		for ; ; now = now.Add(time.Second) {
			require.Equal(t, warns, s.warning(t.Context(), of) != "")
			if asked == before+2 {
				asked--
				s.kept.Purge()
				return now.Sub(begin)
			}
			require.Equal(t, before+1, asked)
		}
	}
	assert.Equal(t, typeUnknown, remembered(false), "nobody listens")
	silent = true
	assert.Equal(t, typeKnown, remembered(false), "those who listen do not answer")
	silent, types = false, taskqueue.Types{Workers: 2, Names: []string{"other"}}
	assert.Equal(t, typeUnknown, remembered(true))
	types.Names = []string{"it", "other"}
	assert.Equal(t, typeKnown, remembered(false))
	types.Names, failed = nil, errors.New("the connection is closed")
	for before := asked; asked < before+3; {
		require.Empty(t, s.warning(t.Context(), of), "a failure is no answer")
	}
}

// TestTypesWaitNoLongerThanTheRequest: half of the time left for a request is reserved for the rest of it.
func TestTypesWaitNoLongerThanTheRequest(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	end, _ := ctx.Deadline()
	s := newTypesSeen(time.Now, func(asking context.Context, _ actionType) (taskqueue.Types, error) {
		limit, ok := asking.Deadline()
		assert.True(t, ok)
		assert.True(t, limit.Before(end), "%s %s", limit, end)
		return taskqueue.Types{}, nil
	})
	assert.Empty(t, s.warning(ctx, actionType{"default", "q", "it"}))
	cancel()
	assert.Empty(t, s.warning(ctx, actionType{"default", "q", "other"}))
}
