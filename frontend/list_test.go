package frontend_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// listAll goes through all pages, and calls between before each page except the first.
func (in *installation) listAll(prefix string, size int, between func()) (ids []string, pages int) {
	in.t.Helper()
	for token := ""; ; between() {
		page, err := answer[schedule.ListReply](in, "list",
			fmt.Sprintf(`{"pageSize":%d,"prefix":%q,"pageToken":%q}`, size, prefix, token))
		require.NoError(in.t, err)
		pages++
		for _, d := range page.Schedules {
			ids = append(ids, d.ID)
		}
		if token = page.NextPageToken; token == "" {
			return ids, pages
		}
	}
}

func nothing() {}

func TestListIsOrderedAndPaged(t *testing.T) {
	t.Parallel()
	in := installed(t)
	reply := in.ask("default", "list", "{}")
	assert.JSONEq(t, `{"schedules":[]}`, string(reply.Data))

	for _, id := range []string{"b2", "a", "c", "b1", "b.3"} {
		in.create(id, "")
	}
	ids, pages := in.listAll("", 2, nothing)
	assert.Equal(t, []string{"a", "b.3", "b1", "b2", "c"}, ids)
	assert.Equal(t, 3, pages)
	ids, _ = in.listAll("b", 2, nothing)
	assert.Equal(t, []string{"b.3", "b1", "b2"}, ids)
	ids, pages = in.listAll("d", 2, nothing)
	assert.Empty(t, ids)
	assert.Equal(t, 1, pages)
}

func TestListWhileSchedulesComeAndGo(t *testing.T) {
	t.Parallel()
	in := installed(t)
	var stay []string
	for i := range 10 {
		id := fmt.Sprintf("stay-%02d", i)
		stay = append(stay, id)
		in.create(id, "")
		in.create(fmt.Sprintf("stay-%02d-goes", i), "")
	}
	next := 0
	ids, _ := in.listAll("", 3, func() {
		_, err := answer[schedule.Empty](in, "delete", fmt.Sprintf(`{"id":"stay-%02d-goes"}`, next))
		require.NoError(t, err)
		in.create(fmt.Sprintf("come-%02d", next), "")
		next++
	})
	var stayed []string
	for _, id := range ids {
		if len(id) == len(stay[0]) && strings.HasPrefix(id, "stay-") {
			stayed = append(stayed, id)
		}
	}
	assert.Equal(t, stay, stayed, "what stays is listed once, whatever comes and goes")
}

// TestListIsFilledUp: the page is full although traces of deleted schedules are among its keys.
func TestListIsFilledUp(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for i := range 30 {
		in.create(fmt.Sprintf("%02d", i), "")
	}
	for i := range 30 {
		if i%10 != 9 {
			_, err := answer[schedule.Empty](in, "delete", fmt.Sprintf(`{"id":"%02d"}`, i))
			require.NoError(t, err)
		}
	}
	ids, pages := in.listAll("", 3, nothing)
	assert.Equal(t, []string{"09", "19", "29"}, ids)
	assert.Equal(t, 1, pages)
	ids, pages = in.listAll("1", 2, nothing)
	assert.Equal(t, []string{"19"}, ids)
	assert.Equal(t, 1, pages)
	ids, pages = in.listAll("", 1, nothing)
	assert.Equal(t, []string{"09", "19", "29"}, ids)
	assert.Equal(t, 3, pages)
	count, err := answer[schedule.CountReply](in, "count", `{}`)
	require.NoError(t, err)
	assert.Equal(t, 3, count.Count)
}

func TestListSurvivesACorruptRecord(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for _, id := range []string{"a", "broken", "c"} {
		in.create(id, "")
	}
	key := in.key("broken")
	bucket, err := in.js.KeyValue(t.Context(), in.names.StateBucket(in.store.ShardOf(key)))
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), subjects.StateKey(key, subjects.KindDefinition), []byte("garbage"))
	require.NoError(t, err)

	ids, _ := in.listAll("", 2, nothing)
	assert.Equal(t, []string{"a", "c"}, ids)

	_, err = answer[schedule.Description](in, "describe", `{"id":"broken"}`)
	var e *schedule.Error
	require.True(t, errors.As(err, &e))
	assert.Equal(t, schedule.CodeInternal, e.Code)
	assert.NotContains(t, e.Message, "garbage")
}

func TestListRepliesFitAMessage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector takes long over large messages, and nothing meets in them")
	}
	in := installed(t)
	const input = 500 << 10
	var want []string
	for i := range 1 + int(in.conn.MaxPayload())/input {
		id := fmt.Sprintf("%02d", i)
		want = append(want, id)
		_, err := answer[schedule.Description](in, "create",
			fmt.Sprintf(`{"id":%q,"action":{"type":"http","taskQueue":"q","input":"%s"}}`, id, strings.Repeat("x", input)))
		require.NoError(t, err)
	}
	ids, pages := in.listAll("", 100, nothing)
	assert.Equal(t, want, ids)
	assert.Equal(t, 2, pages)
}

func TestDescribeShowsWhatThePoolsKnow(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", `,"state":{"limitedActions":true,"remainingActions":5}`)
	def := in.definition("nightly")
	future := def.CreateTime.AddDate(100, 0, 0)
	_, err := kv.Put(t.Context(), in.store, kv.Generator(in.key("nightly")), &wire.GeneratorState{
		Incarnation: def.Incarnation, Future: append(def.Schedule.Spec.At, def.CreateTime, future),
	}, 0)
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), in.store, kv.Invoker(in.key("nightly")), &wire.InvokerState{
		Incarnation: def.Incarnation, LimitVersion: 1, LimitUsed: 2, Counters: wire.Counters{Actions: 2},
		Starts: []wire.BufferedStart{{RequestID: "r", WorkflowID: "w", Phase: schedule.PhaseStarted}},
	}, 0)
	require.NoError(t, err)

	d, err := answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
	require.NoError(t, err)
	assert.Equal(t, 3, d.State.RemainingActions)
	assert.Equal(t, int64(2), d.Info.ActionCount)
	require.Len(t, d.Info.FutureActionTimes, 1)
	assert.True(t, future.Equal(d.Info.FutureActionTimes[0]))
	require.Len(t, d.Info.RunningWorkflows, 1)
	assert.Equal(t, "w", d.Info.RunningWorkflows[0].WorkflowID)
	page, err := answer[schedule.ListReply](in, "list", "{}")
	require.NoError(t, err)
	assert.Equal(t, []schedule.Description{d}, page.Schedules)
}

// TestFloodOfLists: what is wrong with a stored schedule is logged at a bounded rate, however often it is read. What operators do
// is logged each time.
func TestFloodOfLists(t *testing.T) {
	t.Parallel()
	var lines natstest.Lines
	in := installed(t, func(c *frontend.Config) { c.Logger = lines.Logger() })
	key := in.key("bad")
	bucket, err := in.js.KeyValue(t.Context(), in.names.StateBucket(in.store.ShardOf(key)))
	require.NoError(t, err)
	_, err = bucket.Put(t.Context(), subjects.StateKey(key, subjects.KindDefinition), []byte("garbage"))
	require.NoError(t, err)
	for range 200 {
		_, err := answer[schedule.ListReply](in, "list", `{}`)
		require.NoError(t, err)
	}
	assert.GreaterOrEqual(t, lines.Count("schedule left out of a list"), 1)
	assert.Less(t, lines.Count("schedule left out of a list"), 100)
	for n := range 40 {
		subject := in.names.API(fmt.Sprint("n", n), subjects.ThingNamespace, "create")
		reply, err := in.conn.Request(subject, []byte(`{}`), patience)
		require.NoError(t, err)
		require.Empty(t, reply.Header.Get(micro.ErrorCodeHeader))
	}
	assert.Equal(t, 40, lines.Count("namespace created"))
}
