package console_test

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// letter stores a generator's dead letter about a wake of a schedule; n is the place of the wake in its stream.
func (v *visitor) letter(t *testing.T, id string, n int) {
	t.Helper()
	key := schedule.Key{Namespace: "default", ID: id}
	body, err := codec.Marshal(&wire.Wake{Version: uint64(n), Reason: wire.ReasonDue})
	require.NoError(t, err)
	letter := nats.NewMsg(v.names.DeadLetter(subjects.PoolGenerator))
	letter.Data = body
	shard := topology.Facts{Shards: 2}.ShardOf(key)
	for name, value := range map[string]string{
		deadletter.HeaderReason: "no <b>good</b>", deadletter.HeaderDeliveries: "10", deadletter.HeaderSubject: v.names.Generate(shard, key, subjects.WhatDue),
		deadletter.HeaderStream: v.names.TaskStream(shard), deadletter.HeaderSequence: fmt.Sprint(1000 + n), "Traceparent": "00-1-2-01",
	} {
		letter.Header.Set(name, value)
	}
	_, err = v.conn.RequestMsgWithContext(t.Context(), letter)
	require.NoError(t, err)
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	v := visit(t)
	const page = "/ns/default/dead-letters"
	assert.Contains(t, v.open(page).body, "There are no such letters.")
	v.make(t, "a", daily)
	for n := range 3 {
		v.letter(t, "a", n+1)
	}
	v.letter(t, "b", 4)
	list := v.open(page)
	assert.Contains(t, list.body, "<strong>4</strong> letters")
	assert.Contains(t, list.body, "no &lt;b&gt;good&lt;/b&gt;")
	assert.Contains(t, list.body, `<a href="/ns/default/schedules/a">default/a</a>`)
	assert.Less(t, strings.Index(list.body, ">4</a>"), strings.Index(list.body, ">1</a>"), "the newest first")
	assert.Contains(t, v.open(page+"?schedule=a").body, "<strong>3</strong> letters")
	assert.Contains(t, v.open(page+"?schedule=a&pool=worker").body, "There are no such letters.")
	assert.Equal(t, 400, v.open(page+"?pool=everyone").status)

	one := v.open(page + "/1")
	assert.Contains(t, one.body, "&#34;due&#34;", "the body is decoded")
	assert.Contains(t, one.body, "<code>00-1-2-01</code>")
	replayed := v.submit(page+"/1/replay", nil)
	assert.Equal(t, 200, replayed.status)
	assert.Regexp(t, "The message has been sent again|a newer message does the same", replayed.body)
	assert.Contains(t, v.submit(page+"/4/delete", nil).body, "The letter is deleted.")
	assert.Equal(t, 404, v.open(page+"/4").status)
	assert.Equal(t, 400, v.open(page+"/x").status)
	assert.Equal(t, 404, v.submit(page+"/4/replay", nil).status)
}

// TestAllDeadLetters: what is done to all letters of a filter is asked for with their number, and letters that come meanwhile stay.
func TestAllDeadLetters(t *testing.T) {
	t.Parallel()
	v := visit(t)
	const page = "/ns/default/dead-letters"
	for n := range 3 {
		v.letter(t, "a", n+1)
	}
	v.letter(t, "b", 4)
	asked := v.open(page + "/all?do=delete&schedule=a")
	assert.Contains(t, asked.body, "<h1>Delete 3 letters?</h1>")
	fields := url.Values{}
	for _, field := range regexp.MustCompile(`<input type="hidden" name="(\w+)" value="([^"]*)">`).FindAllStringSubmatch(asked.body, -1) {
		fields.Set(field[1], field[2])
	}
	v.letter(t, "a", 5)
	assert.Contains(t, v.submit(page+"/all", fields).body, "<h1>3 letters deleted</h1>")
	left := v.open(page)
	assert.Contains(t, left.body, "<strong>2</strong> letters")
	assert.Equal(t, 400, v.open(page+"/all?do=burn").status)
	assert.Equal(t, 400, v.submit(page+"/all", url.Values{"do": {"delete"}}).status)
	all := url.Values{"do": {"replay"}, "newest": {"99"}, "newestOfWorkers": {"0"}}
	assert.Contains(t, v.submit(page+"/all", all).body, "<h1>2 letters replayed</h1>")
	assert.Contains(t, v.open(page).body, "There are no such letters.")
}

func TestCalendars(t *testing.T) {
	t.Parallel()
	v := visit(t)
	assert.Contains(t, v.open("/ns/default/calendars").body, "There are no calendars here.")
	wrong := v.submit("/ns/default/new-calendar", url.Values{"name": {"germany"}, "text": {"dates: [2027-13-01]"}, "do": {"write"}})
	assert.Equal(t, 200, wrong.status)
	assert.Contains(t, wrong.body, "<code>dates[0]</code>")
	assert.Contains(t, wrong.body, "2027-13-01", "what somebody wrote is not lost")
	looked := v.submit("/ns/default/new-calendar", url.Values{"name": {"germany"}, "text": {"dates: [2027-01-01]"}, "do": {"look"}})
	assert.Contains(t, looked.body, "1 date and 0 windows")
	made := v.submit("/ns/default/new-calendar", url.Values{"name": {"a/b"}, "text": {"dates: [2027-01-01]\nwindows: [{from: 2027-02-01T00:00:00Z, to: 2027-02-02T00:00:00Z}]"}, "do": {"write"}})
	assert.Contains(t, made.body, "The calendar is there.")
	assert.Contains(t, made.body, "2027-02-02 00:00:00")
	assert.Contains(t, v.open("/ns/default/calendars").body, `<a href="/ns/default/calendars/a%2Fb">a/b</a>`)

	edited := v.open("/ns/default/calendars/a%2Fb/edit")
	token := regexp.MustCompile(`name="token" value="(\d+)"`).FindStringSubmatch(edited.body)[1]
	save := func(dates string) *answer {
		return v.submit("/ns/default/calendars/a%2Fb/edit", url.Values{"text": {"dates: [" + dates + "]"}, "token": {token}, "do": {"write"}})
	}
	assert.Contains(t, save("2028-01-01").body, "The calendar is changed.")
	conflict := save("2029-01-01")
	assert.Contains(t, conflict.body, "the calendar has been changed since")
	assert.Contains(t, conflict.body, "What it is now")
	assert.Contains(t, conflict.body, "2028-01-01")

	v.make(t, "user", schedule.Spec{Cron: []string{"@daily"}, ExcludeCalendarsNamed: []string{"a/b"}})
	used := v.submit("/ns/default/calendars/a%2Fb/delete", nil)
	assert.Equal(t, 200, used.status)
	assert.Contains(t, used.body, `role="alert"`)
	assert.Contains(t, used.body, "user")
	require.NoError(t, v.api.Delete(t.Context(), "user"))
	natstest.Eventually(t, patience, "the calendar can be deleted", func() bool {
		return strings.Contains(v.submit("/ns/default/calendars/a%2Fb/delete", nil).body, "The calendar is deleted.")
	})
	assert.Equal(t, 404, v.open("/ns/default/calendars/a%2Fb").status)
}

// TestCalendarOfAFile: an iCalendar file is read into the text.
func TestCalendarOfAFile(t *testing.T) {
	t.Parallel()
	v := visit(t)
	send := func(file, zone string) *answer {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for name, value := range map[string]string{"name": "holidays", "years": "5", "zone": zone, "do": "read"} {
			require.NoError(t, form.WriteField(name, value))
		}
		if file != "" {
			part, err := form.CreateFormFile("file", "holidays.ics")
			require.NoError(t, err)
			_, _ = part.Write([]byte(strings.ReplaceAll(file, "\n", "\r\n")))
		}
		require.NoError(t, form.Close())
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.url+"/ns/default/new-calendar", &body)
		require.NoError(t, err)
		request.Header.Set("Content-Type", form.FormDataContentType())
		response, err := v.http.Do(request)
		require.NoError(t, err)
		return v.shown(response)
	}
	const file = "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nBEGIN:VEVENT\nUID:1\nDTSTAMP:20200101T000000Z\nDTSTART;VALUE=DATE:20200101\n" +
		"RRULE:FREQ=YEARLY\nSUMMARY:New Year\nEND:VEVENT\nEND:VCALENDAR\n"
	read := send(file, "")
	assert.Contains(t, read.body, "5 dates and 0 windows, read from 5 events")
	assert.Contains(t, read.body, "-01-01")
	assert.Contains(t, read.body, `value="holidays"`)
	assert.Contains(t, send("", "").body, "<code>file</code>: is missing")
	assert.Contains(t, send("nonsense", "").body, "<code>file</code>")
	assert.Contains(t, send(file, "Nowhere/Land").body, "<code>zone")
}

func TestFreeze(t *testing.T) {
	t.Parallel()
	v := visit(t)
	none := v.submit("/ns/default/namespace/freeze", url.Values{"reason": {" "}})
	assert.Equal(t, 400, none.status)
	assert.Contains(t, none.body, "say why nothing is to start")
	frozen := v.submit("/ns/default/namespace/freeze", url.Values{"reason": {"<closing>"}, "for": {"2h"}})
	assert.Contains(t, frozen.body, "The namespace is frozen.")
	for _, path := range []string{"/ns/default/schedules", "/ns/default/now", "/ns/default/cluster"} {
		body := v.open(path).body
		assert.Contains(t, body, "<strong>This namespace is frozen:</strong> &lt;closing&gt;.", path)
		assert.Contains(t, body, "By console.", path)
	}
	assert.Contains(t, v.submit("/ns/default/namespace/freeze", url.Values{"reason": {"x"}, "for": {"soon"}}).body, "<code>for</code>")
	assert.Contains(t, v.submit("/ns/default/namespace/unfreeze", nil).body, "The namespace acts again.")
	assert.NotContains(t, v.open("/ns/default/schedules").body, "This namespace is frozen")
}

func TestNamespaces(t *testing.T) {
	t.Parallel()
	v := visit(t)
	assert.Contains(t, v.open("/ns/default/namespaces").body, `<a href="/ns/default/now">default</a> <small>here</small>`)
	wrong := v.submit("/ns/default/new-namespace", url.Values{"name": {"billing"}, "maxSchedules": {"many"}, "description": {"invoices"}})
	assert.Contains(t, wrong.body, "<code>limits.maxSchedules</code>: &#34;many&#34; is not a number")
	assert.Contains(t, wrong.body, `value="invoices"`)
	assert.Contains(t, v.submit("/ns/default/new-namespace", url.Values{"name": {"Bad_Name"}}).body, `role="alert"`)
	made := v.submit("/ns/default/new-namespace", url.Values{
		"name": {"billing"}, "description": {"invoices"}, "maxSchedules": {"10"}, "eventRetention": {"48h"}, "requestsPerSecond": {"1000"},
		"archive": {"s3://b?region=x&prefix=y"},
	})
	assert.Contains(t, made.body, "The namespace is there.")
	assert.Contains(t, made.body, "2 days")
	api, err := v.api.In("billing")
	require.NoError(t, err)
	_, err = api.Create(t.Context(), schedule.CreateRequest{ID: "s", Schedule: schedule.Schedule{Spec: daily, Action: schedule.Action{Type: "t", TaskQueue: "q"}}})
	require.NoError(t, err)

	edit := v.open("/ns/billing/namespace/edit")
	token := regexp.MustCompile(`name="token" value="(\d+)"`).FindStringSubmatch(edit.body)[1]
	assert.Contains(t, edit.body, `name="maxSchedules" value="10"`)
	assert.Contains(t, edit.body, `name="eventRetention" value="48h`)
	assert.Contains(t, edit.body, `name="requestsPerSecond" value="1000"`)
	assert.Contains(t, edit.body, `name="archive" value="s3://b?region=x&amp;prefix=y"`)
	saved := v.submit("/ns/billing/namespace/edit", url.Values{"token": {token}, "maxSchedules": {"20"}})
	assert.Contains(t, saved.body, "The namespace is changed.")
	assert.Contains(t, saved.body, "<td>20</td><td>1</td>")
	assert.Contains(t, v.submit("/ns/billing/namespace/edit", url.Values{"token": {token}, "maxSchedules": {"30"}}).body, "conflictToken")

	assert.Equal(t, 400, v.submit("/ns/billing/namespace/delete", url.Values{"confirm": {"bill"}}).status)
	assert.Equal(t, 409, v.submit("/ns/billing/namespace/delete", url.Values{"confirm": {"billing"}}).status, "it has a schedule")
	gone := v.submit("/ns/billing/namespace/delete", url.Values{"confirm": {"billing"}, "force": {"true"}})
	assert.Contains(t, gone.body, "The namespace is being deleted.")
}

func TestClusterPage(t *testing.T) {
	t.Parallel()
	v := visit(t)
	page := v.open("/ns/default/cluster")
	assert.Equal(t, 200, page.status)
	for _, text := range []string{"no process of the pool is there", "start one: carillon generator", v.names.ActionStream(), v.names.ClusterBucket(), "Shards"} {
		assert.Contains(t, page.body, text)
	}
	assert.Less(t, len(page.body), 150_000)
}
