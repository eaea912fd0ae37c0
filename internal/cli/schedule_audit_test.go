package cli

import (
	"encoding/json"
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
	history, last := c.lastStart("tick")
	require.NoError(t, history.DeleteMsg(t.Context(), last.Sequence))
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

// lastStart returns the event of the last start of a schedule, and the stream where it is.
func (c cli) lastStart(id string) (jetstream.Stream, *jetstream.RawStreamMsg) {
	c.t.Helper()
	conn, err := nats.Connect(c.nats)
	require.NoError(c.t, err)
	c.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(c.t, err)
	stream, err := js.Stream(c.t.Context(), subjects.Default().EventStream())
	require.NoError(c.t, err)
	subject := subjects.Default().Event(schedule.Key{Namespace: "default", ID: id}, schedule.EventStarted)
	last, err := stream.GetLastMsgForSubject(c.t.Context(), subject)
	require.NoError(c.t, err)
	return stream, last
}

// TestAuditOfWorkflows: the audit explains the times of a schedule that starts workflows, and finds a start that is missing, and one that is
// doubled. No worker is there: each workflow is terminated by the next.
func TestAuditOfWorkflows(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "tick", "--every", "1s", "--workflow", "Greet", "--task-queue", "nobody", "--overlap", "terminate_other")
	c.until("tick", "some have ended", func(d schedule.Description) bool {
		return len(d.Info.RecentActions) >= 4
	})
	c.ok("pause", "tick")
	to := c.until("tick", "it is paused", func(d schedule.Description) bool { return !d.Info.PauseTime.IsZero() }).Info.PauseTime
	code, stdout, stderr := c.audit(to, "tick")
	require.Equal(t, ExitOK, code, stdout+stderr)
	assert.Regexp(t, `(?m)^tick: all explained, started \d+`, stdout)

	history, last := c.lastStart("tick")
	first, err := history.GetMsg(t.Context(), 1, jetstream.WithGetMsgSubject(last.Subject))
	require.NoError(t, err)
	var again schedule.Event
	require.NoError(t, json.Unmarshal(first.Data, &again))
	again.ID, again.RequestID, again.RunID = again.ID+"9", "again", "again"
	c.publish(last.Subject, &again)
	assert.Contains(t, c.audited(to), audit.KindDoubled)
	_, twin := c.lastStart("tick")
	for _, sequence := range []uint64{twin.Sequence, first.Sequence} {
		require.NoError(t, history.DeleteMsg(t.Context(), sequence))
	}
	assert.Equal(t, []audit.Kind{audit.KindLost}, c.audited(to), "its end is known")
	server.stopped(t)
}

// publish stores an event.
func (c cli) publish(subject string, event *schedule.Event) {
	c.t.Helper()
	conn, err := nats.Connect(c.nats)
	require.NoError(c.t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(c.t, err)
	body, err := json.Marshal(event)
	require.NoError(c.t, err)
	_, err = js.Publish(c.t.Context(), subject, body)
	require.NoError(c.t, err)
}

// audited returns the kinds of what an audit of the schedule "tick" finds.
func (c cli) audited(to time.Time) (kinds []audit.Kind) {
	c.t.Helper()
	code, stdout, _ := c.audit(to, "tick", "-o", "json")
	assert.Equal(c.t, ExitFailure, code)
	reports := document[[]audit.Report](c.t, stdout)
	require.Len(c.t, reports, 1)
	for _, f := range reports[0].Findings {
		kinds = append(kinds, f.Kind)
	}
	return kinds
}
