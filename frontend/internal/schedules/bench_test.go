package schedules

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkDecide measures what a create, a trigger and an update write, and what describe makes of the records.
func BenchmarkDecide(b *testing.B) {
	create := &schedule.CreateRequest{ID: key.ID, Schedule: scheduletest.Ordinary(), RequestID: asked.RequestID}
	def := newDefinition(key, create, asked, "i1")
	generator := wire.GeneratorState{Incarnation: "i1", Version: 1, Mark: noon}
	invoker := wire.InvokerState{Incarnation: "i1"}
	for i := range 10 {
		due := noon.Add(time.Duration(i) * time.Minute)
		generator.Future = append(generator.Future, due.Add(time.Hour))
		start := wire.NewStart(&def, schedule.SourceAuto, due, due)
		start.Phase, start.Status = schedule.PhaseCompleted, schedule.StatusCompleted
		start.RunID, start.StartTime, start.CloseTime = wire.RunID(start.RequestID), due, due.Add(time.Second)
		run := wire.NewRun(&start)
		invoker.Ended = invoker.Ended.With(&run, 10)
	}
	for _, decision := range []struct {
		name string
		run  func()
	}{
		{"create", func() { newDefinition(key, create, asked, "i1") }},
		{"trigger", func() {
			request := newTrigger("i1", triggerID("i1", asked.RequestID), schedule.Trigger{}, asked)
			request.Requested(key)
		}},
		{"update", func() {
			e := beginEdit(def, asked, facts{generator: generator})
			e.replace(create.Schedule)
			e.end()
		}},
		{"describe", func() { describe(&def, generator, invoker, noon) }},
	} {
		b.Run(decision.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				decision.run()
			}
		})
	}
}
