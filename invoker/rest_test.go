package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRestsWithManyRuns: a schedule with a hundred runs in progress rests, unless a backfill waits for their ends.
func TestRestsWithManyRuns(t *testing.T) {
	t.Parallel()
	seconds := make([]int, 100)
	for i := range seconds {
		seconds[i] = i + 1
	}
	for name, test := range map[string]struct {
		runs     int
		backfill bool
		rests    bool
	}{
		"many":                             {runs: 100, rests: true},
		"few":                              {runs: 99},
		"a backfill has more to hand over": {runs: 100, backfill: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, policy(schedule.OverlapAllowAll))
			now := time.Now()
			pool := s.newPool(clock(func() time.Time { return now }))
			group := s.group(false)
			if test.backfill {
				s.request(schedule.BackfillState{ID: "b", Range: &schedule.BackfillRange{}})
				begun := s.manual("b", 1)
				begun.Starts, begun.Complete, begun.To = nil, false, begun.From
				group = append(group, s.group(false, invoker.Message{Enqueue: &begun})...)
			}
			e := s.handOff("", seconds[:test.runs]...)
			group = append(group, s.group(false, invoker.Message{Enqueue: &e})...)
			verdict := pool.Handle(t.Context(), s.key, group)
			require.NoError(t, verdict.Err())
			require.Equal(t, test.runs, s.queued())
			if test.rests {
				require.Equal(t, loop.Rest(now.Add(100*time.Millisecond)), verdict)
			} else {
				require.Equal(t, loop.Done(), verdict)
			}
		})
	}
}
