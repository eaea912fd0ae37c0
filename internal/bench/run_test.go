package bench

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// tiny are parameters with which a scenario takes few seconds.
func tiny(s Scenario) Parameters {
	p := s.Defaults
	p.Schedules = min(p.Schedules, 30)
	p.Warmup, p.Duration = 0, min(p.Duration, Seconds(time.Second))
	p.Actions = min(p.Actions, 200)
	p.Runs = min(p.Runs, 30)
	p.Clients = min(p.Clients, 2)
	p.Active = min(p.Active, 3)
	if s.takes(ParamKind) {
		p.Kind = kindActivity
	}
	p.Workflows, p.Events = min(p.Workflows, 20), min(p.Events, 30)
	if s.takes(ParamRate) && !s.takes(ParamKind) {
		p.Rate = 20
	}
	if s.takes(ParamDormant) {
		p.Dormant = 5
	}
	return p
}

func config(t *testing.T) Config {
	return Config{
		Names: natstest.Names(t), Logger: natstest.Logger(t), Dir: t.TempDir(), Shards: 2,
		RawDuration: 300 * time.Millisecond, Patience: time.Minute,
	}
}

// TestEveryScenario runs each scenario in a small form. The figures depend on the machine; the test requires that they exist,
// and that everything ran once.
func TestEveryScenario(t *testing.T) {
	t.Parallel()
	for _, scenario := range Scenarios() {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && scenario.Name != "herd" {
				t.Skip("it takes seconds")
			}
			c := config(t)
			begun, ended := 0, 0
			c.ReturnMemory = func(context.Context) func() { begun++; return func() { ended++ } }
			r, err := Run(t.Context(), scenario, tiny(scenario), c)
			require.NoError(t, err)
			checkResult(t, r)
			left, err := os.ReadDir(c.Dir)
			require.NoError(t, err)
			assert.Empty(t, left, "the data is removed")
			assert.Equal(t, begun, ended)
			restarts := slices.Contains([]string{"recover", "sleeping", "cold", "visibility"}, scenario.Name)
			assert.Equal(t, restarts, begun == 2, "memory is returned by a new process after a restart, begun %d times", begun)
		})
	}
}

func checkResult(t *testing.T, r *Result) {
	t.Helper()
	assert.True(t, r.OK(), "%+v", r)
	assert.Equal(t, r.Due, r.Started)
	assert.Positive(t, r.RawPuts, "raw puts")
	assert.Positive(t, r.Disk, "disk")
	assert.Positive(t, r.Elapsed, "elapsed")
	assert.Equal(t, 2, r.Environment.Shards)
	switch r.Scenario {
	case "workflows":
		checkWorkflows(t, r)
		return
	case "backlog":
		assert.Equal(t, r.Parameters.Workflows, r.Due)
		assert.Positive(t, r.Rates["drained"])
		return
	case "sleeping":
		assert.Equal(t, r.Parameters.Workflows, r.Due, "all of so few are woken")
		assert.Positive(t, r.CreatedRSS)
		assert.Positive(t, r.Times["ready"])
		return
	}
	if slices.Contains([]string{"api", "idle", "cold", "visibility"}, r.Scenario) {
		assert.Zero(t, r.Due)
		assert.Nil(t, r.Lateness)
		checkOperations(t, r)
		return
	}
	assert.Positive(t, r.Due, "due")
	assert.NotNil(t, r.Lateness)
	if slices.Contains([]string{"herd", "backfill", "inflight"}, r.Scenario) { // elsewhere a busy machine may complete nothing in time
		assert.Positive(t, r.Completed)
		assert.Positive(t, r.Messages)
		assert.Positive(t, r.Times["last_completed"])
	}
	if r.Scenario == "inflight" {
		assert.Equal(t, r.Parameters.Runs, r.Started)
		assert.Positive(t, r.RecordWrites)
		assert.Positive(t, r.RecordBytes)
	}
}

func checkOperations(t *testing.T, r *Result) {
	t.Helper()
	if r.Scenario == "api" {
		assert.Len(t, r.Operations, 4)
		assert.Equal(t, r.Parameters.Schedules, r.Operations["create"].Count)
	}
	if r.Scenario == "cold" {
		assert.Len(t, r.Operations, 2*len(coldRequests))
		assert.Positive(t, r.Times["ready"])
	}
	if r.Scenario == "visibility" {
		assert.Len(t, r.Operations, len(lists)+len(counts))
		assert.Positive(t, r.Times["index_built"])
		assert.Positive(t, r.IndexBytes)
	}
	for name, o := range r.Operations {
		assert.Zero(t, o.Errors, name)
		assert.NotNil(t, o.Latency, name)
	}
}

// checkWorkflows: each kind was measured under each load, and all workflows have ended.
func checkWorkflows(t *testing.T, r *Result) {
	t.Helper()
	assert.Len(t, r.Workflows, 3)
	for _, w := range r.Workflows {
		name := w.Kind + ", " + w.Load
		assert.Zero(t, w.Errors, name)
		assert.Positive(t, w.Messages, name)
		assert.Positive(t, w.Bytes, name)
		assert.Positive(t, w.Published, name)
		if w.Count > 0 { // a busy machine may complete nothing in time
			assert.LessOrEqual(t, w.FirstCode.P50, w.Result.P50, name)
		}
	}
	assert.Greater(t, r.Due, len(r.Workflows))
	assert.Positive(t, r.RawBytes)
	assert.Contains(t, r.Processes, processWorker)
}

// TestOnAServerThatIsThere: a run on an existing server leaves nothing behind, and writes profiles.
func TestOnAServerThatIsThere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	server := natstest.Server(t)
	c := config(t)
	c.Profiles = filepath.Join(t.TempDir(), "profiles")
	c.Dial = func(options ...nats.Option) (*nats.Conn, error) { return nats.Connect(server.ClientURL(), options...) }
	s := herdScenario()
	r, err := Run(t.Context(), s, tiny(s), c)
	require.NoError(t, err)
	checkResult(t, r)
	assert.Equal(t, server.ClientURL(), r.Environment.NATS)
	assert.Empty(t, r.Environment.Sync, "that of another server is not known")
	_, js := natstest.Connect(t, server)
	for name := range js.StreamNames(t.Context()).Name() {
		assert.Fail(t, "left behind: "+name)
	}
	for _, kind := range []string{"cpu", "heap", "block", "mutex"} {
		assert.FileExists(t, filepath.Join(c.Profiles, "herd-"+kind+".pprof"))
	}
}

// TestWhereTheWorkerIs: everything runs once with the worker on a connection of its own, and in an account of its own.
func TestWhereTheWorkerIs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for _, where := range []string{WorkerApart, WorkerFenced} {
		c := config(t)
		c.Worker = where
		s := herdScenario()
		r, err := Run(t.Context(), s, tiny(s), c)
		require.NoError(t, err)
		checkResult(t, r)
		assert.Equal(t, where, r.Environment.Worker)
		assert.Contains(t, r.Environment.words(), "worker "+where)
	}
}

// TestCreatedTooLate: runs of schedules that were created too late do not count.
func TestCreatedTooLate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	c := config(t)
	creations := 0
	c.Progress = func(stage string, done, total int) {
		if stage == "creating schedules" && done == total {
			if creations++; creations == 1 {
				<-time.After(3 * time.Second) // by then all of them have been due
			}
		}
	}
	s := herdScenario()
	r, err := Run(t.Context(), s, tiny(s), c)
	require.NoError(t, err)
	assert.Greater(t, creations, 1)
	checkResult(t, r)
}

// TestBrokenOff: a run that is broken off says so, and leaves nothing behind.
func TestBrokenOff(t *testing.T) {
	t.Parallel()
	c := config(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c.Progress = func(stage string, _, _ int) {
		if stage == "warming up" {
			cancel()
		}
	}
	s := steadyScenario()
	_, err := Run(ctx, s, tiny(s), c)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(c.Dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestRefusedBeforeAnythingIsDone(t *testing.T) {
	t.Parallel()
	_, err := Run(t.Context(), steadyScenario(), Parameters{}, Config{})
	require.ErrorContains(t, err, "schedules")
}
