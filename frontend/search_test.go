package frontend_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// newIndex returns an index that does not run yet.
func (in *installation) newIndex(interval time.Duration) *search.Index {
	in.t.Helper()
	facts, err := topology.Ensure(in.t.Context(), in.js, in.names, topology.Settings{})
	require.NoError(in.t, err)
	index, err := search.New(search.Config{
		JS: in.js, Names: in.names, Shards: facts.Shards, Created: facts.Created, Logger: natstest.Logger(in.t), Interval: interval,
	})
	require.NoError(in.t, err)
	return index
}

// runIndex runs an index until the end of the test.
func (in *installation) runIndex(index *search.Index) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- index.Run(ctx) }()
	in.t.Cleanup(func() {
		cancel()
		assert.NoError(in.t, <-ended)
	})
}

// indexed is an installation with a frontend that has an index.
func indexed(t *testing.T) *installation {
	t.Helper()
	in := install(t)
	index := in.newIndex(20 * time.Millisecond)
	in.runIndex(index)
	in.run(func(c *frontend.Config) { c.Index = index })
	return in
}

// find goes through all pages of a query's results, and calls between before each page except the first.
func (in *installation) find(query, prefix string, size int, between func()) (ids []string, err error) {
	for token := ""; ; between() {
		body, err := json.Marshal(schedule.ListRequest{Query: query, Prefix: prefix, PageSize: size, PageToken: token})
		if err != nil {
			return nil, err
		}
		page, err := answer[schedule.ListReply](in, "list", string(body))
		if err != nil {
			return nil, err
		}
		for _, d := range page.Schedules {
			ids = append(ids, d.ID)
		}
		if token = page.NextPageToken; token == "" {
			return ids, nil
		}
	}
}

// awaitFound waits until a query finds these, in this order.
func (in *installation) awaitFound(query string, want ...string) {
	in.t.Helper()
	natstest.Eventually(in.t, patience, fmt.Sprintf("%s finds %q", query, want), func() bool {
		ids, err := in.find(query, "", 1000, nothing)
		return err == nil && fmt.Sprint(want) == fmt.Sprint(ids)
	})
}

// TestSearchFollowsTheAPI creates, pauses and deletes.
func TestSearchFollowsTheAPI(t *testing.T) {
	t.Parallel()
	in := indexed(t)
	for _, id := range []string{"b1", "a", "b2"} {
		in.create(id, "")
	}
	in.awaitFound("paused = false", "a", "b1", "b2")
	in.awaitFound("order by id desc", "b2", "b1", "a")
	_, err := answer[schedule.Empty](in, "pause", `{"id":"b1"}`)
	require.NoError(t, err)
	in.awaitFound("paused = true", "b1")
	ids, err := in.find("paused = false", "b", 10, nothing)
	require.NoError(t, err)
	assert.Equal(t, []string{"b2"}, ids)

	reply, err := answer[schedule.CountReply](in, "count", `{"query":"paused = false","prefix":"b"}`)
	require.NoError(t, err)
	assert.Equal(t, 1, reply.Count)
	assert.WithinDuration(t, time.Now(), reply.IndexedUpTo, patience)
	_, err = answer[schedule.Empty](in, "delete", `{"id":"b1"}`)
	require.NoError(t, err)
	in.awaitFound("paused = true")
}

// TestSearchWhileSchedulesComeAndGo goes from page to page while other schedules are created and deleted between them.
func TestSearchWhileSchedulesComeAndGo(t *testing.T) {
	t.Parallel()
	in := indexed(t)
	var stay []string
	for i := range 10 {
		id := fmt.Sprintf("stay-%02d", i)
		in.create(id, "")
		if i < 7 { // the others have no value to be ordered by
			in.putGenerator(id, wire.GeneratorState{Next: time.Now().Add(time.Duration(i) * time.Hour)})
		}
		stay = append(stay, id)
	}
	in.awaitFound("nextTime is not null order by nextTime", stay[:7]...)
	in.awaitFound("order by nextTime", stay...)
	round := 0
	ids, err := in.find("order by nextTime", "stay", 3, func() {
		round++
		in.create(fmt.Sprintf("a-%d", round), "")
		in.awaitFound("id starts_with 'a-'", fmt.Sprintf("a-%d", round))
		_, err := answer[schedule.Empty](in, "delete", fmt.Sprintf(`{"id":"a-%d"}`, round))
		require.NoError(t, err)
		in.awaitFound("id starts_with 'a-'")
	})
	require.NoError(t, err)
	assert.Equal(t, stay, ids)
}

// TestSearchRefuses: the errors name the field that cannot be answered.
func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	in := indexed(t)
	in.create("a", "")
	in.create("b", "")
	in.awaitFound("", "a", "b")
	in.awaitFound("id is not null", "a", "b")
	page, err := answer[schedule.ListReply](in, "list", `{"query":"id is not null","pageSize":1}`)
	require.NoError(t, err)
	other := fmt.Sprintf(`{"query":"id = 'a'","pageToken":%q}`, page.NextPageToken)
	plain := fmt.Sprintf(`{"pageToken":%q}`, page.NextPageToken)
	for body, want := range map[string]string{
		`{"query":"tasQueue = 'a'"}`:         "query: at character 1: there is no field tasQueue: did you mean taskQueue?",
		`{"query":"id = 'a' and"}`:           "query: at character 13: expected a field, not or (, found the end",
		`{"query":"id='a'","pageToken":"x"}`: "pageToken: is not a token of an earlier reply to a query",
		other:                                "pageToken: is that of another search",
		plain:                                "pageToken: is not a token of an earlier reply",
	} {
		_, err := answer[schedule.ListReply](in, "list", body)
		require.ErrorContains(t, err, want, body)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument})
	}
	_, err = answer[schedule.CountReply](in, "count", `{"query":"?"}`)
	require.ErrorContains(t, err, "query: at character 1")
}

// TestSearchWithoutAnIndex: searches are refused, and nothing else is.
func TestSearchWithoutAnIndex(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for _, verb := range []string{"list", "count"} {
		_, err := answer[json.RawMessage](in, verb, `{"query":"paused = true"}`)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
		require.ErrorContains(t, err, "--no-search")
		_, err = answer[json.RawMessage](in, verb, `{}`)
		require.NoError(t, err)
	}
}

// TestSearchLeavesOutWhatIsGone deletes a schedule that the index still has: the page has a gap, and others follow.
func TestSearchLeavesOutWhatIsGone(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.newIndex(time.Hour)
	in.run(func(c *frontend.Config) { c.Index = index })
	for _, id := range []string{"a", "b", "c"} {
		in.create(id, "")
	}
	_, err := in.find("id is not null", "", 2, nothing)
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable}, "nobody runs the index")

	in.runIndex(index)
	in.awaitFound("id is not null", "a", "b", "c")
	// This is what a frontend sees whose index has not heard of the change yet.
	for _, id := range []string{"a", "b"} {
		record, err := kv.GetLeader(t.Context(), in.store, kv.Definition(in.key(id)))
		require.NoError(t, err)
		require.NoError(t, kv.Delete(t.Context(), in.store, kv.Definition(in.key(id)), record.Revision))
	}
	ids, err := in.find("id is not null", "", 1, nothing)
	require.NoError(t, err)
	assert.Equal(t, []string{"c"}, ids)
}
