package bench

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	sdkclient "go.temporal.io/sdk/client"

	"github.com/carillon-scheduler/carillon/schedule"
)

// smallSizes are sizes with which a workload takes few seconds.
var smallSizes = map[string]int{
	"signals": 50, "parallel": 20, kindBacklog: 30, "backlog-activities": mostPending + 10, "polls": pollsPerConnection + 5, kindSleeping: 20, "history": 60,
}

// TestEveryWorkload runs each workload in a small form, on an installation of its own and on a gateway that is there.
func TestEveryWorkload(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for _, w := range workloads() {
		for _, foreign := range []bool{false, true} {
			name := w.name
			if foreign {
				name += "_at_an_address"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := config(t)
				if foreign {
					c.Address = running(t).gateway
				}
				s := workflowsScenario()
				p := tiny(s)
				p.Kind, p.Size, p.Rate = w.name, smallSizes[w.name], 20
				r, err := Run(t.Context(), s, p, c)
				require.NoError(t, err)
				assert.True(t, r.OK(), "%+v", r)
				assert.Positive(t, r.Due)
				assert.Equal(t, foreign, r.RawPuts == 0, "raw puts need the server that stores them")
				assert.Equal(t, foreign, r.RawBytes == 0, "they are as large as the entries of the run")
				checkWorkload(t, r, foreign)
				var text strings.Builder
				require.NoError(t, r.Write(&text))
				assert.Contains(t, text.String(), "p99")
			})
		}
	}
}

// running starts an installation that is not of the run.
func running(t *testing.T) *session {
	t.Helper()
	c := config(t).withDefaults()
	s := &session{config: c, names: c.Names, queue: taskQueue, result: &Result{}, stopReturning: func() {}}
	ctx, fail := context.WithCancelCause(t.Context())
	s.fail = fail
	t.Cleanup(func() {
		assert.NoError(t, s.close(context.WithoutCancel(ctx)))
		fail(nil)
	})
	require.NoError(t, s.open(ctx))
	return s
}

func checkWorkload(t *testing.T, r *Result, foreign bool) {
	t.Helper()
	size := r.Parameters.Size
	switch r.Parameters.Kind {
	case "signals":
		assert.Equal(t, size, r.Operations["signal"].Count)
		assert.Zero(t, r.Operations["signal"].Errors)
		assert.GreaterOrEqual(t, r.Times["signals_taken"], r.Times["signals_sent"])
		assert.Len(t, r.Workflows, 2, "without and beside signals")
	case "parallel":
		assert.Equal(t, parallelSamples*size, r.Operations["from its start to an activity"].Count)
		assert.Equal(t, parallelSamples*size, r.Started)
	case kindBacklog, "backlog-activities":
		assert.Equal(t, size, r.Due)
		assert.Positive(t, r.Rates["drained"])
		assert.Positive(t, r.Rates["created"])
	case "polls":
		assert.Equal(t, polledWorkflows, r.Operations["from a start to the answer of a poll"].Count)
		assert.Zero(t, r.Operations["poll that ended without a task"].Errors)
		assert.Equal(t, foreign, r.ServerCores == 0, "its process is not named")
	case kindSleeping:
		assert.Len(t, r.Workflows, 2, "before and beside the sleepers")
		assert.Positive(t, r.Rates["created"])
		assert.Equal(t, foreign, r.Times["ready"] == 0, "only a server of the run is restarted")
	case "history":
		assert.Len(t, r.Operations, 2)
		assert.Len(t, r.Rates, 2)
	default:
		assert.Fail(t, "this test does not know "+r.Parameters.Kind)
	}
	for _, w := range r.Workflows {
		assert.Zero(t, w.Errors, w.Load)
	}
	if foreign {
		assert.NotEmpty(t, r.Environment.Address)
		assert.NotEmpty(t, r.Environment.ServerVersion)
	}
}

// TestAtARate: with a rate there is one load, whose latencies are those of this rate.
func TestAtARate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	s := workflowsScenario()
	p := tiny(s)
	p.Kind, p.Rate = kindEmpty, 20
	r, err := Run(t.Context(), s, p, config(t))
	require.NoError(t, err)
	require.Len(t, r.Workflows, 1)
	w := r.Workflows[0]
	assert.Equal(t, loadRate, w.Load)
	assert.EqualValues(t, 20, w.Offered)
	assert.Zero(t, w.Errors)
	assert.NotNil(t, w.FirstCode)
	assert.True(t, r.OK())
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for _, w := range workloads() {
		require.NoError(t, w.check(w.size), w.name)
		require.NoError(t, w.check(w.most), w.name)
		require.ErrorContains(t, w.check(w.most+1), "out of range", w.name)
		require.ErrorContains(t, w.check(-1), "out of range", w.name)
		assert.Contains(t, smallSizes, w.name)
	}
	s := workflowsScenario()
	p := s.Defaults
	p.Size = 1
	require.ErrorContains(t, s.Check(p), "has no size")
	p.Kind = "parallel"
	require.NoError(t, s.Check(p))
}

// TestNothingThere: a run at an address where nothing answers says so.
func TestNothingThere(t *testing.T) {
	t.Parallel()
	c := config(t)
	address, err := freeAddress(t.Context())
	require.NoError(t, err)
	c.Address = address
	s := workflowsScenario()
	ctx, cancel := context.WithTimeout(t.Context(), grace)
	defer cancel()
	_, err = Run(ctx, s, s.Defaults, c)
	require.ErrorContains(t, err, "connect to the gateway")
	_, err = Run(ctx, steadyScenario(), steadyScenario().Defaults, c)
	require.ErrorContains(t, err, "installation of its own")
}

// TestEveryWorkloadBrokenOff: a workload that is broken off says so at once, and leaves nothing behind.
func TestEveryWorkloadBrokenOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	for _, w := range workloads() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := config(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c.Progress = func(stage string, _, _ int) {
				if stage != "starting" {
					cancel()
				}
			}
			s := workflowsScenario()
			p := s.Defaults
			p.Kind = w.name
			_, err := Run(ctx, s, p, c)
			require.ErrorIs(t, err, context.Canceled)
			left, err := os.ReadDir(c.Dir)
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// TestTooManyPolls: polls that the server refuses are an error, since the others would look cheap.
func TestTooManyPolls(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	server := running(t)
	_, err := server.client.UpdateNamespace(t.Context(), namespace, schedule.UpdateNamespaceRequest{
		Limits: schedule.NamespaceLimits{MaxWorkflowPolls: 5},
	})
	require.NoError(t, err)
	c := config(t)
	c.Address = server.gateway
	s := workflowsScenario()
	p := s.Defaults
	p.Kind, p.Size = "polls", 20
	_, err = Run(t.Context(), s, p, c)
	require.ErrorContains(t, err, "of 20 polls wait")
}

// TestAllAsleep: workflows count as asleep when their code has begun, also if their tasks have waited for the worker.
func TestAllAsleep(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	const sleepers = 1500
	s := running(t)
	s.Clients = 64
	require.NoError(t, s.withWorker(t.Context(), func(c sdkclient.Client) error { return s.startSleepers(t.Context(), c, sleepers) }))
	assert.EqualValues(t, sleepers, s.counts.begun.Load())
}
