package invoker_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// busy is a harness with as many starts running and waiting as backfills may have at most, and more.
func busy(b *testing.B) (k *harness, starts []wire.BufferedStart) {
	b.Helper()
	const each = 450
	k = newHarness(b, limit(each), policy(schedule.OverlapBufferAll))
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
			b.ReportAllocs()
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
			invoker.Apply(&k.d, out.State, report, invoker.Bounds{}, k.now)
		}
	})
}

// ordinary is a schedule that is due every second, of which ten runs are over and so many in progress. All that it has told
// of is published.
func ordinary(b *testing.B, running int) *harness {
	b.Helper()
	k := newHarness(b, policy(schedule.OverlapAllowAll))
	for n := range invoker.RecentLimit + running {
		k.now = second(n + 1)
		k.due(n + 1)
		k.work(invoker.Accepted)
		if n < invoker.RecentLimit {
			k.complete(n+1, schedule.StatusCompleted)
		}
	}
	return k
}

// BenchmarkTransition: what an action of an ordinary schedule takes, with nothing else in progress, and with a few others.
func BenchmarkTransition(b *testing.B) {
	for _, running := range []int{0, 5} {
		k := ordinary(b, running)
		n := invoker.RecentLimit + running + 1
		k.now = second(n)
		handOff := traced(k.handOff(schedule.SourceAuto, "", n))
		idle := k.state
		k.transition(handOff)
		ready := k.state
		report := invoker.Report{Starts: []invoker.StartReport{{RequestID: k.id(n), At: k.now}}}
		k.apply(report)
		started := k.state
		completed := invoker.Input{Completions: []schedule.Completion{k.completion(n, schedule.StatusCompleted)}}
		both := completed
		both.Report = report
		for _, step := range []struct {
			name  string
			state *wire.InvokerState
			in    invoker.Input
		}{
			{"hand-off", &idle, handOff}, {"started", &ready, invoker.Input{Report: report}}, {"completed", &started, completed},
			{"started and completed", &ready, both}, {"wake", &started, invoker.Input{}},
		} {
			b.Run(fmt.Sprintf("%d running/%s", running, step.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					invoker.Transition(&k.d, *step.state, step.in, k.now)
				}
			})
		}
		b.Run(fmt.Sprintf("%d running/work", running), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				invoker.WorkOf(&ready, k.now)
			}
		})
	}
}

// BenchmarkDecodeCompletion: what a worker sends.
func BenchmarkDecodeCompletion(b *testing.B) {
	k := ordinary(b, 1)
	c := k.completion(invoker.RecentLimit+1, schedule.StatusCompleted)
	c.RunID, c.Attempt, c.Worker, c.StartTime, c.Result = wire.RunID(c.RequestID), 1, "host-1", k.now, []byte(`{"rows":7}`)
	data, err := json.Marshal(c)
	require.NoError(b, err)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		_, _ = invoker.DecodeCompletion(c.RequestID, data)
	}
}

// BenchmarkFold: the last result, after one more run.
func BenchmarkFold(b *testing.B) {
	k := ordinary(b, 1)
	c := k.completion(invoker.RecentLimit+1, schedule.StatusCompleted)
	c.Result = []byte(`{"rows":7}`)
	last, _ := invoker.Fold(wire.Result{}, k.d.Incarnation, []schedule.Completion{c})
	b.ReportAllocs()
	for b.Loop() {
		invoker.Fold(last, k.d.Incarnation, []schedule.Completion{c})
	}
}
