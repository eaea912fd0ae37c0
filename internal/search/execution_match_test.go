package search

import (
	"cmp"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/search/query/querygen"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// ledger collects entries of journals as they stand in a stream.
type ledger struct {
	names    subjects.Names
	messages []bus.Message
}

func (l *ledger) add(s *Story) {
	key := schedule.Key{Namespace: s.State.Key.Namespace, ID: s.State.Key.WorkflowID}
	l.messages = append(l.messages, bus.Message{
		Subject: l.names.Journal(0, key), Sequence: uint64(len(l.messages) + 1), Data: s.Entry,
	})
}

// write stores the entries, some at a time, and each of them twice.
func (l *ledger) write(t *testing.T, d *database, some int) {
	j := newJournals(&d.put, l.names, slog.New(slog.DiscardHandler))
	for part := range slices.Chunk(l.messages, some) {
		for range 2 {
			require.NoError(t, d.write(t.Context(), func(tx *sql.Tx) error {
				return j.apply(t.Context(), tx, &source{place: 1}, part)
			}))
		}
	}
}

// executionRow is an execution as a query sees it.
type executionRow struct {
	*workflow.WorkflowExecutionInfo
}

func (r executionRow) Values(field query.Field) ([]query.Value, bool) {
	if field.Source == query.Custom {
		payload, ok := r.SearchAttributes.GetIndexedFields()[field.Name]
		if !ok {
			return nil, false
		}
		return valuesOf(payload)
	}
	value, present := r.builtIn(field.Name)
	if !present {
		return nil, false
	}
	return []query.Value{value}, true
}

func (r executionRow) builtIn(name string) (query.Value, bool) {
	optional := func(text string) (query.Value, bool) { return query.TextOf(text), text != "" }
	switch name {
	case query.WorkflowIDOf:
		return query.TextOf(r.Execution.WorkflowId), true
	case query.RunID:
		return query.TextOf(r.Execution.RunId), true
	case query.WorkflowType:
		return query.TextOf(r.Type.Name), true
	case query.ExecutionStatus:
		return query.IntOf(int64(r.Status)), true
	case query.StartTime:
		return query.TimeOf(r.StartTime.AsTime()), true
	case query.ExecutionTime:
		return query.TimeOf(r.ExecutionTime.AsTime()), true
	case query.CloseTime:
		return query.TimeOf(r.CloseTime.AsTime()), r.CloseTime != nil
	case query.ExecutionDuration:
		return query.IntOf(int64(r.ExecutionDuration.AsDuration())), r.CloseTime != nil
	case query.QueueOf:
		return query.TextOf(r.TaskQueue), true
	case query.HistoryLength:
		return query.IntOf(r.HistoryLength), true
	case query.HistorySizeBytes:
		return query.IntOf(r.HistorySizeBytes), true
	case query.StateTransitionCount:
		return query.IntOf(r.StateTransitionCount), true
	case query.ParentWorkflowID:
		return optional(r.ParentExecution.GetWorkflowId())
	case query.ParentRunID:
		return optional(r.ParentExecution.GetRunId())
	case query.RootWorkflowID:
		return optional(r.RootExecution.GetWorkflowId())
	case query.RootRunID:
		return optional(r.RootExecution.GetRunId())
	}
	panic(name)
}

// executionWorld makes random executions, and what is known about each in the end.
func executionWorld(t require.TestingT, random *rand.Rand, l *ledger, n int) (all []executionRow) {
	for i := range n {
		request := &workflowservice.StartWorkflowExecutionRequest{
			WorkflowType: &common.WorkflowType{Name: "t" + strings.ToValidUTF8(pick(random, querygen.Texts), "?")}, TaskQueue: &taskqueue.TaskQueue{Name: "t" + strings.ToValidUTF8(pick(random, querygen.Texts), "?")},
			Memo: &common.Memo{Fields: map[string]*common.Payload{"note": Payload("", `"hello"`)}}, SearchAttributes: attributesFor(random),
		}
		if random.IntN(4) == 0 {
			request.WorkflowStartDelay = durationpb.New(time.Minute)
		}
		id := fmt.Sprintf("%s-%03d", plainText(random), i)
		s := NewStory(t, "default", id, RunIDOf(random.IntN(1e9)), pick(random, querygen.Times[:3]).Add(time.Duration(random.IntN(3))), request)
		l.add(s)
		transitions := int64(1)
		each := func() { l.add(s); transitions++ }
		for range random.IntN(3) {
			if s.State.Run.Task.Scheduled == 0 || !s.State.Run.Open() {
				break
			}
			s.Now = s.Now.Add(time.Duration(random.IntN(3)) * time.Second)
			commands := []*command.Command{Upsert(attributesFor(random).IndexedFields), Remember(map[string]*common.Payload{"note": Payload("", `"bye"`)})}
			if random.IntN(3) == 0 {
				commands = append(commands, Complete())
			}
			s.Commands(t, each, commands...)
		}
		if s.State.Run.Open() && random.IntN(3) == 0 {
			s.Do(t, execution.Terminate{Request: &workflowservice.TerminateWorkflowExecutionRequest{}})
			each()
		}
		info := s.Info()
		info.StateTransitionCount = transitions
		all = append(all, executionRow{info})
	}
	return all
}

func attributesFor(random *rand.Rand) *common.SearchAttributes {
	all := map[string]*common.Payload{"always": Payload("Keyword", `"x"`)}
	types := []string{"", "Keyword", "Text", "KeywordList", "Int", "Double", "Bool", "Datetime"}
	for _, name := range querygen.Names {
		if random.IntN(3) > 0 {
			all[name] = Payload(pick(random, types), value(random, 1))
		}
	}
	return &common.SearchAttributes{IndexedFields: all}
}

// TestAnswersAboutExecutionsAreThoseOfTheLanguage compares what SQL finds, page by page, with the result of the query for each execution.
func TestAnswersAboutExecutionsAreThoseOfTheLanguage(t *testing.T) {
	t.Parallel()
	d, random, l := newDatabase(t), rand.New(rand.NewPCG(1, 2)), &ledger{names: subjects.Default()}
	all := executionWorld(t, random, l, 60)
	l.add(NewStory(t, "other", "w", RunIDOf(1e9), time.Now(), &workflowservice.StartWorkflowExecutionRequest{}))
	l.write(t, d, 7)
	rapid.Check(t, func(t *rapid.T) {
		q := querygen.Executions().Draw(t, "query")
		size := rapid.SampledFrom([]int{3, 20, 1000}).Draw(t, "size")
		d.few = rapid.SampledFrom([]int{0, 10, 1000}).Draw(t, "few")
		want := expectedExecutions(all, q)
		found := executionPages(t, d, q, size)
		require.Equal(t, runIDs(want), foundIDs(found), q.String())
		count, err := d.count(t.Context(), "default", &query.Query{Where: q.Where})
		require.NoError(t, err, q.String())
		require.EqualValues(t, len(want), count.Total, q.String())
		for i := range found {
			require.True(t, proto.Equal(want[i].WorkflowExecutionInfo, found[i].Info), "%v\n%v", want[i], found[i].Info)
		}
	})
}

func executionPages(t *rapid.T, d *database, q *query.Query, size int) (all []FoundExecution) {
	var after ExecutionPosition
	for {
		found, err := d.executions(t.Context(), "default", q, after, size)
		require.NoError(t, err)
		all = append(all, found...)
		if len(found) < size {
			return all
		}
		after = found[size-1].ExecutionPosition
	}
}

func runIDs(all []executionRow) (ids []string) {
	for _, r := range all {
		ids = append(ids, r.Execution.RunId)
	}
	return ids
}

func foundIDs(all []FoundExecution) (ids []string) {
	for _, f := range all {
		ids = append(ids, f.Info.Execution.RunId)
	}
	return ids
}

// expectedExecutions is the naive answer.
func expectedExecutions(all []executionRow, q *query.Query) (found []executionRow) {
	for _, r := range all {
		if q.Matches(r) {
			found = append(found, r)
		}
	}
	slices.SortFunc(found, func(a, b executionRow) int {
		if q.Order == nil {
			return usualOrder(a, b)
		}
		compare := func(a, b executionRow, order *query.Order) (int, int) { return compareExecutions(a, b, order.Field) }
		if q.Order.Field.Source == query.Custom {
			compare = compareAttributes
		}
		order, missing := compare(a, b, q.Order)
		order = cmp.Or(order, cmp.Compare(a.Execution.RunId, b.Execution.RunId))
		if q.Order.Desc {
			order = -order
		}
		return cmp.Or(missing, order)
	})
	return found
}

// compareAttributes compares the least values of a type.
func compareAttributes(a, b executionRow, order *query.Order) (int, int) {
	left, noLeft := leastValue(a, order)
	right, noRight := leastValue(b, order)
	if noLeft || noRight {
		return 0, cmp.Compare(number(noLeft), number(noRight))
	}
	return cmp.Or(-number(isLess(left, right)), number(isLess(right, left))), 0
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// leastValue returns the least value of the type of an order.
func leastValue(r executionRow, order *query.Order) (least query.Value, missing bool) {
	missing = true
	values, _ := r.Values(order.Field)
	for _, v := range values {
		if classOf(v) == string(order.Kind) && (missing || isLess(v, least)) {
			least, missing = v, false
		}
	}
	return least, missing
}

// isLess compares two values by a query, as a row that has only one of them.
func isLess(a, b query.Value) bool {
	if a.Kind == query.Boolean {
		return !a.Bool && b.Bool
	}
	return (&query.Query{Where: query.Compare{Op: query.Less, Value: b}}).Matches(oneValue(a))
}

type oneValue query.Value

func (v oneValue) Values(query.Field) ([]query.Value, bool) {
	return []query.Value{query.Value(v)}, true
}

func usualOrder(a, b executionRow) int {
	if (a.CloseTime == nil) != (b.CloseTime == nil) {
		if a.CloseTime == nil {
			return -1
		}
		return 1
	}
	micros := func(t time.Time) int64 { return t.UnixMicro() }
	return -cmp.Or(
		cmp.Compare(micros(a.CloseTime.AsTime()), micros(b.CloseTime.AsTime())),
		cmp.Compare(micros(a.StartTime.AsTime()), micros(b.StartTime.AsTime())),
		cmp.Compare(a.Execution.RunId, b.Execution.RunId),
	)
}

func compareExecutions(a, b executionRow, field query.Field) (order, missing int) {
	left, right := query.IsNull{Field: field}, query.IsNull{Field: field}
	noLeft, noRight := (&query.Query{Where: left}).Matches(a), (&query.Query{Where: right}).Matches(b)
	switch {
	case noLeft && noRight:
		return 0, 0
	case noLeft:
		return 0, 1
	case noRight:
		return 0, -1
	}
	values, _ := b.Values(field)
	less := &query.Query{Where: query.Compare{Field: field, Op: query.Less, Value: values[0]}}
	equal := &query.Query{Where: query.Compare{Field: field, Op: query.Equal, Value: values[0]}}
	switch {
	case equal.Matches(a):
		return 0, 0
	case less.Matches(a):
		return -1, 0
	}
	return 1, 0
}

// TestCountsAddUp compares counts by each field with those of the executions themselves.
func TestCountsAddUp(t *testing.T) {
	t.Parallel()
	d, random, l := newDatabase(t), rand.New(rand.NewPCG(3, 4)), &ledger{names: subjects.Default()}
	all := executionWorld(t, random, l, 40)
	l.write(t, d, 100)
	x := &Index{db: d, executions: newProgress(1)}
	x.executions.status.update(0, func(s *shardStatus) { s.upTo = time.Now() })
	fields := []query.Field{
		{Source: query.Execution, Name: query.ExecutionStatus}, {Source: query.Execution, Name: query.WorkflowType}, {Source: query.Custom, Name: "always"},
	}
	for _, name := range querygen.Names {
		fields = append(fields, query.Field{Source: query.Custom, Name: name})
	}
	holds := query.Not{Expr: query.Compare{Field: fields[1], Op: query.Equal, Value: query.TextOf("no such type")}}
	for _, where := range []query.Expr{nil, holds} {
		for _, field := range fields {
			count, _, err := x.CountExecutions(t.Context(), "default", &query.Query{Where: where, Group: &field})
			require.NoError(t, err)
			require.EqualValues(t, len(all), count.Total)
			got := map[query.Value]int64{}
			for i, g := range count.Groups {
				got[g.Value] = g.Count
				switch {
				case i == 0:
				case field == fields[0]:
					require.Greater(t, g.Value.Int, count.Groups[i-1].Value.Int, "a status has its place")
				default:
					require.LessOrEqual(t, g.Count, count.Groups[i-1].Count, "the largest comes first")
				}
			}
			require.Equal(t, expectedGroups(all, field), got, "%v", field)
		}
	}
	where := query.Compare{Field: fields[0], Op: query.Equal, Value: query.IntOf(1)}
	count, _, err := x.CountExecutions(t.Context(), "default", &query.Query{Where: where})
	require.NoError(t, err)
	require.Equal(t, Count{Total: expectedGroups(all, fields[0])[query.IntOf(1)]}, count)

	types, err := x.AttributeTypes(t.Context(), "default")
	require.NoError(t, err)
	assert.Equal(t, enums.INDEXED_VALUE_TYPE_KEYWORD, types["always"])
	assert.Len(t, types, 1+len(querygen.Names))
	types, err = x.AttributeTypes(t.Context(), "other")
	require.NoError(t, err)
	assert.Empty(t, types)
}

// expectedGroups is the naive count. A string that says a time is one value, and equal numbers are one.
func expectedGroups(all []executionRow, field query.Field) map[query.Value]int64 {
	groups := map[query.Value]int64{}
	for _, r := range all {
		values, _ := r.Values(field)
		own := map[query.Value]bool{}
		for _, v := range values {
			if v.Kind != query.Time {
				own[v] = true
			}
		}
		if len(own) == 0 {
			own[query.Value{}] = true
		}
		for v := range own {
			groups[v]++
		}
	}
	return groups
}

// TestValuesOfText: a text has its words, and they equal words in small letters.
func TestValuesOfText(t *testing.T) {
	t.Parallel()
	values, present := valuesOf(Payload("Text", `"Hello, world 2"`))
	require.True(t, present)
	require.Equal(t, []query.Value{
		query.TextOf("Hello, world 2"), query.TextOf("Hello"), query.TextOf("world"), query.TextOf("2"),
		query.TextOf("hello"), query.TextOf("world"), query.TextOf("2"),
	}, values)
}
