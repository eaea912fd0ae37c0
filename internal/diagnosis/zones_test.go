package diagnosis

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/presence"
)

func TestCheckZones(t *testing.T) {
	t.Parallel()
	process := func(role, host, version, digest string) presence.Process {
		return presence.Process{Host: host, PID: 7, Roles: []string{role}, Zones: version, ZonesDigest: digest}
	}
	for name, test := range map[string]struct {
		processes []presence.Process
		status    Status
		detail    string
	}{
		"nobody answers": {nil, OK, "no process says by which data it goes"},
		"one":            {[]presence.Process{process("generator", "h1", "2026f", "a")}, OK, "data 2026f in 1 process"},
		"other versions, the same rules": {[]presence.Process{
			process("generator", "h1", "2026f", "a"), process("frontend", "h2", "2026g", "a"),
		}, OK, "data 2026f, 2026g in 2 processes"},
		"other rules": {[]presence.Process{
			process("generator", "h1", "2026f", "a"), process("frontend", "h2", "2026g", "b"), process("invoker", "h3", "2026g", "b"),
		}, Warning, "the data of processes differs: 2026g (b): frontend on h2 (process 7), invoker on h3 (process 7); " +
			"2026f (a): generator on h1 (process 7)"},
		"other rules, by the same name": {[]presence.Process{
			process("generator", "h1", "unknown", "a"), process("generator", "h2", "unknown", "b"),
		}, Warning, "unknown (a): generator on h1 (process 7); unknown (b): generator on h2 (process 7)"},
	} {
		facts := well()
		facts.Processes = test.processes
		check := checkZones(facts)
		assert.Equal(t, "time zones", check.Name, name)
		assert.Equal(t, test.status, check.Status, name)
		assert.Contains(t, check.Detail, test.detail, name)
		assert.Equal(t, test.status != OK, check.Next != "", name)
		assert.Equal(t, test.status, Worst(Checks(facts)), name)
	}
}

// TestGatherAsksProcessesForTheirZones: a command that runs on the installation warns if two processes differ.
func TestGatherAsksProcessesForTheirZones(t *testing.T) {
	t.Parallel()
	conn, js, names := askedSetup(t, 0)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, p := range []presence.Process{
		{Host: "h1", PID: 1, Roles: []string{"generator"}, Zones: "2026f", ZonesDigest: "a"},
		{Host: "h2", PID: 2, Roles: []string{"frontend"}, Zones: "2026g", ZonesDigest: "b", ZonesFrom: "/etc/zones.zip"},
	} {
		running.Go(func() { assert.NoError(t, presence.Announce(ctx, conn, names, func() presence.Process { return p })) })
	}
	var facts *Facts
	natstest.Eventually(t, natstest.Patience, "both answer", func() bool {
		facts = gather(t, conn, js, names)
		return len(facts.Processes) == 2
	})
	require.Empty(t, facts.Problems)
	assert.Equal(t, "/etc/zones.zip", facts.Processes[1].ZonesFrom)
	c := checkOf(t, facts, "time zones")
	assert.Equal(t, Warning, c.Status)
	assert.Contains(t, c.Detail, "2026f (a): generator on h1 (process 1); 2026g (b): frontend on h2 (process 2)")
}
