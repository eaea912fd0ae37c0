package cli

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// audit audits the times due before a moment. Its clock is a minute later, when all of them are settled.
func (c cli) audit(to time.Time, args ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_NATS": c.nats}, now: to.Add(time.Minute)}
	args = append([]string{"schedule", "audit", "--to", to.UTC().Format(time.RFC3339)}, args...)
	return p.run(c.t.Context(), args...), p.stdout.String(), p.stderr.String()
}

func TestAuditEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "tick", "--every", "1s", "--type", "noop", "--overlap", "allow_all")
	c.ok("create", "never", "--type", "noop")
	c.ok("trigger", "never", "--wait")
	c.until("tick", "some runs", func(d schedule.Description) bool { return completedRuns(d) >= 3 })
	c.ok("pause", "tick")
	d := c.until("tick", "they have ended", func(d schedule.Description) bool { return len(d.Info.RunningWorkflows) == 0 })
	to := d.Info.PauseTime

	code, stdout, stderr := c.audit(to, "--all")
	require.Equal(t, ExitOK, code, stdout+stderr)
	assert.Regexp(t, `(?m)^tick: all explained, started \d+`, stdout)
	assert.Regexp(t, `(?m)^never: all explained; on request: started 1$`, stdout)

	// Remove one start from the history.
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), subjects.Default().EventStream())
	require.NoError(t, err)
	key := schedule.Key{Namespace: "default", ID: "tick"}
	last, err := stream.GetLastMsgForSubject(t.Context(), subjects.Default().Event(key, schedule.EventStarted))
	require.NoError(t, err)
	require.NoError(t, stream.DeleteMsg(t.Context(), last.Sequence))
	code, stdout, stderr = c.audit(to, "tick")
	assert.Equal(t, ExitFailure, code)
	assert.Contains(t, stderr, "not everything is explained")
	assert.Contains(t, stdout, "tick: 1 finding")
	code, stdout, _ = c.audit(to, "tick", "-o", "json")
	assert.Equal(t, ExitFailure, code)
	reports := document[[]audit.Report](t, stdout)
	require.Len(t, reports, 1)
	require.Len(t, reports[0].Findings, 1)
	assert.Equal(t, audit.KindLost, reports[0].Findings[0].Kind, "its end is known")

	c.refused(ExitUsage, "ID is missing", "audit")
	c.refused(ExitNotFound, `no schedule "nothing"`, "audit", "nothing")
	server.stopped(t)
}
