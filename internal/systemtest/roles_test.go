package systemtest

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRolesInProcessesOfTheirOwn runs two processes of each role and restarts every one by SIGTERM while actions fire.
// All of them start at the same moment, on a NATS server that has nothing yet.
func TestRolesInProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	node := natstest.Cluster(t, 1)
	conn, js := natstest.Connect(t, node.URLs())
	s := &system{t: t, names: natstest.Names(t), conn: conn, js: js}
	var err error
	s.client, err = client.New(conn, client.Config{Prefix: s.names.Prefix(), Timeout: 30 * time.Second})
	require.NoError(t, err)

	var processes []*process
	for _, role := range []string{"frontend", "generator", "invoker", "backfiller", "worker"} {
		for range 2 {
			args := []string{role, "--nats", node.URLs(), "--prefix", s.names.Prefix()}
			if role != "worker" {
				args = append(args, "--shards", "2")
			}
			p := newProcess(t, args...)
			p.start()
			processes = append(processes, p)
		}
	}
	const schedules = 4
	var created [schedules]time.Time
	natstest.Eventually(t, 30*time.Second, "a frontend to answer", func() bool {
		_, err := s.client.List(t.Context(), schedule.ListRequest{})
		return err == nil
	})
	runs := s.work(conn, "q", nil)
	for i := range created {
		sched := every(time.Second)
		sched.Policies.Overlap = schedule.OverlapAllowAll
		created[i] = s.create(id(i), sched).Info.CreateTime
	}
	noop := every(time.Second)
	noop.Action = schedule.Action{Type: "noop", TaskQueue: "default"}
	s.create("noop", noop)

	awaitRuns(t, runs, schedules, 2)
	for _, p := range processes {
		p.terminate()
		p.start()
	}
	before := len(runs.of(id(0)))
	awaitRuns(t, runs, schedules, before+2)
	end := time.Now()
	awaitUntil(t, runs, schedules, end)
	var latest time.Duration
	for i := range created {
		all := upTo(runs.of(id(i)), end)
		assert.NoError(t, exactlyOnce(all, time.Second, created[i], end), id(i))
		for _, r := range all {
			latest = max(latest, r.At.Sub(r.Nominal))
		}
	}
	t.Logf("latest start of an action: %v after it was due", latest)
	natstest.Eventually(t, 30*time.Second, "the worker processes to complete actions", func() bool {
		return len(completed(s.describe("noop").Info.RecentActions)) > 3
	})
}

// terminate asks the process to stop, and wants it to do so in good order.
func (p *process) terminate() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		require.NoError(p.t, err, "carillon %v", p.args)
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-done
		p.t.Fatalf("carillon %v has not stopped 10 s after SIGTERM", p.args)
	}
	p.cmd = nil
}
