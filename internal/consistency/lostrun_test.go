package consistency_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// holder is a worker that keeps the runs that it takes until it is stopped. It never reports them.
type holder struct {
	begun chan string // run IDs
	stop  func()
}

func (s *installation) hold() holder {
	s.Helper()
	conn, _ := natstest.Connect(s, natstest.Shared(s))
	w, err := worker.New(conn, worker.Config{TaskQueue: "q", Prefix: s.names.Prefix(), DrainTimeout: -1, Logger: natstest.Logger(s)})
	require.NoError(s, err)
	h := holder{begun: make(chan string, 10)}
	w.Register("record", func(ctx context.Context, run *worker.Run) (any, error) {
		h.begun <- run.RunID
		<-ctx.Done()
		return nil, ctx.Err()
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	h.stop = func() {
		cancel()
		if err, running := <-done; running {
			close(done)
			assert.NoError(s, err)
		}
	}
	s.Cleanup(h.stop)
	return h
}

func skipping(r *schedule.CreateRequest) { r.Policies.Overlap = schedule.OverlapSkip }

func waiting(r *schedule.CreateRequest) { r.Policies.LostRuns = schedule.LostRunWait }

// TestRunThatAWorkerHas: the run is not lost, whatever has happened to its request.
func TestRunThatAWorkerHas(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	holder := s.hold()
	key, start := started(s, "a", skipping)
	require.Equal(t, start.RunID, <-holder.begun)
	s.unqueue(key, start)
	require.Empty(t, s.finds(true), "a worker has it")
	require.Len(t, s.describe("a").Info.RunningWorkflows, 1)
	holder.stop()
	s.mends(consistency.RunLost)
	s.failsAsLost("a", start)
	s.work()
	s.trigger("a")
	s.eventually("the next one runs", func() bool { return s.ran("a") == 1 })
}

func TestScrubberAsksTheWorkers(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	holder := s.hold()
	key, start := started(s, "a", skipping)
	require.Equal(t, start.RunID, <-holder.begun)
	questions, err := s.conn.SubscribeSync(s.names.Alive(key.Namespace, start.TaskQueue, start.RunID))
	require.NoError(t, err)
	s.unqueue(key, start)
	s.background(s.scrubber(nil).Run)
	for range 4 { // two looks would be enough to do harm
		_, err := questions.NextMsg(patience)
		require.NoError(t, err)
	}
	require.NoError(t, questions.Unsubscribe())
	require.Len(t, s.describe("a").Info.RunningWorkflows, 1)
	holder.stop()
	s.failsAsLost("a", start)
}

// TestLostRunThatIsWaitedFor: the run is reported and not mended. A person changes the policy, or reports for the worker.
func TestLostRunThatIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	key, start := started(s, "a", waiting)
	other, otherStart := started(s, "b", waiting)
	s.unqueue(key, start)
	s.unqueue(other, otherStart)
	var log lines
	s.background(s.scrubber(slog.New(slog.NewTextHandler(&log, nil))).Run)
	found := s.finds(true)
	require.Equal(t, []consistency.Kind{consistency.RunLost, consistency.RunLost}, kindsOf(found))
	for _, f := range found {
		assert.False(t, f.Repairable || f.Repaired)
		assert.Empty(t, f.Problem)
		s.eventually("the scrubber tells", func() bool { return log.has("left to a person", "schedule_id="+f.ScheduleID+" ") })
	}
	require.Len(t, s.describe("a").Info.RunningWorkflows, 1)
	require.False(t, log.has("inconsistency repaired"))

	_, err := s.js.PublishMsg(t.Context(), s.completion(other, otherStart))
	require.NoError(t, err)
	s.completes("b", otherStart)
	changed := s.describe("a").Schedule
	changed.Policies.LostRuns = schedule.LostRunFail
	_, err = s.api.Update(t.Context(), schedule.UpdateRequest{ID: "a", Schedule: changed})
	require.NoError(t, err)
	s.failsAsLost("a", start)
}
