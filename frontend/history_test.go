package frontend_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// tell stores events of schedules in the default namespace, one after the other.
func (in *installation) tell(all ...schedule.Event) {
	in.t.Helper()
	for _, e := range all {
		e.Namespace = "default"
		e.ID = cmp.Or(e.ID, fmt.Sprintf("%s-%s-%s", e.ScheduleID, e.Kind, e.RequestID))
		data, err := json.Marshal(e)
		require.NoError(in.t, err)
		_, err = in.js.Publish(in.t.Context(), in.names.Event(in.key(e.ScheduleID), e.Kind), data, jetstream.WithMsgID(e.ID))
		require.NoError(in.t, err)
	}
}

func about(id string, kind schedule.EventKind, request string, second int) schedule.Event {
	return schedule.Event{
		ScheduleID: id, Kind: kind, RequestID: request, RunID: "run-" + request, WorkflowID: "w-" + request,
		Time: time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC),
	}
}

func (in *installation) page(request string) (ids []string, next string) {
	in.t.Helper()
	reply, err := answer[schedule.HistoryReply](in, "history", request)
	require.NoError(in.t, err, request)
	ids = []string{}
	for _, e := range reply.Events {
		ids = append(ids, e.ID)
	}
	return ids, reply.NextPageToken
}

func TestHistory(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.tell(
		about("a.b", schedule.EventDeferred, "1", 1), about("other", schedule.EventStarted, "x", 2),
		about("a.b", schedule.EventStarted, "1", 3), about("a.b", schedule.EventCompleted, "1", 4),
		about("a.b", schedule.EventDeferred, "2", 5),
	)
	ids, next := in.page(`{"id":"a.b","pageSize":3}`)
	assert.Equal(t, []string{"a.b-deferred-1", "a.b-started-1", "a.b-completed-1"}, ids)
	require.NotEmpty(t, next)
	ids, end := in.page(`{"id":"a.b","pageSize":3,"pageToken":"` + next + `"}`)
	assert.Equal(t, []string{"a.b-deferred-2"}, ids)
	assert.Empty(t, end)
	ids, end = in.page(`{"id":"a.b","pageSize":2,"newest":true}`)
	assert.Equal(t, []string{"a.b-completed-1", "a.b-deferred-2"}, ids)
	assert.Empty(t, end)
	ids, _ = in.page(`{"kinds":["started"]}`)
	assert.Equal(t, []string{"other-started-x", "a.b-started-1"}, ids)
	ids, _ = in.page(`{"id":"never"}`)
	assert.Empty(t, ids)
	ids, _ = in.page(`{"from":"2100-01-01T00:00:00Z"}`)
	assert.Empty(t, ids)
	assert.JSONEq(t, `{"events":[]}`, string(in.ask("default", "history", `{"id":"never","newest":true}`).Data))

	_, err := answer[schedule.HistoryReply](in, "history", `{"pageToken":"x"}`)
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	for _, token := range []string{"AWE", "AWV2ZW50OngK"} { // a token of list, and one that was changed
		_, err := answer[schedule.HistoryReply](in, "history", `{"pageToken":"`+token+`"}`)
		assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	}
	reply := in.ask("nowhere", "history", "{}")
	_, err = decode[schedule.HistoryReply](reply)
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))
}

func TestHistoryRepliesFitAMessage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector takes long over large messages, and nothing meets in them")
	}
	in := installed(t)
	const total = 30
	var want []string
	for i := range total {
		e := about("a", schedule.EventStarted, fmt.Sprint(i), i)
		e.Reason = strings.Repeat("x", 100<<10)
		in.tell(e)
		want = append(want, fmt.Sprintf("a-started-%d", i))
	}
	var all []string
	for ids, next := in.page(`{"id":"a"}`); ; ids, next = in.page(`{"id":"a","pageToken":"` + next + `"}`) {
		all = append(all, ids...)
		if next == "" {
			break
		}
	}
	assert.Equal(t, want, all)
	ids, _ := in.page(`{"id":"a","newest":true}`)
	assert.NotEmpty(t, ids)
	assert.Equal(t, want[total-len(ids):], ids)
}

func (in *installation) runs(request string) []string {
	in.t.Helper()
	reply, err := answer[schedule.RunsReply](in, "runs", request)
	require.NoError(in.t, err, request)
	list := []string{}
	for _, run := range reply.Runs {
		list = append(list, run.ScheduleID+" "+run.RequestID+" "+string(run.Status))
	}
	return list
}

func TestRuns(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	def := in.definition("nightly")
	completed := about("nightly", schedule.EventCompleted, "2", 4)
	completed.Status, completed.CloseTime, completed.ResultBytes = schedule.StatusCompleted, completed.Time, 2000
	failed := about("hourly", schedule.EventCompleted, "x", 6)
	failed.Status = schedule.StatusFailed
	in.tell(
		about("nightly", schedule.EventStarted, "2", 2), about("hourly", schedule.EventStarted, "x", 3), completed,
		about("nightly", schedule.EventStarted, "3", 5), failed,
	)
	// The events of the first run have expired.
	_, err := kv.Put(t.Context(), in.store, kv.Invoker(in.key("nightly")), &wire.InvokerState{
		Incarnation: def.Incarnation, Starts: []wire.BufferedStart{
			{RequestID: "1", WorkflowID: "w-1", RunID: "run-1", Phase: schedule.PhaseStarted, StartTime: completed.Time.AddDate(0, -1, 0)},
			{RequestID: "3", WorkflowID: "w-3", RunID: "run-3", Phase: schedule.PhaseStarted, StartTime: completed.Time.Add(time.Second)},
			{RequestID: "4", WorkflowID: "w-4", Phase: schedule.PhaseReady},
		},
	}, 0)
	require.NoError(t, err)
	result, err := json.Marshal(strings.Repeat("r", 1998))
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), in.store, kv.Result(in.key("nightly")), &wire.Result{
		Incarnation: def.Incarnation, Success: result, CloseTime: completed.CloseTime,
	}, 0)
	require.NoError(t, err)

	assert.Equal(t, []string{"nightly 3 ", "nightly 2 completed", "nightly 1 "}, in.runs(`{"id":"nightly"}`))
	assert.Equal(t, []string{"nightly 3 ", "nightly 1 "}, in.runs(`{"id":"nightly","status":"running"}`))
	assert.Equal(t, []string{"nightly 2 completed"}, in.runs(`{"id":"nightly","status":"completed"}`))
	assert.Equal(t, []string{"nightly 3 ", "hourly x failed", "nightly 2 completed"}, in.runs(`{}`))
	assert.Equal(t, []string{"nightly 3 "}, in.runs(`{"pageSize":1}`))
	assert.Equal(t, []string{"hourly x failed"}, in.runs(`{"id":"hourly"}`), "a schedule that is gone")
	assert.Empty(t, in.runs(`{"id":"never"}`))

	for _, name := range []string{"2", "run-2", "w-2"} {
		run, err := answer[schedule.RunReply](in, "run", `{"id":"nightly","run":"`+name+`"}`)
		require.NoError(t, err)
		assert.Equal(t, "2", run.RequestID)
		assert.JSONEq(t, string(result), string(run.Result), "the whole result")
		require.Len(t, run.Events, 2)
		assert.Equal(t, schedule.EventStarted, run.Events[0].Kind)
	}
	run, err := answer[schedule.RunReply](in, "run", `{"id":"nightly","run":"run-1"}`)
	require.NoError(t, err)
	assert.Equal(t, "1", run.RequestID)
	assert.Empty(t, run.Events)
	_, err = answer[schedule.RunReply](in, "run", `{"id":"nightly","run":"w-4"}`)
	assert.EqualError(t, err, `run: schedule "nightly" has no run "w-4", or not in the event history any more`)
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))
}

func TestCount(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for _, id := range []string{"a", "b.1", "b.2", "b"} {
		in.create(id, "")
	}
	for request, want := range map[string]int{"": 4, `{"prefix":"b"}`: 3, `{"prefix":"b."}`: 2, `{"prefix":"x"}`: 0} {
		reply, err := answer[schedule.CountReply](in, "count", request)
		require.NoError(t, err)
		assert.Equal(t, want, reply.Count, request)
	}
}

func nominals(reply schedule.TimesReply) []string {
	list := []string{}
	for _, due := range reply.Times {
		list = append(list, due.NominalTime.Format(time.RFC3339))
	}
	return list
}

func TestMatchingTimes(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", `,"state":{"paused":true}`)
	reply, err := answer[schedule.TimesReply](in, "matchingTimes",
		`{"id":"nightly","from":"2026-03-01T12:00:00Z","to":"2026-03-01T14:00:00Z"}`)
	require.NoError(t, err)
	assert.Equal(t, []string{"2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z", "2026-03-01T14:00:00Z"}, nominals(reply))
	assert.False(t, reply.More)
	reply, err = answer[schedule.TimesReply](in, "matchingTimes",
		`{"id":"nightly","from":"2026-03-01T12:00:00.5Z","to":"2027-03-01T14:00:00Z"}`)
	require.NoError(t, err)
	assert.Len(t, reply.Times, schedule.MaxPageSize)
	assert.Equal(t, "2026-03-01T13:00:00Z", nominals(reply)[0])
	assert.True(t, reply.More)
	_, err = answer[schedule.TimesReply](in, "matchingTimes", `{"id":"x","from":"2026-03-01T12:00:00Z","to":"2026-03-01T14:00:00Z"}`)
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))
}

func TestPreview(t *testing.T) {
	t.Parallel()
	in := installed(t)
	reply, err := answer[schedule.TimesReply](in, "preview",
		`{"spec":{"cron":["0 9 31 * *"],"jitter":"10m"},"from":"2026-01-31T09:00:00Z","count":2}`)
	require.NoError(t, err)
	assert.Equal(t, []string{"2026-01-31T09:00:00Z", "2026-03-31T09:00:00Z"}, nominals(reply))
	assert.Equal(t, reply.Times[0].NominalTime, reply.Times[0].DueTime, "no ID, no jitter")
	assert.True(t, reply.More)
	require.Len(t, reply.Words, 1)
	assert.Contains(t, reply.Words[0], "09:00")
	require.NotEmpty(t, reply.Warnings)
	assert.Equal(t, "short_month", reply.Warnings[0].Code)

	reply, err = answer[schedule.TimesReply](in, "preview", `{"id":"x","spec":{"intervals":[{"every":"1h"}],"jitter":"10m"}}`)
	require.NoError(t, err)
	require.Len(t, reply.Times, 10)
	jitter := false
	for _, due := range reply.Times {
		jitter = jitter || due.DueTime.After(due.NominalTime)
		assert.True(t, due.NominalTime.After(time.Now().Add(-time.Minute)))
	}
	assert.True(t, jitter)

	reply, err = answer[schedule.TimesReply](in, "preview", `{"spec":{}}`)
	require.NoError(t, err)
	assert.Empty(t, reply.Times)
	assert.Equal(t, []string{"only when triggered"}, reply.Words)
	_, err = answer[schedule.TimesReply](in, "preview", `{"spec":{"cron":["x"]}}`)
	assert.ErrorContains(t, err, "spec.cron[0]")
}

// TestDescribeFindsOutWhy has a run on a task queue without a worker, a dead letter and a trigger.
func TestDescribeFindsOutWhy(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	def := in.definition("nightly")
	_, err := kv.Put(t.Context(), in.store, kv.Invoker(in.key("nightly")), &wire.InvokerState{
		Incarnation: def.Incarnation, Starts: []wire.BufferedStart{
			{RequestID: "r", WorkflowID: "w", RunID: "run", TaskQueue: "q", Phase: schedule.PhaseStarted, StartTime: def.CreateTime},
			{RequestID: "s", WorkflowID: "v", Phase: schedule.PhaseDeferred},
		},
	}, 0)
	require.NoError(t, err)
	_, err = in.js.Publish(t.Context(), in.names.Action("default", "q", "w"), []byte(`{"scheduleId":"nightly"}`))
	require.NoError(t, err)
	_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"nightly"}`)
	require.NoError(t, err)
	earlier := about("nightly", schedule.EventDeadLetter, "1", 0) // of an earlier schedule with this ID
	in.tell(earlier)
	codes := func() (codes []string) {
		d, err := answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
		require.NoError(t, err)
		assert.Len(t, d.Info.Buffer, 1)
		assert.Len(t, d.Info.Backfills, 1)
		for _, notice := range d.Info.Reasons {
			codes = append(codes, notice.Code)
		}
		return codes
	}
	assert.Equal(t, []string{"waiting_for_overlap", "no_worker"}, codes())
	letter := about("nightly", schedule.EventDeadLetter, "2", 0)
	letter.Time = time.Now()
	in.tell(letter)
	assert.Equal(t, []string{"waiting_for_overlap", "no_worker", "dead_letter"}, codes())

	page, err := answer[schedule.ListReply](in, "list", "{}")
	require.NoError(t, err)
	require.Len(t, page.Schedules, 1)
	assert.Empty(t, page.Schedules[0].Info.Reasons, "lists do without")
	assert.Empty(t, page.Schedules[0].Info.Buffer)
	assert.Equal(t, 1, page.Schedules[0].Info.BufferSize)
}

func TestEventsAndReasonsAreInTheDocs(t *testing.T) {
	t.Parallel()
	_, docs, _ := strings.Cut(readDocs(t), "### Events")
	for _, kind := range schedule.EventKinds() {
		assert.True(t, strings.Contains(docs, "`"+string(kind)+"`"), "docs/api.md does not tell of event %s", kind)
	}
	docs = readDocs(t)
	for _, code := range []string{
		schedule.NoticePaused, schedule.NoticeNoTimes, schedule.NoticeExhausted, schedule.NoticeNoActionsLeft,
		schedule.NoticeWaitingForOverlap, schedule.NoticeRetrying, schedule.NoticeNoWorker, schedule.NoticeDeadLetter,
	} {
		assert.True(t, strings.Contains(docs, "\n| `"+code+"` | "), "docs/api.md has no row for reason %s", code)
	}
}
