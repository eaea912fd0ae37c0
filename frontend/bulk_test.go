package frontend_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// bulk sends a request about bulk operations, as anna.
func bulk[Reply any](in *installation, verb, body string) (reply Reply, err error) {
	message, err := in.conn.RequestMsg(&nats.Msg{
		Subject: in.names.API("default", subjects.ThingBulk, verb),
		Header:  nats.Header{"Carillon-Identity": {"anna"}}, Data: []byte(body),
	}, patience)
	if err != nil {
		return reply, err
	}
	return decode[Reply](message)
}

func (in *installation) startBulk(body string) string {
	in.t.Helper()
	reply, err := bulk[schedule.StartBulkReply](in, "start", body)
	require.NoError(in.t, err)
	return reply.JobID
}

func (in *installation) bulkNow(id string) schedule.BulkDescription {
	in.t.Helper()
	described, err := bulk[schedule.BulkDescription](in, "describe", fmt.Sprintf(`{"jobId":%q}`, id))
	require.NoError(in.t, err)
	return described
}

func (in *installation) bulkEnded(id string) (described schedule.BulkDescription) {
	in.t.Helper()
	natstest.Eventually(in.t, patience, "the bulk operation has ended", func() bool {
		described = in.bulkNow(id)
		return described.Ended()
	})
	return described
}

// bulkEvents returns the events of one kind that a bulk operation has caused, by schedule.
func (in *installation) bulkEvents(kind schedule.EventKind, jobID string) map[string]schedule.Event {
	in.t.Helper()
	reply, err := answer[schedule.HistoryReply](in, "history", fmt.Sprintf(`{"kinds":[%q],"pageSize":1000}`, kind))
	require.NoError(in.t, err)
	found := map[string]schedule.Event{}
	for _, event := range reply.Events {
		if event.RequestID == jobID {
			found[event.ScheduleID] = event
		}
	}
	return found
}

// fill creates schedules concurrently.
func (in *installation) fill(prefix string, count int) (ids []string) {
	in.t.Helper()
	var creating sync.WaitGroup
	defer creating.Wait()
	for i := range count {
		id := fmt.Sprintf("%s%04d", prefix, i)
		ids = append(ids, id)
		creating.Go(func() {
			_, err := answer[schedule.Description](in, "create", createBody(id, ""))
			assert.NoError(in.t, err)
		})
	}
	return ids
}

func TestBulkOperations(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.fill("a-", 30)
	in.create("b", "")

	id := in.startBulk(`{"operation":"pause","prefix":"a-","note":"maintenance","rate":10000}`)
	done := in.bulkEnded(id)
	assert.Equal(t, schedule.BulkDone, done.Status)
	assert.Equal(t, [4]int{30, 30, 0, 0}, [4]int{done.Total, done.Done, done.Skipped, done.Failed})
	assert.Equal(t, "anna", done.Identity)
	assert.Equal(t, "a-", done.Prefix)
	assert.Equal(t, 10_000, done.Rate)
	events := in.bulkEvents(schedule.EventPaused, id)
	require.Len(t, events, 30)
	assert.Equal(t, "anna", events["a-0007"].Identity)
	assert.Equal(t, "maintenance", events["a-0007"].Reason)
	paused := in.definition("a-0007")
	assert.True(t, paused.Schedule.State.Paused)
	assert.Equal(t, "anna", paused.PausedBy)
	assert.Equal(t, "maintenance", paused.Schedule.State.Notes)
	assert.False(t, in.definition("b").Schedule.State.Paused)

	done = in.bulkEnded(in.startBulk(`{"operation":"unpause","all":true}`))
	assert.Equal(t, 31, done.Done)
	assert.Equal(t, schedule.DefaultBulkRate, done.Rate)
	assert.False(t, in.definition("a-0007").Schedule.State.Paused)

	id = in.startBulk(`{"operation":"trigger","ids":["b","a-0001","b"],"overlap":"allow_all","note":"again"}`)
	done = in.bulkEnded(id)
	assert.Equal(t, 2, done.Done)
	assert.Equal(t, []string{"a-0001", "b"}, done.IDs)
	records, err := kv.ReadBackfills(t.Context(), in.store, in.key("b"))
	require.NoError(t, err)
	require.Len(t, records, 1)
	assert.Len(t, in.bulkEvents(schedule.EventTriggered, id), 2)

	id = in.startBulk(`{"operation":"delete","prefix":"a-","rate":10000}`)
	done = in.bulkEnded(id)
	assert.Equal(t, [2]int{30, 0}, [2]int{done.Done, done.Failed})
	assert.Len(t, in.bulkEvents(schedule.EventDeleted, id), 30)
	count, err := answer[schedule.CountReply](in, "count", "")
	require.NoError(t, err)
	assert.Equal(t, 1, count.Count)
}

func TestBulkLabels(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("a", "")
	in.create("b", "")
	_, err := answer[schedule.Description](in, "update", createBody("b", `,"state":{"limitedActions":true,"remainingActions":5}`))
	require.NoError(t, err)
	before := in.definition("b")

	id := in.startBulk(`{"operation":"setLabel","all":true,"label":{"name":"team","value":"red \"one\""}}`)
	assert.Equal(t, 2, in.bulkEnded(id).Done)
	after := in.definition("b")
	assert.JSONEq(t, `"red \"one\""`, string(after.Schedule.Action.Memo["team"]))
	assert.Equal(t, before.UpdateTime, after.UpdateTime, "what was due before is not dropped")
	assert.Equal(t, before.LimitVersion, after.LimitVersion, "what is left of the limit is counted on")
	assert.Equal(t, before.Version+1, after.Version)
	after.Schedule.Action.Memo = nil
	assert.Equal(t, before.Schedule, after.Schedule, "all else is as it was")
	assert.Equal(t, `label team set to "red \"one\""`, in.bulkEvents(schedule.EventUpdated, id)["a"].Reason)

	again := in.bulkEnded(in.startBulk(`{"operation":"setLabel","ids":["a"],"label":{"name":"team","value":"red \"one\""}}`))
	assert.Equal(t, [2]int{0, 1}, [2]int{again.Done, again.Skipped})

	id = in.startBulk(`{"operation":"setLabel","ids":["a"],"label":{"name":"team","value":null}}`)
	assert.Equal(t, 1, in.bulkEnded(id).Done)
	assert.Empty(t, in.definition("a").Schedule.Action.Memo)
	again = in.bulkEnded(in.startBulk(`{"operation":"setLabel","ids":["a"],"label":{"name":"team","value":null}}`))
	assert.Equal(t, 1, again.Skipped)
}

func TestBulkFailures(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("here", "")
	id := in.startBulk(`{"operation":"pause","ids":["here","not here"]}`)
	done := in.bulkEnded(id)
	assert.Equal(t, schedule.BulkDone, done.Status)
	assert.Equal(t, [3]int{1, 0, 1}, [3]int{done.Done, done.Skipped, done.Failed})
	const reason = "there is no such schedule"
	assert.Equal(t, []schedule.BulkFailure{{ID: "not here", Reason: reason}}, done.Failures)
	event := in.bulkEvents(schedule.EventBulkFailed, id)["not here"]
	assert.Equal(t, "pause: "+reason, event.Reason)
	assert.Equal(t, "anna", event.Identity)

	// A full memo accepts no label.
	_, err := answer[schedule.Description](in, "create", strings.Replace(createBody("full", ""), `"taskQueue"`,
		fmt.Sprintf(`"memo":{"a":%q},"taskQueue"`, strings.Repeat("x", schedule.MaxMapBytes-100)), 1))
	require.NoError(t, err)
	done = in.bulkEnded(in.startBulk(fmt.Sprintf(
		`{"operation":"setLabel","ids":["full","here"],"label":{"name":"b","value":%q}}`, strings.Repeat("y", 200))))
	assert.Equal(t, [2]int{1, 1}, [2]int{done.Done, done.Failed})
	require.Len(t, done.Failures, 1)
	assert.Contains(t, done.Failures[0].Reason, "action.memo: is 3")
	assert.Len(t, in.definition("full").Schedule.Action.Memo, 1)
}

func TestBulkDryRunAndRepeats(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.fill("a-", 25)
	dry, err := bulk[schedule.StartBulkReply](in, "start", `{"operation":"delete","prefix":"a-","dryRun":true,"requestId":"r"}`)
	require.NoError(t, err)
	assert.Empty(t, dry.JobID)
	assert.Equal(t, 25, dry.Count)
	require.Len(t, dry.IDs, schedule.MaxBulkPreview)
	assert.Equal(t, "a-0000", dry.IDs[0])
	list, err := bulk[schedule.ListBulkReply](in, "list", "")
	require.NoError(t, err)
	assert.NotNil(t, list.Operations)
	assert.Empty(t, list.Operations, "a dry run leaves nothing")

	body := `{"operation":"delete","prefix":"a-000","requestId":"r"}`
	first := in.startBulk(body)
	assert.Equal(t, 10, in.bulkEnded(first).Done)
	in.create("a-0001", "")
	repeat, err := bulk[schedule.StartBulkReply](in, "start", body)
	require.NoError(t, err)
	assert.Equal(t, schedule.StartBulkReply{JobID: first, Count: 10}, repeat)
	in.definition("a-0001") // the repeat has left it alone
}

func TestBulkList(t *testing.T) {
	t.Parallel()
	in := installed(t)
	var ids []string
	for range 5 {
		ids = append(ids, in.startBulk(`{"operation":"pause","ids":["x"]}`))
	}
	var seen []string
	token, pages := "", 0
	for {
		page, err := bulk[schedule.ListBulkReply](in, "list", fmt.Sprintf(`{"pageSize":2,"pageToken":%q}`, token))
		require.NoError(t, err)
		pages++
		for _, operation := range page.Operations {
			seen = append(seen, operation.JobID)
			assert.Empty(t, operation.IDs)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
		ids = append(ids, in.startBulk(`{"operation":"pause","ids":["x"]}`)) // this must disturb nothing
	}
	assert.Equal(t, 3, pages)
	assert.Equal(t, []string{ids[4], ids[3], ids[2], ids[1], ids[0]}, seen)
}

func TestBulkCancel(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.fill("a-", 30)
	id := in.startBulk(`{"operation":"pause","all":true,"rate":1}`)
	natstest.Eventually(t, patience, "it has begun", func() bool { return in.bulkNow(id).Done > 0 })
	canceled, err := bulk[schedule.BulkDescription](in, "cancel", fmt.Sprintf(`{"jobId":%q}`, id))
	require.NoError(t, err)
	assert.Equal(t, schedule.BulkCanceled, canceled.Status)
	assert.Equal(t, "anna", canceled.CanceledBy)
	_, err = bulk[schedule.BulkDescription](in, "cancel", fmt.Sprintf(`{"jobId":%q}`, id))
	require.NoError(t, err, "twice is as good as once")

	over := in.startBulk(`{"operation":"unpause","ids":["a-0000"]}`)
	in.bulkEnded(over)
	_, err = bulk[schedule.BulkDescription](in, "cancel", fmt.Sprintf(`{"jobId":%q}`, over))
	require.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	for _, unknown := range []string{"7f0c9a3e-6d0b-4e57-9a8e-2f6b1c7d4e93", "*", ">", "a.b", "{" + id + "}"} {
		for _, verb := range []string{"cancel", "describe"} {
			_, err = bulk[schedule.BulkDescription](in, verb, fmt.Sprintf(`{"jobId":%q}`, unknown))
			assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err), "%s %s", verb, unknown)
		}
	}
}

func TestTooManyBulkOperations(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.fill("a-", 20)
	for range schedule.MaxActiveBulk {
		in.startBulk(`{"operation":"pause","all":true,"rate":1}`)
	}
	_, err := bulk[schedule.StartBulkReply](in, "start", `{"operation":"pause","all":true}`)
	assert.Equal(t, schedule.CodeResourceExhausted, schedule.CodeOf(err))
}

// TestBulkOutlivesItsFrontend: the frontend that works on the operation loses its connection in the middle. Another one, for
// which the lease is over, continues.
func TestBulkOutlivesItsFrontend(t *testing.T) {
	t.Parallel()
	for _, operation := range []string{"pause", "delete"} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			const count = 300
			in := install(t)
			conn, kill := in.doomed()
			ids := in.fill("a-", count)
			id := in.startBulk(fmt.Sprintf(`{"operation":%q,"all":true,"rate":150}`, operation))
			natstest.Eventually(t, patience, "a third is done", func() bool { return in.bulkNow(id).Done > count/3 })
			kill()
			require.True(t, conn.IsClosed())
			in.run(func(c *frontend.Config) { c.Now = func() time.Time { return time.Now().Add(2 * jobs.Lease) } })
			done := in.bulkEnded(id)
			assert.Equal(t, schedule.BulkDone, done.Status)
			assert.Equal(t, [3]int{count, 0, 0}, [3]int{done.Done, done.Skipped, done.Failed})
			left, err := answer[schedule.CountReply](in, "count", "")
			require.NoError(t, err)
			if operation == "delete" {
				assert.Zero(t, left.Count)
				return
			}
			events := in.bulkEvents(schedule.EventPaused, id)
			for _, schedule := range ids {
				def := in.definition(schedule)
				assert.True(t, def.Schedule.State.Paused)
				_, told := events[schedule]
				assert.True(t, told || len(def.Events) > 0, "the generator tells what the frontend could not")
			}
		})
	}
}

// TestBulkRepeatsNothingThatIsForgotten: a page was begun so long ago that the schedule has forgotten the request.
func TestBulkRepeatsNothingThatIsForgotten(t *testing.T) {
	t.Parallel()
	const id = "7f0c9a3e-6d0b-4e57-9a8e-2f6b1c7d4e93"
	in := installed(t)
	in.create("a", "")
	in.create("b", "")
	_, err := answer[schedule.Empty](in, "pause", `{"id":"a","requestId":"`+id+`"}`)
	require.NoError(t, err)
	for i := range wire.MaxApplied {
		_, err := answer[schedule.Empty](in, "unpause", fmt.Sprintf(`{"id":"a","requestId":"r%d"}`, i))
		require.NoError(t, err)
	}
	_, err = jobs.NewStore(kv.NewCluster(in.js, in.names)).Create(t.Context(), jobs.Job{
		Namespace: "default", ID: id, Kind: "bulk.pause", Page: []string{"a", "b"}, Cursor: "b", Total: 2,
		Parameters: json.RawMessage(`{"operation":"pause","all":true}`), CreateTime: time.Now().UTC(),
	})
	require.NoError(t, err)
	assert.Equal(t, 2, in.bulkEnded(id).Done)
	assert.False(t, in.definition("a").Schedule.State.Paused, "somebody has unpaused it since")
	assert.True(t, in.definition("b").Schedule.State.Paused)
}

// doomed runs a frontend until kill cuts its connection.
func (in *installation) doomed() (conn *nats.Conn, kill func()) {
	in.t.Helper()
	conn, js := natstest.Connect(in.t, natstest.Shared(in.t))
	f, err := frontend.New(frontend.Config{Conn: conn, JS: js, Store: in.store, Names: in.names, Logger: natstest.Logger(in.t)})
	require.NoError(in.t, err)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(in.t.Context()) }()
	<-f.Ready()
	return conn, sync.OnceFunc(func() {
		conn.Close()
		assert.Error(in.t, <-ended)
	})
}
