package generator

import (
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// BenchmarkDecide: what the generator decides most often, about schedules of every kind of spec. The spec is compiled before,
// as the pool keeps it.
func BenchmarkDecide(b *testing.B) {
	minute := []schedule.Interval{{Every: schedule.Duration(time.Minute)}}
	for _, kind := range []struct {
		name string
		spec schedule.Spec
	}{
		{"interval", schedule.Spec{Intervals: minute}},
		{"jitter", schedule.Spec{Intervals: minute, Jitter: schedule.Duration(time.Minute)}},
		{"cron", schedule.Spec{Cron: []string{"* * * * *"}, TimeZone: "Europe/Berlin"}},
		{"calendar", schedule.Spec{Calendars: []schedule.Calendar{{Minute: "*", Hour: "*"}}, TimeZone: "Europe/Berlin"}},
	} {
		d := every(time.Minute)
		d.Schedule.Spec = kind.spec
		decide := func(in Input) func(*testing.B) {
			return func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Decide(in)
				}
			}
		}
		b.Run(kind.name+"/first", decide(input(b, d, at(30*time.Second))))
		b.Run(kind.name+"/due", decide(with(input(b, d, at(4*time.Minute)), at(3*time.Minute))))
		b.Run(kind.name+"/100 due", decide(with(input(b, d, at(100*time.Minute)), created)))
		b.Run(kind.name+"/nothing due", decide(with(input(b, d, at(30*time.Second)), at(29*time.Second))))
	}
}
