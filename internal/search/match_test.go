package search

import (
	"cmp"
	"database/sql"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/search/query/querygen"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// store writes records in any order and more than once, as they may come from a bucket.
func store(t *testing.T, d *database, random *rand.Rand, all []*records) {
	t.Helper()
	var messages []bus.Message
	add := func(key schedule.Key, kind string, record any) {
		data, err := codec.Marshal(record)
		require.NoError(t, err)
		messages = append(messages, bus.Message{
			Subject: "$KV.b." + subjects.StateKey(key, kind), Sequence: uint64(len(messages) + 1), Data: data,
		})
	}
	for _, r := range all {
		key := r.definition.Key()
		old := r.definition
		old.Schedule.State.Paused = !old.Schedule.State.Paused
		add(key, subjects.KindDefinition, &old)
		add(key, subjects.KindGenerator, &r.generator)
		add(key, subjects.KindDefinition, &r.definition)
		add(key, subjects.KindInvoker, &r.invoker)
	}
	messages = append(messages, messages...)
	random.Shuffle(len(messages), func(i, j int) { messages[i], messages[j] = messages[j], messages[i] })
	apply(t, d, messages...)
}

func apply(t *testing.T, d *database, messages ...bus.Message) {
	t.Helper()
	require.NoError(t, d.write(t.Context(), func(tx *sql.Tx) error {
		w := writer{ctx: t.Context(), tx: tx, put: &d.put, log: slog.New(slog.DiscardHandler)}
		for i := range messages {
			if err := w.apply("b", &messages[i]); err != nil {
				return err
			}
		}
		return nil
	}))
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	d, err := openDatabase(t.Context(), t.TempDir(), "test", false)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.close()) })
	require.NoError(t, d.complete(t.Context(), indexes+executionIndexes))
	return d
}

// TestAnswersAreThoseOfTheLanguage compares what SQL finds, page by page, with the result of the query for each schedule.
func TestAnswersAreThoseOfTheLanguage(t *testing.T) {
	t.Parallel()
	d, random := newDatabase(t), rand.New(rand.NewPCG(1, 2))
	all := world(random, 50)
	store(t, d, random, all)
	other := &records{definition: wire.Definition{Namespace: "other", ID: "a", Incarnation: "now"}}
	store(t, d, random, []*records{other})
	rapid.Check(t, func(t *rapid.T) {
		q := querygen.Query().Draw(t, "query")
		prefix := rapid.SampledFrom([]string{"", "", "a", "%", "ä"}).Draw(t, "prefix")
		size := rapid.SampledFrom([]int{3, 20, 1000}).Draw(t, "size")
		d.few = rapid.SampledFrom([]int{0, 10, 100, 1000}).Draw(t, "few")
		in := scope{namespace: "default", prefix: prefix, query: q}
		want := expected(all, prefix, q)
		require.Equal(t, want, pages(t, d, in, size), q.String())
		s := d.statement(t.Context())
		s.add("SELECT count(*) FROM schedules AS s WHERE ")
		s.scope(in.namespace, in.prefix, in.query)
		var count int
		require.NoError(t, d.reader.QueryRowContext(t.Context(), s.sql.String(), s.args...).Scan(&count))
		require.Len(t, want, count)
	})
}

// pages reads a list page by page.
func pages(t *rapid.T, d *database, in scope, size int) (ids []string) {
	var after Position
	for {
		positions, err := d.list(t.Context(), in, after, size)
		require.NoError(t, err)
		for _, p := range positions {
			ids = append(ids, p.ID)
		}
		if len(positions) < size {
			return ids
		}
		after = positions[size-1]
	}
}

// expected is the naive answer.
func expected(all []*records, prefix string, q *query.Query) (ids []string) {
	var found []*records
	for _, r := range all {
		if strings.HasPrefix(r.definition.ID, prefix) && q.Matches(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b *records) int {
		order, missing := 0, 0
		if q.Order != nil {
			order, missing = compareField(a, b, q.Order.Field.Name)
		}
		order = cmp.Or(order, cmp.Compare(a.definition.ID, b.definition.ID))
		if q.Order != nil && q.Order.Desc {
			order = -order
		}
		return cmp.Or(missing, order)
	})
	for _, r := range found {
		ids = append(ids, r.definition.ID)
	}
	return ids
}

// compareField compares two values of a field. missing says that one of them does not exist; it sorts last.
func compareField(a, b *records, name string) (order, missing int) {
	x, hasX := a.builtIn(name)
	y, hasY := b.builtIn(name)
	if !hasX || !hasY {
		return 0, int(sqlBool(hasY)) - int(sqlBool(hasX))
	}
	switch x.Kind {
	case query.Text:
		return strings.Compare(x.Text, y.Text), 0
	case query.Time:
		return x.Time.Compare(y.Time), 0
	case query.Boolean:
		return cmp.Compare(sqlBool(x.Bool), sqlBool(y.Bool)), 0
	case query.Int, query.Double:
	}
	return cmp.Compare(x.Int, y.Int), 0
}

// TestDeletionsLeaveNothing deletes the records of a schedule in any order.
func TestDeletionsLeaveNothing(t *testing.T) {
	t.Parallel()
	d, random := newDatabase(t), rand.New(rand.NewPCG(3, 4))
	all := world(random, 20)
	store(t, d, random, all)
	var gone []bus.Message
	for _, r := range all {
		for _, kind := range []string{subjects.KindDefinition, subjects.KindGenerator, subjects.KindInvoker} {
			gone = append(gone, bus.Message{
				Subject: "$KV.b." + subjects.StateKey(r.definition.Key(), kind), Sequence: 1_000_000,
				Header: nats.Header{"KV-Operation": {"PURGE"}},
			})
		}
	}
	random.Shuffle(len(gone), func(i, j int) { gone[i], gone[j] = gone[j], gone[i] })
	apply(t, d, gone...)
	for _, table := range []string{"schedules", "attributes"} {
		var left int
		require.NoError(t, d.reader.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&left))
		require.Zero(t, left, table)
	}
}

// TestWhatCannotBeReadIsPassedOver applies foreign keys and records.
func TestWhatCannotBeReadIsPassedOver(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	random := rand.New(rand.NewPCG(5, 6))
	all := world(random, 1)
	store(t, d, random, all)
	id := all[0].definition.ID
	in := scope{namespace: "default", query: &query.Query{}}
	apply(t, d,
		bus.Message{Subject: "$KV.b.x", Sequence: 100},
		bus.Message{Subject: "$KV.b.default.=ZZ.definition", Sequence: 101},
		bus.Message{Subject: "$KV.b.default.a.else", Sequence: 102},
		bus.Message{Subject: "$KV.b.default.a.backfill.b1", Sequence: 103, Data: []byte("?")})
	positions, err := d.list(t.Context(), in, Position{}, 10)
	require.NoError(t, err)
	require.Equal(t, []Position{{ID: id}}, positions)
	apply(t, d, bus.Message{
		Subject: "$KV.b." + subjects.StateKey(all[0].definition.Key(), subjects.KindDefinition), Sequence: 104, Data: []byte("?"),
	})
	positions, err = d.list(t.Context(), in, Position{}, 10)
	require.NoError(t, err)
	require.Empty(t, positions, "it cannot be shown")
}

// TestPlansUseIndexes makes sure that the usual queries do not read every schedule.
func TestPlansUseIndexes(t *testing.T) {
	t.Parallel()
	d, random := newDatabase(t), rand.New(rand.NewPCG(7, 8))
	store(t, d, random, world(random, 40))
	require.NoError(t, d.complete(t.Context(), indexes+executionIndexes))
	for text, index := range map[string]string{
		"":                      "by_id",
		"id starts_with 'a'":    "by_id",
		"notes starts_with 'a'": "by_notes",
		"order by nextTime":     "by_next_time",
		"nextTime < '2000-01-01' order by nextTime": "by_next_time",
		"taskQueue = 'nobody'":                      "by_task_queue",
		"taskQueue = 'a' order by taskQueue":        "by_task_queue",
		"paused = true":                             "by_paused",
		"lastStatus = 'failed'":                     "by_last_status",
		"running > 0 or waiting > 0":                "by_id",
		"order by createTime desc":                  "by_create_time",
		"attr.x = 'nothing'":                        "by_value",
	} {
		q, err := query.Parse(text)
		require.NoError(t, err)
		plan := explain(t, d, q)
		require.NotContains(t, plan, "SCAN s", text)
		require.Contains(t, plan, index, text)
	}
}

func explain(t *testing.T, d *database, q *query.Query) (plan string) {
	t.Helper()
	s := d.statement(t.Context())
	s.add("EXPLAIN QUERY PLAN ")
	part := segment{}
	if q.Order != nil {
		part = segment{column: columns[q.Order.Field.Name], desc: q.Order.Desc}
	}
	part.write(s, scope{namespace: "default", query: q}, Position{})
	rows, err := d.reader.QueryContext(t.Context(), s.sql.String(), s.args...)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		plan += detail + "\n"
	}
	require.NoError(t, rows.Err())
	return plan
}

// TestOpenDatabaseRefuses: the file belongs to another version or installation, or is damaged.
func TestOpenDatabaseRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := openDatabase(t.Context(), dir, "one", true)
	require.NoError(t, err)
	require.NoError(t, d.close())
	_, err = openDatabase(t.Context(), dir, "two", true)
	require.ErrorIs(t, err, errOther)
	d, err = openDatabase(t.Context(), dir, "one", true)
	require.NoError(t, err)
	_, err = d.writer.ExecContext(t.Context(), "UPDATE meta SET version = version + 1")
	require.NoError(t, err)
	require.NoError(t, d.close())
	_, err = openDatabase(t.Context(), dir, "one", true)
	require.ErrorIs(t, err, errOther)
	require.NoError(t, removeDatabase(dir))
	d, err = openDatabase(t.Context(), dir, "one", true)
	require.NoError(t, err)
	require.NoError(t, d.close())
}

// TestCursorSurvives stores how far a stream has been read.
func TestCursorSurvives(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	c, err := readCursor(t.Context(), d.writer, "3")
	require.NoError(t, err)
	require.Zero(t, c)
	at := time.Date(2026, 6, 1, 12, 0, 0, 123456789, time.UTC)
	for sequence := range uint64(2) {
		c = cursor{sequence: sequence, time: at, current: at.Truncate(time.Microsecond)}
		require.NoError(t, d.write(t.Context(), func(tx *sql.Tx) error { return writeCursor(t.Context(), tx, "3", c) }))
	}
	again, err := readCursor(t.Context(), d.writer, "3")
	require.NoError(t, err)
	require.Equal(t, c.sequence, again.sequence)
	require.True(t, c.time.Equal(again.time) && c.current.Equal(again.current) && again.stored.Equal(again.current))
}
