package events_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// history is an event stream without anything around it.
type history struct {
	t      *testing.T
	js     jetstream.JetStream
	names  subjects.Names
	stream jetstream.Stream
	*events.Publisher
	*events.Reader
}

func newHistory(t *testing.T) *history {
	t.Helper()
	names := natstest.Names(t)
	_, js := natstest.Connect(t, natstest.Shared(t))
	h := &history{t: t, js: js, names: names, Reader: events.NewReader(js, names)}
	for _, config := range names.StreamConfigs(0, 1) {
		if config.Name == names.EventStream() {
			var err error
			h.stream, err = js.CreateStream(t.Context(), config)
			require.NoError(t, err)
		}
	}
	h.Publisher = events.NewPublisher(natstest.Bus(t, js), names, nil)
	return h
}

func event(id string, number int, kind schedule.EventKind) schedule.Event {
	return schedule.Event{
		ID: fmt.Sprintf("%s-%d", id, number), Namespace: "default", ScheduleID: id, Kind: kind, Time: time.Unix(int64(number), 0),
	}
}

// tell stores events one after the other.
func (h *history) tell(all ...schedule.Event) {
	h.t.Helper()
	for len(all) > 0 {
		n := min(len(all), 500)
		require.NoError(h.t, h.Publish(h.t.Context(), all[:n]...))
		all = all[n:]
	}
}

// TestEnsure stores what another process may have stored, long ago perhaps.
func TestEnsure(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	now := time.Unix(100_000, 0)
	old, recent, other := event("a", 1, schedule.EventPaused), event("a", 2, schedule.EventUnpaused), event("a", 3, schedule.EventCreated)
	recent.Time = now
	h.tell(old)
	for range 2 {
		require.NoError(t, h.Ensure(t.Context(), now, old, recent, other))
	}
	require.NoError(t, h.Ensure(t.Context(), now))
	info, err := h.stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, info.State.Msgs)
}

func of(id string, kinds ...schedule.EventKind) events.Query {
	return events.Query{Key: schedule.Key{Namespace: "default", ID: id}, Kinds: kinds}
}

func ids(page events.Page) []string {
	all := []string{}
	for _, entry := range page.Entries {
		all = append(all, entry.ID)
	}
	return all
}

// walk reads all pages.
func (h *history) walk(query events.Query, limit int) []string {
	h.t.Helper()
	all, after := []string{}, uint64(0)
	for {
		page, err := h.Page(h.t.Context(), query, after, limit)
		require.NoError(h.t, err)
		require.LessOrEqual(h.t, len(page.Entries), limit)
		all, after = append(all, ids(page)...), page.Next
		if !page.More {
			return all
		}
		require.Len(h.t, page.Entries, limit)
	}
}

// walkBack reads all pages from the end backwards and returns what they hold in order.
func (h *history) walkBack(query events.Query, limit int) []string {
	h.t.Helper()
	all, before := []string{}, uint64(0)
	for {
		page, err := h.Before(h.t.Context(), query, before, limit)
		require.NoError(h.t, err)
		require.LessOrEqual(h.t, len(page.Entries), limit)
		all = append(ids(page), all...)
		if !page.More {
			return all
		}
		require.Len(h.t, page.Entries, limit)
		before = page.Entries[0].Sequence
	}
}

func (h *history) newest(query events.Query, limit int) []string {
	h.t.Helper()
	page, err := h.Newest(h.t.Context(), query, limit)
	require.NoError(h.t, err)
	return ids(page)
}

func TestEmptyHistory(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	assert.Empty(t, h.walk(of("a"), 10))
	assert.Empty(t, h.newest(of("a"), 10))
	h.tell(event("b", 1, schedule.EventStarted))
	assert.Empty(t, h.walk(of("a"), 10))
	assert.Empty(t, h.newest(of("a"), 10))
	require.NoError(t, h.stream.Purge(t.Context()))
	assert.Empty(t, h.newest(of("b"), 10))
}

func TestHistoryOfOneScheduleAmongOthers(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	var want []string
	for i, id := range []string{"a", "a.b", "a.*", "a b", "a", "a.b", "ä", "a", "a.b", "a.>"} {
		h.tell(event(id, i, schedule.EventStarted))
		if id == "a.b" {
			want = append(want, fmt.Sprintf("a.b-%d", i))
		}
	}
	h.tell(schedule.Event{ID: "elsewhere", Namespace: "other", ScheduleID: "a.b", Kind: schedule.EventStarted})
	assert.Equal(t, want, h.walk(of("a.b"), 2))
	assert.Equal(t, want[1:], h.newest(of("a.b"), 2))
	assert.Equal(t, []string{"a.*-2"}, h.newest(of("a.*"), 2))
	assert.Equal(t, []string{"a.>-9"}, h.newest(of("a.>"), 2))
	assert.Len(t, h.walk(of(""), 3), 10, "the namespace")
	assert.Len(t, h.walk(events.Query{}, 3), 11, "all")
	assert.Len(t, h.walk(events.Query{Kinds: []schedule.EventKind{schedule.EventStarted}}, 3), 11, "all of a kind")
}

func TestHistoryByKinds(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.tell(event("a", 1, schedule.EventDeferred), event("a", 2, schedule.EventStarted), event("a", 3, schedule.EventCompleted),
		event("b", 4, schedule.EventStarted), event("a", 5, schedule.EventStarted), event("a", 6, schedule.EventDeferred))
	both := []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted, schedule.EventStarted}
	assert.Equal(t, []string{"a-2", "a-3", "a-5"}, h.walk(of("a", both...), 2))
	assert.Equal(t, []string{"a-3", "a-5"}, h.newest(of("a", both...), 2))
	assert.Equal(t, []string{"a-2", "a-3", "b-4", "a-5"}, h.walk(of("", both...), 2))
	assert.Empty(t, h.walk(of("a", schedule.EventDeleted), 2))
}

// TestLongHistory looks for few events among many, and for many among few.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	const total = 5000
	var all []schedule.Event
	want := map[string][]string{}
	for i := range total {
		id := "frequent"
		switch {
		case i%1000 == 7:
			id = "rare"
		case i < 300:
			id = "old"
		}
		e := event(id, i, schedule.EventStarted)
		all, want[id] = append(all, e), append(want[id], e.ID)
	}
	h.tell(all...)
	for id, want := range want {
		assert.Equal(t, want, h.walk(of(id), 1000), id)
		for _, limit := range []int{1, 3, 100, 1000} {
			assert.Equal(t, want[max(0, len(want)-limit):], h.newest(of(id), limit), "the last %d of %s", limit, id)
		}
	}
	assert.Equal(t, want["old"], h.walkBack(of("old"), 7))
	assert.Equal(t, want["rare"], h.walkBack(of("rare"), 1))

	// The oldest are gone, in front and in the middle.
	require.NoError(t, h.stream.Purge(t.Context(), jetstream.WithPurgeSequence(201)))
	require.NoError(t, h.stream.DeleteMsg(t.Context(), 250))
	left := append(append([]string{}, want["old"][199:248]...), want["old"][249:]...)
	assert.Equal(t, left, h.walk(of("old"), 40))
	assert.Equal(t, left, h.walkBack(of("old"), 40))
	assert.Equal(t, want["rare"][1:], h.newest(of("rare"), 100))
	assert.Zero(t, h.consumers(), "consumers are removed")
}

func (h *history) consumers() int {
	info, err := h.stream.Info(h.t.Context())
	require.NoError(h.t, err)
	return info.State.Consumers
}

func TestHistoryByTime(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	for i := range 20 {
		h.tell(event([]string{"a", "b"}[i%2], i, schedule.EventStarted))
	}
	page, err := h.Page(t.Context(), of(""), 0, 20)
	require.NoError(t, err)
	stored := page.Entries
	require.Len(t, stored, 20)
	span := func(from, to int) events.Query {
		q := of("a")
		if from >= 0 {
			q.From = stored[from].Stored
		}
		if to >= 0 {
			q.To = stored[to].Stored
		}
		return q
	}
	assert.Equal(t, []string{"a-4", "a-6", "a-8"}, h.walk(span(4, 8), 2), "both ends belong to it")
	assert.Equal(t, []string{"a-6", "a-8"}, h.walk(span(5, 9), 2))
	assert.Equal(t, []string{"a-16", "a-18"}, h.walk(span(15, -1), 1))
	assert.Equal(t, []string{"a-0", "a-2"}, h.walk(span(-1, 2), 1))
	assert.Equal(t, []string{"a-6", "a-8"}, h.newest(span(4, 8), 2))
	assert.Equal(t, []string{"a-4", "a-6", "a-8"}, h.newest(span(4, 9), 20))
	assert.Equal(t, []string{"a-4", "a-6", "a-8"}, h.walkBack(span(4, 9), 1))
	assert.Empty(t, h.newest(span(8, 4), 2))
	future := of("a")
	future.From = time.Now().Add(time.Hour)
	assert.Empty(t, h.newest(future, 2))
	assert.Empty(t, h.walk(future, 2))
}

func TestRepeatsAndCorruptEntriesAreLeftOut(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	put := func(id string, data string) {
		_, err := h.js.Publish(t.Context(), h.names.Event(schedule.Key{Namespace: "default", ID: id}, schedule.EventStarted), []byte(data))
		require.NoError(t, err)
	}
	h.tell(event("a", 1, schedule.EventStarted), event("a", 2, schedule.EventStarted))
	for range 40 {
		put("a", `{"id":"a-2","kind":"started","scheduleId":"a","namespace":"default"}`)
		put("a", "garbage")
		put("a", "{}")
	}
	h.tell(event("a", 3, schedule.EventStarted))
	want := []string{"a-1", "a-2", "a-3"}
	page, err := h.Page(t.Context(), of("a"), 0, 3)
	require.NoError(t, err)
	assert.Equal(t, want, ids(page))
	assert.False(t, page.More)
	assert.Equal(t, 80, page.Corrupt)
	assert.Equal(t, want, h.newest(of("a"), 3))
	assert.Equal(t, want[1:], h.newest(of("a"), 2))
}

func TestReaderHonoursItsContext(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.tell(event("a", 1, schedule.EventStarted))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Page(ctx, of("a"), 0, 3)
	require.ErrorIs(t, err, context.Canceled)
	_, err = h.Newest(ctx, of("a"), 3)
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, h.consumers())
}

func TestReaderWithoutStream(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	r := events.NewReader(js, natstest.Names(t))
	_, err := r.Newest(t.Context(), of("a"), 1)
	assert.ErrorIs(t, err, jetstream.ErrStreamNotFound)
	_, err = r.Page(t.Context(), of("a"), 0, 1)
	assert.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}

// TestReadingEqualsFiltering compares what is read with what a plain filter gives.
func TestReadingEqualsFiltering(t *testing.T) {
	t.Parallel()
	kinds := []schedule.EventKind{schedule.EventStarted, schedule.EventCompleted, schedule.EventSkipped}
	h := newHistory(t)
	var all []schedule.Event
	for i := range 600 {
		all = append(all, event([]string{"a", "b", "c.d"}[i*i%7%3], i, kinds[i%11%3]))
	}
	h.tell(all...)
	rapid.Check(t, func(rt *rapid.T) {
		query := of(rapid.SampledFrom([]string{"", "a", "b", "c.d", "none"}).Draw(rt, "id"),
			rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 3).Draw(rt, "kinds")...)
		before := rapid.Uint64Range(0, 700).Draw(rt, "before")
		limit := rapid.IntRange(1, 300).Draw(rt, "limit")
		want := []string{}
		for i, e := range all {
			wanted := len(query.Kinds) == 0
			for _, kind := range query.Kinds {
				wanted = wanted || kind == e.Kind
			}
			if wanted && (query.Key.ID == "" || query.Key.ID == e.ScheduleID) && (before == 0 || uint64(i+1) < before) {
				want = append(want, e.ID)
			}
		}
		page, err := h.Before(t.Context(), query, before, limit)
		require.NoError(rt, err)
		require.Equal(rt, want[max(0, len(want)-limit):], ids(page))
		require.Equal(rt, len(want) > limit, page.More)
		require.LessOrEqual(rt, page.Read, 4*limit+events.Beside)

		after := rapid.Uint64Range(0, 700).Draw(rt, "after")
		page, err = h.Page(t.Context(), query, after, limit)
		require.NoError(rt, err)
		require.LessOrEqual(rt, page.Read, limit+events.Beside)
	})
}

// TestLargeEventsEndAPage: a page has fewer events than asked for rather than very many bytes, in both directions.
func TestLargeEventsEndAPage(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	var want, forward, back []string
	for i := range 20 {
		e := event("a", i, schedule.EventStarted)
		e.Reason = strings.Repeat("x", 600<<10)
		h.tell(e)
		want = append(want, e.ID)
	}
	for after, more := uint64(0), true; more; {
		page, err := h.Page(t.Context(), of("a"), after, 100)
		require.NoError(t, err)
		require.Less(t, len(page.Entries), 16)
		require.Greater(t, page.Bytes, 600<<10)
		forward, after, more = append(forward, ids(page)...), page.Next, page.More
	}
	assert.Equal(t, want, forward)
	for before, more := uint64(0), true; more; {
		page, err := h.Before(t.Context(), of("a"), before, 100)
		require.NoError(t, err)
		require.Less(t, len(page.Entries), 16)
		back, before, more = append(ids(page), back...), page.Entries[0].Sequence, page.More
	}
	assert.Equal(t, want, back)
}
