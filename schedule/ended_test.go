package schedule

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What is put in comes out again: the last so many, in order.
func TestEndedRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		var ended EndedRuns
		var want []Run
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
			known := slices.ContainsFunc(want, func(r Run) bool { return r.RequestID == id })
			require.Equal(t, known, ended.Has(id), id)
		}
	})
}

// drawnRun is a run with some of what there can be.
func drawnRun(t *rapid.T, requestID string) Run {
	run := *fullRun()
	run.RequestID = requestID
	if rapid.Bool().Draw(t, "derived") {
		run.RunID = RunID(requestID)
	}
	run.Status = rapid.SampledFrom(Statuses()).Draw(t, "status")
	run.DueTime = run.DueTime.Add(time.Duration(rapid.Int32().Draw(t, "jitter")))
	if rapid.Bool().Draw(t, "successful") {
		run.Failure, run.Result = nil, []byte(rapid.StringN(1, 300, -1).Draw(t, "result"))
	}
	return run
}

// A run that another release has packed is left out, and so is what follows where nobody can tell where it begins.
func TestEndedRunsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	one, other, third := *fullRun(), *fullRun(), *fullRun()
	other.RequestID, third.RequestID = "sched-auto-2", "sched-auto-3"
	strange := appendField(appendField(EndedRuns(nil).With(&one, 9), []byte("strange")), []byte{FormatVersion + 1})
	ended := EndedRuns(strange).With(&other, 9)
	require.Equal(t, []Run{one, other}, ended.Runs())
	require.True(t, ended.Has("strange"))
	require.Equal(t, []Run{other, third}, ended.With(&third, 2).Runs())

	cut := EndedRuns(slices.Concat(EndedRuns(nil).With(&one, 9), []byte{200}))
	require.Equal(t, []Run{one}, cut.Runs())
	require.Equal(t, []Run{one, other}, cut.With(&other, 9).Runs())
}

func TestLastNominal(t *testing.T) {
	t.Parallel()
	run := func(source string, hour int) *Run {
		return &Run{RequestID: strconv.Itoa(hour), Source: source, NominalTime: whole(hour), DueTime: at(hour)}
	}
	state := &InvokerState{
		Starts: []BufferedStart{{Source: SourceAuto, Nominal: whole(3), Actual: at(3)}, {Source: "b1", Nominal: whole(8), Actual: at(8)}},
		Ended:  EndedRuns(nil).With(run(SourceAuto, 5), 3).With(run(SourceAuto, 2), 3).With(run("b2", 9), 3),
	}
	require.Equal(t, whole(5), state.LastNominal(whole(20)))
	require.Equal(t, whole(5), state.LastNominal(at(5)))
	require.Equal(t, whole(3), state.LastNominal(whole(5)), "with jitter it is later")
	require.Zero(t, state.LastNominal(whole(1)))
}

// Whatever the bytes are, reading them ends without a panic, and what was read can be kept.
func FuzzEndedRuns(f *testing.F) {
	f.Add([]byte(EndedRuns(nil).With(fullRun(), 2).With(&Run{RequestID: "r"}, 2)))
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02})
	f.Fuzz(func(t *testing.T, data []byte) {
		runs := EndedRuns(data).Runs()
		require.LessOrEqual(t, len(runs), EndedRuns(data).Len())
		var again EndedRuns
		for i := range runs {
			again = again.With(&runs[i], len(runs))
		}
		require.Equal(t, runs, again.Runs())
	})
}

func BenchmarkEndedRuns(b *testing.B) {
	definition := benchmarkDefinition()
	start := benchmarkStart(definition, 1, true)
	run := NewRun(&start)
	var full EndedRuns
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
