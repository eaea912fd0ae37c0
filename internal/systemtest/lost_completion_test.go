package systemtest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

// A run without a timeout never completes if its worker dies and its request is lost, so that no other worker gets it. Under
// the policy skip it would block its schedule forever. While its worker lives, it is left alone.
func TestLostCompletionDoesNotBlockASchedule(t *testing.T) {
	t.Parallel()
	server := natstest.Shared(t)
	conn, js := natstest.Connect(t, server)
	s := newSystem(t, conn, js, topology.Settings{})
	s.scrub()
	args := []string{"worker", "--nats", server.ClientURL(), "--prefix", s.names.Prefix(), "--task-queue", "q"}
	worker := newProcess(t, args...)
	worker.start()
	sched := every(time.Second)
	sched.Action.Type, sched.Action.Input = "sleep", json.RawMessage(`"1h"`)
	s.create("blocked", sched)
	lost := s.awaitRunOf("blocked", "")

	questions, err := conn.SubscribeSync(s.names.Alive("default", "q", lost.RunID))
	require.NoError(t, err)
	s.loseRequest(lost)
	for range 4 { // two looks would be enough to do harm
		_, err := questions.NextMsg(30 * time.Second)
		require.NoError(t, err)
	}
	require.Equal(t, lost.RunID, s.describe("blocked").Info.RunningWorkflows[0].RunID, "its worker has it")

	worker.kill()
	natstest.Eventually(t, natstest.Patience, "the run to be given up", func() bool {
		run, err := s.client.Run(t.Context(), "blocked", lost.RunID)
		return err == nil && run.Run.Status == schedule.StatusFailed &&
			assert.Equal(t, schedule.FailureLost, run.Run.Failure.Type)
	})
	another := newProcess(t, args...)
	another.start()
	next := s.awaitRunOf("blocked", lost.RunID)
	require.True(t, next.NominalTime.After(lost.NominalTime))
	info := s.describe("blocked").Info
	require.EqualValues(t, 2, info.ActionCount)
	require.Positive(t, info.OverlapSkipped)
	s.requireNoneTwice("blocked")
	s.requireCountersFromEvents("blocked")
}

// scrub runs a scrubber with short periods, as the process of the generator has one, until the test ends.
func (s *system) scrub() {
	s.t.Helper()
	scrubber, err := consistency.NewScrubber(consistency.ScrubberConfig{
		Config: consistency.Config{
			JS: s.js, Names: s.names, Shards: s.store.Shards(), Pause: 500 * time.Millisecond, Logger: natstest.Logger(s.t),
		},
		Period: 200 * time.Millisecond, Rate: 100,
	})
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- scrubber.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		assert.NoError(s.t, <-done)
	})
}

// awaitRunOf waits until a worker has a run of a schedule other than the named one.
func (s *system) awaitRunOf(id, other string) schedule.Run {
	s.t.Helper()
	var run schedule.Run
	natstest.Eventually(s.t, natstest.Patience, "a worker has a run", func() bool {
		running := s.describe(id).Info.RunningWorkflows
		if len(running) == 0 || running[0].RunID == other {
			return false
		}
		run = running[0]
		_, has, err := consistency.AskWorkers(s.t.Context(), s.conn, s.names, "default", "q", run.RunID)
		require.NoError(s.t, err)
		return has
	})
	return run
}

// loseRequest removes the request of a run from the stream, as an operator may.
func (s *system) loseRequest(run schedule.Run) {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), s.names.ActionStream())
	require.NoError(s.t, err)
	subject := s.names.Action("default", "q", run.WorkflowID)
	require.NoError(s.t, stream.Purge(s.t.Context(), jetstream.WithPurgeSubject(subject)))
}

// requireNoneTwice checks in the history that no run has begun, or ended, more than once.
func (s *system) requireNoneTwice(id string) {
	s.t.Helper()
	started, ended := map[string]int{}, map[string]int{}
	for _, event := range s.eventsOf(id) {
		switch event.Kind {
		case schedule.EventStarted:
			started[event.RequestID]++
			assert.Equal(s.t, 1, started[event.RequestID], "starts of %s", event.RequestID)
		case schedule.EventCompleted:
			ended[event.RequestID]++
			assert.Equal(s.t, 1, ended[event.RequestID], "ends of %s", event.RequestID)
		}
	}
	assert.NotEmpty(s.t, started)
	assert.NotEmpty(s.t, ended)
}
