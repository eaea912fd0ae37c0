package backfiller

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// BenchmarkDecide: the steps of a backfill of a day by the minute, and those of a trigger.
func BenchmarkDecide(b *testing.B) {
	asked := backfill(b, minutes(1), minutes(24*60))
	batch := announced(asked)
	waiting := batch
	waiting.State = Decide(batch).State
	full := batch
	full.take(batch.State.Mark, 0, 1000)
	over := batch
	over.State = Decide(batch).State
	over.State.Done = true
	over.take(over.State.Mark, 0, 0)
	triggered := trigger(b)
	done := triggered
	done.State = Decide(triggered).State
	done.take(done.State.Mark, 0, 0)
	for _, step := range []struct {
		name string
		in   Input
	}{
		{"announced", asked}, {"batch", batch}, {"on its way", waiting}, {"no room", full}, {"finished", over},
		{"trigger", triggered}, {"trigger finished", done},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Decide(step.in)
			}
		})
	}
	b.Run("batch with jitter", func(b *testing.B) {
		in := batch
		d := *in.Definition
		d.Schedule.Spec.Jitter = schedule.Duration(time.Minute)
		spec, err := specproc.Compile(d.Schedule.Spec)
		require.NoError(b, err)
		in.Definition, in.Spec = &d, spec
		b.ReportAllocs()
		for b.Loop() {
			Decide(in)
		}
	})
}
