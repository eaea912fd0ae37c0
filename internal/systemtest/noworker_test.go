package systemtest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/schedule"
)

// A run on a queue that nobody serves is reported once, with its reason, and runs as soon as there is a worker.
func TestNobodyServesTheTaskQueue(t *testing.T) {
	t.Parallel()
	s := single(t)
	s.watchQueues(time.Second)
	s.create("n", triggered(schedule.OverlapAllowAll))
	s.create("served", schedule.Schedule{Action: schedule.Action{Type: "record", TaskQueue: "served"}})
	served := s.work(s.conn, "served", nil)
	s.trigger("n")
	s.trigger("n")
	s.trigger("served")
	natstest.Eventually(t, natstest.Patience, "the event", func() bool { return s.kindsOf("n")[schedule.EventNoWorker] > 0 })
	for _, event := range s.eventsOf("n") {
		if event.Kind == schedule.EventNoWorker {
			assert.Equal(t, "q", event.TaskQueue)
			assert.NotEmpty(t, event.Reason)
		}
	}
	reasons := s.reasonsOf("n")
	require.Contains(t, reasons, schedule.NoticeNoWorker)
	assert.Contains(t, reasons[schedule.NoticeNoWorker], `"q"`)
	require.Len(t, served.of("served"), 1)
	require.Zero(t, s.kindsOf("served")[schedule.EventNoWorker])
	require.NotContains(t, s.reasonsOf("served"), schedule.NoticeNoWorker)

	runs := s.work(s.conn, "q", nil)
	s.awaitStatuses("n", schedule.StatusCompleted, schedule.StatusCompleted)
	require.Len(t, runs.of("n"), 2)
	require.NotContains(t, s.reasonsOf("n"), schedule.NoticeNoWorker)
	require.Equal(t, 1, s.kindsOf("n")[schedule.EventNoWorker], "told once")
	s.requireCountersFromEvents("n")
}

// watchQueues runs the watcher of the task queues, as the process of the invoker has one, until the test ends.
func (s *system) watchQueues(threshold time.Duration) {
	s.t.Helper()
	w, err := taskqueue.New(taskqueue.Config{
		JS: s.js, Names: s.names, Period: 100 * time.Millisecond, Threshold: threshold, Logger: natstest.Logger(s.t),
	})
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Errorf("watcher of the task queues: %v", err)
		}
	})
}

// reasonsOf are the messages of the reasons that describe gives, by code.
func (s *system) reasonsOf(id string) map[string]string {
	s.t.Helper()
	reasons := map[string]string{}
	for _, reason := range s.describe(id).Info.Reasons {
		reasons[reason.Code] = reason.Message
	}
	return reasons
}
