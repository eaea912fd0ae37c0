package frontend_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestBulkMissesNothingThatIsBeingChanged: the definitions are written all the time while the operation goes through them.
func TestBulkMissesNothingThatIsBeingChanged(t *testing.T) {
	t.Parallel()
	const count = 40
	in := installed(t)
	ids := in.fill("a-", count)
	_, err := answer[schedule.Empty](in, "delete", `{"id":"a-0039"}`)
	require.NoError(t, err)
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for _, verb := range []string{"skip", "unskip"} {
		writing.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				body := map[string]string{"skip": `{"id":%q,"count":1}`, "unskip": `{"id":%q}`}[verb]
				_, _ = answer[schedule.SkipReply](in, verb, fmt.Sprintf(body, ids[i%(count-1)]))
			}
		})
	}
	for range 5 {
		done := in.bulkEnded(in.startBulk(`{"operation":"pause","prefix":"a-","rate":10000}`))
		assert.Equal(t, [3]int{count - 1, 0, 0}, [3]int{done.Done, done.Skipped, done.Failed})
	}
	close(stop)
	writing.Wait()
}

func TestBulkRequestsThatCannotWork(t *testing.T) {
	t.Parallel()
	in := installed(t)
	long, huge := strings.Repeat("x", schedule.MaxIDBytes+1), strings.Repeat("x", schedule.MaxBulkQueryBytes+1)
	many := `"x"` + strings.Repeat(`,"x"`, schedule.MaxBulkIDs)
	for body, want := range map[string]string{
		`{}`:                    "operation: is missing",
		`{"operation":"erase"}`: `operation: "erase" is not a bulk operation`,
		`{"operation":"delete"}`: "query: is missing: say which schedules are meant by query, prefix or ids, " +
			"or all of them by \"all\": true",
		`{"operation":"delete","query":"","prefix":"","ids":[]}`:             "query: is missing",
		`{"operation":"delete","all":true,"prefix":"a"}`:                     "query: query, prefix, ids and all do not",
		`{"operation":"delete","ids":[` + many + `]}`:                        "ids: has 1001 entries",
		`{"operation":"delete","ids":["a",""]}`:                              "ids[1]: is empty",
		`{"operation":"delete","all":true,"note":"x"}`:                       "note: does not go together with delete",
		`{"operation":"pause","all":true,"overlap":"skip"}`:                  "overlap: does not go together with pause",
		`{"operation":"trigger","all":true,"overlap":"maybe"}`:               "overlap:",
		`{"operation":"pause","all":true,"label":{"name":"a","value":"b"}}`:  "label: does not go together",
		`{"operation":"setLabel","all":true}`:                                "label: is missing",
		`{"operation":"setLabel","all":true,"label":{"value":"b"}}`:          "label.name: is empty",
		`{"operation":"setLabel","all":true,"label":{"name":"a","value":7}}`: "label.value:",
		`{"operation":"pause","all":true,"rate":10001}`:                      "rate: 10001 is out of range",
		`{"operation":"pause","all":true,"rate":-1}`:                         "rate: -1 is out of range",
		`{"operation":"pause","all":true,"requestId":"` + long + `"}`:        "requestId: is 256 bytes long",
		`{"operation":"pause","prefix":"` + long + `"}`:                      "prefix: is 256 bytes long",
		`{"operation":"pause","query":"` + huge + `"}`:                       "query: is 8193 bytes long",
	} {
		_, err := bulk[schedule.StartBulkReply](in, "start", body)
		require.Error(t, err, body)
		assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), body)
		assert.Contains(t, err.Error(), want, body[:min(len(body), 100)])
	}
	_, err := bulk[schedule.ListBulkReply](in, "list", `{"pageToken":"nonsense"}`)
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
}

// TestBulkByQuery: the index judges each schedule when its turn comes.
func TestBulkByQuery(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.run(func(c *frontend.Config) { c.Index = in.index() })
	in.run() // a frontend without an index, which must leave such jobs alone
	in.fill("a-", 20)
	in.fill("b-", 20)
	start := func(query string) (reply schedule.StartBulkReply) {
		body := fmt.Sprintf(`{"operation":"pause","query":%q,"rate":10000,"dryRun":true}`, query)
		natstest.Eventually(t, patience, "the index knows of all", func() bool {
			var err error
			reply, err = bulk[schedule.StartBulkReply](in, "start", body)
			return err == nil && reply.Count == 20
		})
		return reply
	}
	assert.Equal(t, "b-0000", start(`id starts_with 'b-'`).IDs[0])
	query := `paused = false and id starts_with 'b-'`
	start(query)
	var id string
	natstest.Eventually(t, patience, "the frontend with the index is asked", func() bool {
		reply, err := bulk[schedule.StartBulkReply](in, "start", fmt.Sprintf(`{"operation":"pause","query":%q}`, query))
		id = reply.JobID
		return err == nil
	})
	done := in.bulkEnded(id)
	assert.Equal(t, schedule.BulkDone, done.Status, done.Error)
	assert.Equal(t, 20, done.Done)
	assert.Equal(t, query, done.Query)
	assert.True(t, in.definition("b-0019").Schedule.State.Paused)
	assert.False(t, in.definition("a-0000").Schedule.State.Paused)

	for query, want := range map[string]string{
		`paused = `:       "query:",
		`order by id`:     "has no condition",
		`nonsense = true`: "query:",
	} {
		_, err := bulk[schedule.StartBulkReply](in, "start", fmt.Sprintf(`{"operation":"delete","query":%q}`, query))
		require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), query)
		assert.Contains(t, err.Error(), want)
	}
}

// index runs a search index until the end of the test.
func (in *installation) index() *search.Index {
	in.t.Helper()
	index, err := search.New(search.Config{
		JS: in.js, Names: in.names, Shards: 2, Created: time.Now(), Dir: in.t.TempDir(), Logger: natstest.Logger(in.t),
	})
	require.NoError(in.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- index.Run(ctx) }()
	in.t.Cleanup(func() {
		cancel()
		assert.NoError(in.t, <-ended)
	})
	return index
}
