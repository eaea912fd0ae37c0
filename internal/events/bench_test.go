package events

import (
	"context"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// BenchmarkMessage: an event as it is published, three of which come of every action.
func BenchmarkMessage(b *testing.B) {
	due := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	started := schedule.Event{
		ID: "0b8d7f8e-3f0c-4c3e-9d1f-000000000001-4711", Time: due.Add(3 * time.Millisecond), Namespace: "default",
		ScheduleID: "daily-report", Kind: schedule.EventStarted,
		RequestID: "sched-auto-f3f1987a-f6ab-57e8-a142-dd1fa14071da", WorkflowID: "daily-report-2026-03-01T12:00:00Z",
		RunID: "0dc91a5f-e687-520b-af6a-473a10f86fc2", Nominal: due, Actual: due, Source: schedule.SourceAuto, TaskQueue: "reports",
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	completed := started
	completed.Kind = schedule.EventCompleted
	completed.Status = schedule.StatusCompleted
	publisher := NewPublisher(nil, subjects.Default(), nil)
	for _, event := range []schedule.Event{started, completed} {
		b.Run(string(event.Kind), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = publisher.message(context.Background(), &event)
			}
		})
	}
}
