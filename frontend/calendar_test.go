package frontend_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// aboutCalendar sends a request about a calendar in the default namespace. It may be called in any goroutine.
func aboutCalendar[Reply any](in *installation, verb, body string) (reply Reply, err error) {
	message, err := in.conn.Request(in.names.API("default", subjects.ThingCalendar, verb), []byte(body), patience)
	if err != nil {
		return reply, err
	}
	return decode[Reply](message)
}

// calendar makes a request that must succeed in the end: on a busy machine a hasty frontend may have no time for it.
func (in *installation) calendar(verb, body string) (c schedule.CalendarDescription) {
	in.t.Helper()
	var err error
	natstest.Eventually(in.t, patience, "an answer", func() bool {
		c, err = aboutCalendar[schedule.CalendarDescription](in, verb, body)
		return schedule.CodeOf(err) != schedule.CodeUnavailable
	})
	require.NoError(in.t, err)
	return c
}

// hasty makes a re-planning end soon.
func hasty(c *frontend.Config) {
	c.RequestTimeout, c.GuardDelay = 2*time.Second, 2*time.Second+100*time.Millisecond
}

// dailyBody is a schedule of every noon in Berlin, except on the days of some calendars.
func dailyBody(id string, calendars ...string) string {
	named, _ := json.Marshal(calendars)
	return fmt.Sprintf(`{"id":%q,"spec":{"cron":["0 12 * * *"],"timeZone":"Europe/Berlin","excludeCalendarsNamed":%s},`+
		`"action":{"type":"http","taskQueue":"q"}}`, id, named)
}

// noons returns the days in a month of 2030 on which a schedule is due.
func (in *installation) noons(id string, month time.Month) []int {
	in.t.Helper()
	from := time.Date(2030, month, 1, 0, 0, 0, 0, time.UTC)
	reply, err := answer[schedule.TimesReply](in, "matchingTimes", fmt.Sprintf(`{"id":%q,"from":%q,"to":%q}`, id,
		from.Format(time.RFC3339), from.AddDate(0, 1, 0).Format(time.RFC3339)))
	require.NoError(in.t, err)
	var days []int
	for _, t := range reply.Times {
		days = append(days, t.NominalTime.Day())
	}
	return days
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	in := installed(t)
	created := in.calendar("create", `{"name":"Feiertage","requestId":"r1","dates":["2030-12-24/2030-12-31"],
		"windows":[{"from":"2030-11-05T10:30:00Z","to":"2030-11-05T12:00:00Z"}]}`)
	assert.Equal(t, "default", created.Namespace)
	assert.Equal(t, "Feiertage", created.Name)
	assert.EqualValues(t, 1, created.ConflictToken)
	assert.Equal(t, []schedule.DateRange{"2030-12-24/2030-12-31"}, created.Dates)
	require.Len(t, created.Windows, 1)
	again := in.calendar("create", `{"name":"Feiertage","requestId":"r1"}`)
	assert.Equal(t, created.NamedCalendar, again.NamedCalendar, "a repeat")
	_, err := aboutCalendar[schedule.CalendarDescription](in, "create", `{"name":"Feiertage"}`)
	require.EqualError(t, err, `name: namespace "default" has a calendar "Feiertage" already`)

	updated := in.calendar("update", `{"name":"Feiertage","dates":["2030-12-25"],"conflictToken":1,"requestId":"r2"}`)
	assert.EqualValues(t, 2, updated.ConflictToken)
	assert.Empty(t, updated.Windows)
	assert.False(t, updated.Info.UpdateTime.IsZero())
	repeat := in.calendar("update", `{"name":"Feiertage","conflictToken":1,"requestId":"r2"}`)
	assert.Equal(t, updated.NamedCalendar, repeat.NamedCalendar)
	_, err = aboutCalendar[schedule.CalendarDescription](in, "update", `{"name":"Feiertage","conflictToken":1}`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	same := in.calendar("update", `{"name":"Feiertage","dates":["2030-12-25"],"requestId":"r3"}`)
	assert.EqualValues(t, 2, same.ConflictToken, "it says the same")
	assert.Equal(t, updated, in.calendar("describe", `{"name":"Feiertage"}`))

	_, err = aboutCalendar[schedule.Empty](in, "delete", `{"name":"Feiertage","conflictToken":1}`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	for range 2 {
		_, err = aboutCalendar[schedule.Empty](in, "delete", `{"name":"Feiertage","conflictToken":2,"requestId":"r4"}`)
		require.NoError(t, err)
	}
	for _, verb := range []string{"describe", "update", "delete"} {
		_, err = aboutCalendar[schedule.CalendarDescription](in, verb, `{"name":"Feiertage"}`)
		require.EqualError(t, err, `name: namespace "default" has no calendar "Feiertage"`)
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))
	}
	assert.EqualValues(t, 1, in.calendar("create", `{"name":"Feiertage"}`).ConflictToken, "another one of the name")
	_, err = aboutCalendar[schedule.Empty](in, "delete", `{"name":"Feiertage","requestId":"r4"}`)
	require.NoError(t, err)
	in.calendar("describe", `{"name":"Feiertage"}`) // a repeat spares it
}

func TestCalendarThatCannotBe(t *testing.T) {
	t.Parallel()
	in := installed(t)
	dates := strings.Repeat(`"2030-01-01",`, 1000) + `"2030-01-02"`
	for body, message := range map[string]string{
		`{}`:                                   `name: is empty: use 1 to 255 bytes of text`,
		`{"name":"x","dates":["tomorrow"]}`:    `dates[0]: "tomorrow" is not a date: use one such as 2026-12-25, or a range such as 2026-12-24/2026-12-26`,
		`{"name":"x","dates":[` + dates + `]}`: `has 1001 dates and windows: at most 1000 are accepted`,
		`{"name":"x","windows":[{"to":"2030-01-01T00:00:00Z"}]}`: `windows[0].from: is missing: use a time in RFC 3339`,
	} {
		for _, verb := range []string{"create", "update"} {
			_, err := aboutCalendar[schedule.CalendarDescription](in, verb, body)
			assert.EqualError(t, err, message)
			assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), body)
		}
	}
}

func TestListOfCalendars(t *testing.T) {
	t.Parallel()
	in := installed(t)
	empty, err := aboutCalendar[schedule.ListCalendarsReply](in, "list", ``)
	require.NoError(t, err)
	require.Equal(t, []schedule.CalendarSummary{}, empty.Calendars)
	for _, name := range []string{"b", "a", "c.d e", "ä"} {
		in.calendar("create", fmt.Sprintf(`{"name":%q,"dates":["2030-01-01","2030-05-01/2030-05-02"]}`, name))
	}
	var names []string
	token := ""
	for more := true; more; more = token != "" {
		page, err := aboutCalendar[schedule.ListCalendarsReply](in, "list", fmt.Sprintf(`{"pageSize":3,"pageToken":%q}`, token))
		require.NoError(t, err)
		for _, c := range page.Calendars {
			assert.Equal(t, 2, c.Dates)
			assert.Zero(t, c.Windows)
			assert.EqualValues(t, 1, c.ConflictToken)
			names = append(names, c.Name)
		}
		token = page.NextPageToken
	}
	assert.Equal(t, []string{"a", "b", "c.d e", "ä"}, names)
	one, err := aboutCalendar[schedule.ListCalendarsReply](in, "list", `{"prefix":"c"}`)
	require.NoError(t, err)
	assert.Len(t, one.Calendars, 1)
}

func TestScheduleGoesByItsCalendars(t *testing.T) {
	t.Parallel()
	in := installed(t)
	_, err := answer[schedule.Description](in, "create", dailyBody("daily", "germany"))
	require.EqualError(t, err, `spec.excludeCalendarsNamed[0]: named calendar "germany" does not exist: the namespace has none`)
	in.calendar("create", `{"name":"germany","dates":["2030-12-25/2030-12-26"]}`)
	in.calendar("create", `{"name":"freeze","windows":[{"from":"2030-12-10T00:00:00Z","to":"2030-12-29T00:00:00Z"}]}`)
	_, err = answer[schedule.Description](in, "create", dailyBody("daily", "germany", "freese"))
	require.EqualError(t, err, `spec.excludeCalendarsNamed[1]: named calendar "freese" does not exist: did you mean freeze?`)

	created, err := answer[schedule.Description](in, "create", dailyBody("daily", "germany"))
	require.NoError(t, err)
	assert.Equal(t, []string{"germany"}, created.Spec.ExcludeCalendarsNamed)
	assert.Equal(t, []schedule.CalendarUse{{Name: "germany", ConflictToken: 1}}, created.Info.Calendars)
	days := in.noons("daily", time.December)
	assert.Len(t, days, 29)
	assert.NotContains(t, days, 25)
	_, err = answer[schedule.Description](in, "update", dailyBody("daily", "germany", "freeze"))
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 29, 30, 31}, in.noons("daily", time.December))
	described, err := answer[schedule.Description](in, "describe", `{"id":"daily"}`)
	require.NoError(t, err)
	assert.Len(t, described.Info.Calendars, 2)
	_, err = answer[schedule.Description](in, "update", dailyBody("daily"))
	require.NoError(t, err)
	assert.Len(t, in.noons("daily", time.December), 31)
	assert.Empty(t, in.definition("daily").Calendars)

	preview, err := answer[schedule.TimesReply](in, "preview",
		`{"spec":{"cron":["0 12 * * *"],"excludeCalendarsNamed":["freeze"]},"from":"2030-12-09T13:00:00Z","count":1}`)
	require.NoError(t, err)
	assert.Equal(t, 29, preview.Times[0].NominalTime.Day())
	assert.Contains(t, preview.Words[0], `except the calendar "freeze"`)
}

// A repeat gets the first answer, even if the request could not be carried out now.
func TestRepeatedCreateWhoseCalendarIsGone(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.calendar("create", `{"name":"germany"}`)
	body := strings.Replace(dailyBody("daily", "germany"), "{", `{"requestId":"r1",`, 1)
	_, err := answer[schedule.Description](in, "create", body)
	require.NoError(t, err)
	in.removeCalendar("germany")
	repeat, err := answer[schedule.Description](in, "create", body)
	require.NoError(t, err)
	assert.Equal(t, "daily", repeat.ID)
	_, err = answer[schedule.Description](in, "create", dailyBody("other", "germany"))
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
}

// removeCalendar removes the record without the frontends' knowledge.
func (in *installation) removeCalendar(name string) {
	in.t.Helper()
	bucket, err := in.js.KeyValue(in.t.Context(), in.names.ClusterBucket())
	require.NoError(in.t, err)
	require.NoError(in.t, bucket.Delete(in.t.Context(), subjects.CalendarKey("default", name)))
}

func TestCalendarInUseIsNotDeleted(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.calendar("create", `{"name":"germany"}`)
	for i := range 5 {
		_, err := answer[schedule.Description](in, "create", dailyBody(fmt.Sprintf("user-%d", i), "germany"))
		require.NoError(t, err)
		in.create(fmt.Sprintf("other-%d", i), "")
	}
	remove := func() error {
		_, err := aboutCalendar[schedule.Empty](in, "delete", `{"name":"germany"}`)
		return err
	}
	require.EqualError(t, remove(), `calendar "germany" is used by the schedules "user-0", "user-1", "user-2" and 2 more: `+
		`take it out of excludeCalendarsNamed there first`)
	for i := range 4 {
		_, err := answer[schedule.Empty](in, "delete", fmt.Sprintf(`{"id":"user-%d"}`, i))
		require.NoError(t, err)
	}
	err := remove()
	require.ErrorContains(t, err, `is used by schedule "user-4": take`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	_, err = answer[schedule.Description](in, "update", dailyBody("user-4", "germany"))
	require.NoError(t, err, "it is not marked any more")
	_, err = answer[schedule.Empty](in, "delete", `{"id":"user-4"}`)
	require.NoError(t, err)
	require.NoError(t, remove())
}
