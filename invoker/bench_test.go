package invoker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// busy is a desk with as many starts running and waiting as backfills may have at most, and more.
func busy(b *testing.B) (k *desk, starts []schedule.BufferedStart) {
	b.Helper()
	const each = 450
	k = newDesk(b, limit(each), policy(schedule.OverlapBufferAll))
	seconds := make([]int, 2*each)
	for i := range seconds {
		seconds[i] = i + 1
	}
	k.backfill("b", false, "", seconds...)
	for range each/invoker.RoundLimit + 1 {
		k.work(invoker.Accepted)
	}
	running := 0
	for _, s := range k.state.Starts {
		if s.Running() {
			running++
		}
	}
	require.Equal(b, each, running)
	return k, k.state.Starts
}

// BenchmarkTransitionOfABusySchedule: 450 runs in progress and 450 starts waiting, and what comes in at once.
func BenchmarkTransitionOfABusySchedule(b *testing.B) {
	k, starts := busy(b)
	completions := func(count int) invoker.Input {
		var in invoker.Input
		for _, s := range starts[:count] {
			in.Completions = append(in.Completions, schedule.Completion{
				RequestID: s.RequestID, Status: schedule.StatusCompleted, CloseTime: k.now,
			})
		}
		return in
	}
	seconds := make([]int, 100)
	for i := range seconds {
		seconds[i] = 2000 + i
	}
	inputs := []struct {
		name string
		in   invoker.Input
	}{
		{"wake", invoker.Input{}},
		{"1 completion", completions(1)},
		{"450 completions", completions(450)},
		{"100 manual", traced(k.handOff("b", "", seconds...))},
		{"100 automated", traced(k.handOff(schedule.SourceAuto, "", seconds...))},
		{"canceled", invoker.Input{Withdrawn: []string{"b"}}},
	}
	for _, input := range inputs {
		b.Run(input.name, func(b *testing.B) {
			for b.Loop() {
				invoker.Transition(&k.d, k.state, input.in, k.now)
			}
		})
	}
	b.Run("paused, all would start", func(b *testing.B) {
		d := k.d
		d.Schedule.State.Paused = true
		state := k.state
		state.Starts = nil
		for _, s := range starts {
			if s.Phase == schedule.PhaseDeferred {
				s.Manual = false
				state.Starts = append(state.Starts, s)
			}
		}
		d.Schedule.Policies.ConcurrencyLimit = 1
		for b.Loop() {
			invoker.Transition(&d, state, invoker.Input{}, k.now)
		}
	})
	b.Run("a round", func(b *testing.B) {
		out := invoker.Transition(&k.d, k.state, completions(invoker.RoundLimit), k.now)
		var report invoker.Report
		for _, s := range invoker.WorkOf(&out.State, k.now).Starts {
			report.Starts = append(report.Starts, invoker.StartReport{RequestID: s.RequestID, At: k.now})
		}
		require.Len(b, report.Starts, invoker.RoundLimit)
		for b.Loop() {
			invoker.Apply(&k.d, out.State, report, k.now)
		}
	})
}
