package probe_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/probe"
)

// says returns a check that returns the current value of a variable.
func says(what *string) func() string { return func() string { return *what } }

func one(status probe.Status, reason string) probe.Report {
	return probe.Report{Status: status, Roles: []probe.RoleReport{{Role: "invoker", Status: status, Reason: reason}}}
}

// TestLifeOfARole goes from before the role begins until the process has ended.
func TestLifeOfARole(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	h := probe.NewHealth(ctx, "invoker")
	want := func(status probe.Status, reason string, ready, healthy bool) {
		t.Helper()
		report := h.Report()
		assert.Equal(t, one(status, reason), report)
		assert.Equal(t, ready, report.IsReady())
		assert.Equal(t, healthy, report.IsHealthy())
	}
	want(probe.StatusWaiting, "waits for its start", false, true)
	h.AllWait("a connection to NATS")
	want(probe.StatusWaiting, "waits for a connection to NATS", false, true)
	var nats, waits, stuck string
	h.AllNeed(says(&nats))
	want(probe.StatusWaiting, "waits for its start", false, true)
	waits = "2 of 4 shards"
	h.Begin("invoker", probe.Checks{Waits: says(&waits), Stuck: says(&stuck)})
	want(probe.StatusWaiting, "waits for 2 of 4 shards", false, true)
	waits = ""
	want(probe.StatusReady, "", true, true)
	nats, stuck = "NATS", "it does not come away"
	want(probe.StatusWaiting, "waits for NATS", false, true) // a restart would not help
	nats = ""
	want(probe.StatusFailed, "it does not come away", false, false)
	stuck = ""
	want(probe.StatusReady, "", true, true)
	stop()
	want(probe.StatusStopping, "", false, true)
	h.End("invoker")
	assert.True(t, h.Report().IsHealthy(), "what is left is still to be done")
	assert.False(t, h.Report().IsReady())
	h.Stopped()
	want(probe.StatusStopped, "", false, false)
}

// TestRolesRest: a process is ready when those of its roles are that are to run. A role that rests may run again.
func TestRolesRest(t *testing.T) {
	t.Parallel()
	h := probe.NewHealth(t.Context(), "frontend", "invoker", "replication")
	h.Begin("replication", probe.Checks{})
	h.AllWait("the installation")
	h.Rest("it is active elsewhere", "frontend")
	frontend := probe.RoleReport{Role: "frontend", Status: probe.StatusWaiting, Reason: "waits for the installation"}
	invoker := probe.RoleReport{Role: "invoker", Status: probe.StatusStandby, Reason: "it is active elsewhere"}
	replication := probe.RoleReport{Role: "replication", Status: probe.StatusWaiting, Reason: "waits for the installation"}
	assert.Equal(t, probe.Report{Status: probe.StatusWaiting, Roles: []probe.RoleReport{frontend, invoker, replication}}, h.Report())
	h.AllWait("")
	h.Begin("frontend", probe.Checks{})
	assert.True(t, h.Report().IsReady())
	h.Again("the site")
	assert.Equal(t, "waits for the site", h.Report().Roles[1].Reason)
	h.Begin("invoker", probe.Checks{})
	h.AllWait("")
	h.Rest("it is active elsewhere", "frontend")
	assert.Equal(t, probe.StatusReady, h.Report().Roles[1].Status, "what runs does not rest")
}

func TestARoleFails(t *testing.T) {
	t.Parallel()
	for reason, err := range map[string]error{"broken": errors.New("broken"), "it stopped by itself": nil} {
		h := probe.NewHealth(t.Context(), "invoker")
		h.Begin("invoker", probe.Checks{})
		assert.True(t, h.Report().IsReady(), "without checks it is ready when it runs")
		h.Fail("invoker", err)
		assert.Equal(t, one(probe.StatusFailed, reason), h.Report())
		h.Stopped()
		assert.Equal(t, one(probe.StatusFailed, reason), h.Report(), "that is why it has stopped")
	}
}

// TestTheWorstRoleCounts: the worst role decides the status of the process.
func TestTheWorstRoleCounts(t *testing.T) {
	t.Parallel()
	h := probe.NewHealth(t.Context(), "generator", "invoker")
	h.Begin("generator", probe.Checks{})
	h.Begin("console", probe.Checks{}) // the process does not have this role
	assert.Equal(t, probe.Report{Status: probe.StatusWaiting, Roles: []probe.RoleReport{
		{Role: "generator", Status: probe.StatusReady},
		{Role: "invoker", Status: probe.StatusWaiting, Reason: "waits for its start"},
	}}, h.Report())
	h.Begin("invoker", probe.Checks{})
	assert.True(t, h.Report().IsReady())
	h.Fail("generator", nil)
	assert.Equal(t, probe.StatusFailed, h.Report().Status)
}
