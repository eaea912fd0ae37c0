package invoker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRestsWithSomeRuns: a schedule with ten runs in progress rests, the longer the more there are, unless a backfill waits for
// their ends.
func TestRestsWithSomeRuns(t *testing.T) {
	t.Parallel()
	seconds := make([]int, 120)
	for i := range seconds {
		seconds[i] = i + 1
	}
	for name, test := range map[string]struct {
		runs     int
		backfill bool
		rest     time.Duration
	}{
		"few":                              {runs: 9},
		"some":                             {runs: 10, rest: 20 * time.Millisecond},
		"many":                             {runs: 50, rest: 100 * time.Millisecond},
		"very many":                        {runs: 120, rest: 200 * time.Millisecond},
		"a backfill has more to hand over": {runs: 100, backfill: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newInstallation(t, policy(schedule.OverlapAllowAll))
			now := time.Now()
			pool := s.newPool(clock(func() time.Time { return now }))
			group := s.group(false)
			if test.backfill {
				s.request(wire.BackfillState{ID: "b", Range: &schedule.BackfillRange{}})
				begun := s.manual("b", 1)
				begun.Starts, begun.Complete, begun.To = nil, false, begun.From
				group = append(group, s.group(false, invoker.Message{Enqueue: &begun})...)
			}
			e := s.handOff("", seconds[:test.runs]...)
			group = append(group, s.group(false, invoker.Message{Enqueue: &e})...)
			verdict := pool.Handle(t.Context(), s.key, group)
			require.NoError(t, verdict.Err())
			require.Equal(t, test.runs, s.queued())
			if test.rest > 0 {
				require.Equal(t, loop.Rest(now.Add(test.rest)), verdict)
			} else {
				require.Equal(t, loop.Done(), verdict)
			}
		})
	}
}
