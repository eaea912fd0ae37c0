package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// holidays is an iCalendar file with a yearly holiday, and a window in the following year.
func holidays(year int) string {
	text := "BEGIN:VCALENDAR\nVERSION:2.0\nBEGIN:VEVENT\nUID:1\nDTSTART;VALUE=DATE:20001225\nRRULE:FREQ=YEARLY\nEND:VEVENT\n" +
		"BEGIN:VEVENT\nUID:2\nDTSTART:%d0301T120000\nDURATION:PT2H\nEND:VEVENT\nEND:VCALENDAR\n"
	return fmt.Sprintf(text, year+1)
}

// calendars runs calendar commands with files against a server.
type calendars struct {
	t     *testing.T
	nats  string
	files map[string]string
}

func (c calendars) run(args ...string) (code int, stdout, stderr string) {
	p := process{env: map[string]string{"CARILLON_NATS": c.nats}, files: c.files}
	code = p.run(c.t.Context(), append([]string{"calendar"}, args...)...)
	return code, p.stdout.String(), p.stderr.String()
}

func (c calendars) ok(args ...string) string {
	c.t.Helper()
	code, stdout, stderr := c.run(args...)
	require.Equal(c.t, ExitOK, code, "%v: %s", args, stderr)
	return stdout
}

func (c calendars) fails(wantCode int, want string, args ...string) {
	c.t.Helper()
	code, _, stderr := c.run(args...)
	assert.Equal(c.t, wantCode, code, args)
	assert.Contains(c.t, stderr, want)
}

func TestCalendarsEndToEnd(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	year := time.Now().UTC().Year()
	c := calendars{t, url, map[string]string{"h.ics": holidays(year), "bad.ics": "hello", "c.yaml": "name: office\ndates: [2030-12-24]\n"}}
	schedules := cli{t, url}
	assert.Equal(t, "no calendars\n", c.ok("list"))
	assert.Equal(t, "[]\n", c.ok("list", "-o", "json"))
	assert.Equal(t, "created calendar germany: 2 dates, 1 window\n", c.ok("create", "germany", "--date", "2030-12-25/2030-12-26",
		"--date", "2031-01-01", "--window", "2030-06-01T10:00:00Z/2030-06-01T12:00:00Z"))
	assert.Equal(t, "created calendar office: 1 date\n", c.ok("create", "-f", "c.yaml"))
	assert.Equal(t, "germany\noffice\n", c.ok("list", "-q"))
	c.fails(ExitConflict, "hint: look at it with: carillon calendar describe office", "create", "office")
	c.fails(ExitNotFound, "hint: carillon calendar list shows the calendars of namespace default", "describe", "nobody")

	schedules.ok("create", "daily", "--cron", "0 9 * * *", "--type", "noop", "--exclude-calendar-named", "office")
	schedules.fails(ExitUsage, "spec.excludeCalendarsNamed[0]: named calendar \"ofice\" does not exist: did you mean office?",
		"create", "other", "--cron", "0 9 * * *", "--type", "noop", "--exclude-calendar-named", "ofice")
	assert.Contains(t, schedules.ok("describe", "daily"), "except  the calendar office")
	exported := schedules.ok("export", "daily")
	assert.Contains(t, exported, "excludeCalendarsNamed:\n    - office\n")
	assert.NotContains(t, exported, "2030-12-24")
	c.fails(ExitConflict, `calendar "office" is used by schedule "daily"`, "delete", "office")

	tomorrow := time.Now().UTC().AddDate(0, 0, 1)
	assert.Equal(t, "updated calendar office: 1 date\n", c.ok("update", "office", "--date", tomorrow.Format(time.DateOnly)))
	schedules.until("daily", "tomorrow is not among the next times", func(d schedule.Description) bool {
		return len(d.Info.FutureActionTimes) > 0 && d.Info.FutureActionTimes[0].Day() != tomorrow.Day() &&
			d.Info.FutureActionTimes[1].Day() != tomorrow.Day()
	})
	natstest.Eventually(t, patience, "the calendar counts the schedule", func() bool { // this happens a moment after replanning
		return strings.Contains(c.ok("describe", "office"), "1 planned anew so far, not done yet")
	})
	assert.Contains(t, schedules.ok("audit", "daily"), "daily: all explained")
	completed := process{env: map[string]string{"CARILLON_NATS": url}}
	require.Equal(t, ExitOK, completed.run(t.Context(), "__complete", "calendar", "describe", "ger"))
	assert.Equal(t, "germany\t2 dates, 1 window\n:4\n", completed.stdout.String())
	testCalendarImport(t, c)
	assert.Equal(t, "deleted calendar germany\n", c.ok("delete", "germany"))
	server.stopped(t)
}

func testCalendarImport(t *testing.T, c calendars) {
	c.fails(ExitUsage, "error: --name: name: is empty", "import", "h.ics")
	c.fails(ExitUsage, "error: --years: 21 is out of range", "import", "h.ics", "--name", "x", "--years", "21")
	c.fails(ExitUsage, "error: bad.ics: is not an iCalendar file: ", "import", "bad.ics", "--name", "x")
	c.fails(ExitUsage, "has no time zone: say which one is meant (--zone)", "import", "h.ics", "--name", "x")
	args := []string{"import", "h.ics", "--name", "x", "--zone", "Europe/Berlin"}
	year := time.Now().UTC().Year()
	dry := c.ok(append(args, "--dry-run")...)
	assert.True(t, strings.HasPrefix(dry, fmt.Sprintf("would create calendar x: 5 dates, 1 window\n+ %d-12-25\n", year)), dry)
	assert.Contains(t, dry, fmt.Sprintf("\n+ %d-03-01T11:00:00Z until before %[1]d-03-01T13:00:00Z\n", year+1))
	assert.NotContains(t, c.ok("list", "-q"), "x\n")
	assert.Equal(t, "created calendar x: 5 dates, 1 window\n", c.ok(args...))
	assert.Equal(t, "calendar x is up to date\n", c.ok(args...))
	dry = c.ok(append(args, "--dry-run", "--years", "1")...)
	assert.Contains(t, dry, fmt.Sprintf("would update calendar x: 1 date\n  %d-12-25\n- ", year))
	assert.Equal(t, "updated calendar x: 1 date\n", c.ok(append(args, "--years", "1")...))
}

func TestSpecCommandsKnowNoCalendars(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"next", "calendar"} {
		p := process{}
		code := p.run(t.Context(), "spec", command, "--cron", "@daily", "--exclude-calendar-named", "germany")
		assert.Equal(t, ExitUsage, code)
		assert.Contains(t, p.stderr.String(), `spec.excludeCalendarsNamed: what calendar "germany" holds is known to the server alone`)
	}
}
