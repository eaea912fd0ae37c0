package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/diagnosis"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestHealth(t *testing.T) {
	t.Parallel()
	checks := []diagnosis.Check{
		{Name: "nats", Status: diagnosis.OK, Detail: "it answers"},
		{Name: "dead letters", Status: diagnosis.Warning, Detail: "3 messages\x1b[2J", Next: "look at them"},
		{Name: "frontends", Status: diagnosis.Failed, Detail: "none answers", Next: "start one"},
	}
	var out, coloured strings.Builder
	require.NoError(t, render.Health(&out, checks, render.View{Now: now}))
	golden.Equal(t, "health.txt", out.String())
	require.NoError(t, render.Health(&coloured, checks, render.View{Now: now, Color: true}))
	assert.Contains(t, coloured.String(), render.Red.Paint("failed "))
}

func TestCluster(t *testing.T) {
	t.Parallel()
	facts := diagnosis.Facts{
		Time: now, Prefix: "carillon", Namespaces: 2,
		NATS: diagnosis.NATS{
			URL: "nats://n1:4222", Server: "n1", Version: "2.15.2", Cluster: "c", Servers: []string{"n1:4222", "n2:4222"},
			JetStream: true, Stored: 1_500_000, StoreLimit: 2_000_000_000,
		},
		Cluster: &topology.Facts{FormatVersion: 1, Shards: 4, Replicas: 3, Created: now.Add(-time.Hour)},
		Streams: []diagnosis.Stream{
			{Name: "KV_carillon-cluster", Bucket: "carillon-cluster", Messages: 2, Bytes: 900, Replicas: 3, Leader: "n2", First: now.Add(-time.Hour)},
			{Name: "CARILLON_EVENTS", Missing: true}, {Name: "CARILLON_DLQ", Replicas: 3},
		},
		Frontends: []diagnosis.Frontend{{ID: "f1", Version: "1.0.0"}},
		Processes: []presence.Process{
			{Host: "h1", PID: 7, Roles: []string{"frontend"}, Version: "1.0.0", Zones: "2026f", ZonesDigest: "0123456789ab"},
			{Host: "h2", PID: 812, Roles: []string{"generator", "invoker"}, Version: "1.0.0", Zones: "2026g",
				ZonesDigest: "cdef01234567", ZonesFrom: "/etc/carillon/zones.zip"},
		},
		Queues:   []diagnosis.Queue{{Namespace: "default", Name: "q", Waiting: 2, Oldest: now.Add(-time.Minute)}},
		Problems: []string{"account: timeout"},
	}
	var out strings.Builder
	require.NoError(t, render.Cluster(&out, &facts, time.UTC, render.View{Now: now}))
	golden.Equal(t, "cluster.txt", out.String())
	out.Reset()
	require.NoError(t, render.Cluster(&out, &diagnosis.Facts{Prefix: "other"}, time.UTC, render.View{Now: now}))
	assert.Contains(t, out.String(), "there is no installation of this prefix\n")
}

// TestWhoEndsARun: the line about a run that is ended by hand names the person who ends it, not the one who requested the run.
func TestWhoEndsARun(t *testing.T) {
	t.Parallel()
	event := schedule.Event{
		Kind: schedule.EventTerminated, WorkflowID: "w", Nominal: now, Reason: "stuck", Identity: "ann@desk",
	}
	assert.Equal(t, "stuck, w, by ann@desk", render.EventDetail(&event, time.UTC))
	event.Overlap, event.Reason = schedule.OverlapTerminateOther, "to make room for another start"
	assert.Equal(t, "to make room for another start, overlap policy terminate_other, w", render.EventDetail(&event, time.UTC))
}
