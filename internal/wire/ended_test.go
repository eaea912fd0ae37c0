package wire_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// What is put in comes out again: the last so many, in order.
func TestEndedRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		var ended wire.EndedRuns
		var want []schedule.Run
		for i := range rapid.IntRange(0, 25).Draw(t, "runs") {
			run := drawnRun(t, strconv.Itoa(i))
			before := slices.Clone(ended)
			with := ended.With(&run, limit)
			require.Equal(t, before, ended, "copies share it")
			ended, want = with, append(want, run)
			want = want[max(len(want)-limit, 0):]
			require.Equal(t, want, ended.Runs())
			require.Equal(t, len(want), ended.Len())
		}
		for i := range 26 {
			id := strconv.Itoa(i)
			known := slices.ContainsFunc(want, func(r schedule.Run) bool { return r.RequestID == id })
			require.Equal(t, known, ended.Has(id), id)
		}
	})
}

// drawnRun is a run with some of what there can be.
func drawnRun(t *rapid.T, requestID string) schedule.Run {
	run := *scheduletest.Run()
	run.RequestID = requestID
	if rapid.Bool().Draw(t, "derived") {
		run.RunID = wire.RunID(requestID)
	}
	run.Status = rapid.SampledFrom(schedule.Statuses()).Draw(t, "status")
	run.DueTime = run.DueTime.Add(time.Duration(rapid.Int32().Draw(t, "jitter")))
	if rapid.Bool().Draw(t, "successful") {
		run.Failure, run.Result = nil, []byte(rapid.StringN(1, 300, -1).Draw(t, "result"))
	}
	return run
}

// A run that another release has packed is left out, and so is what follows where nobody can tell where it begins.
func TestEndedRunsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	one, other, third := *scheduletest.Run(), *scheduletest.Run(), *scheduletest.Run()
	other.RequestID, third.RequestID = "sched-auto-2", "sched-auto-3"
	strange := wire.AppendField(wire.AppendField(wire.EndedRuns(nil).With(&one, 9), []byte("strange")), []byte{codec.FormatVersion + 1})
	ended := wire.EndedRuns(strange).With(&other, 9)
	require.Equal(t, []schedule.Run{one, other}, ended.Runs())
	require.True(t, ended.Has("strange"))
	require.Equal(t, []schedule.Run{other, third}, ended.With(&third, 2).Runs())

	cut := wire.EndedRuns(slices.Concat(wire.EndedRuns(nil).With(&one, 9), []byte{200}))
	require.Equal(t, []schedule.Run{one}, cut.Runs())
	require.Equal(t, []schedule.Run{one, other}, cut.With(&other, 9).Runs())
}

func TestLastNominal(t *testing.T) {
	t.Parallel()
	run := func(source string, hour int) *schedule.Run {
		return &schedule.Run{RequestID: strconv.Itoa(hour), Source: source, NominalTime: scheduletest.Whole(hour), DueTime: scheduletest.At(hour)}
	}
	state := &wire.InvokerState{
		Starts: []wire.BufferedStart{{Source: schedule.SourceAuto, Nominal: scheduletest.Whole(3), Actual: scheduletest.At(3)}, {Source: "b1", Nominal: scheduletest.Whole(8), Actual: scheduletest.At(8)}},
		Ended:  wire.EndedRuns(nil).With(run(schedule.SourceAuto, 5), 3).With(run(schedule.SourceAuto, 2), 3).With(run("b2", 9), 3),
	}
	require.Equal(t, scheduletest.Whole(5), state.LastNominal(scheduletest.Whole(20)))
	require.Equal(t, scheduletest.Whole(5), state.LastNominal(scheduletest.At(5)))
	require.Equal(t, scheduletest.Whole(3), state.LastNominal(scheduletest.Whole(5)), "with jitter it is later")
	require.Zero(t, state.LastNominal(scheduletest.Whole(1)))
}

// Whatever the bytes are, reading them ends without a panic, and what was read can be kept.
func FuzzEndedRuns(f *testing.F) {
	f.Add([]byte(wire.EndedRuns(nil).With(scheduletest.Run(), 2).With(&schedule.Run{RequestID: "r"}, 2)))
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02})
	f.Fuzz(func(t *testing.T, data []byte) {
		runs := wire.EndedRuns(data).Runs()
		require.LessOrEqual(t, len(runs), wire.EndedRuns(data).Len())
		var again wire.EndedRuns
		for i := range runs {
			again = again.With(&runs[i], len(runs))
		}
		require.Equal(t, runs, again.Runs())
	})
}

func BenchmarkEndedRuns(b *testing.B) {
	definition := benchmarkDefinition()
	start := benchmarkStart(definition, 1, true)
	run := wire.NewRun(&start)
	var full wire.EndedRuns
	for range 10 {
		full = full.With(&run, 10)
	}
	b.Run("with", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			full.With(&run, 10)
		}
	})
	b.Run("runs", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			full.Runs()
		}
	})
}
