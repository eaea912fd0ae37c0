package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// today is before the tests begin.
var today = time.Now().Add(-time.Minute)

// after is a time after the namespace default was created.
func (in *installation) after() time.Time { return in.facts.Created.Add(time.Minute) }

// append stores the last entry of a story.
func (in *installation) append(s *search.Story) {
	in.t.Helper()
	_, err := in.js.Publish(in.t.Context(), in.journal(s.State.Key), s.Entry)
	require.NoError(in.t, err)
}

func (in *installation) journal(key execution.Key) string {
	k := schedule.Key{Namespace: key.Namespace, ID: key.WorkflowID}
	return in.names.Journal(subjects.ShardOf(k, in.facts.Shards), k)
}

// begin starts an execution.
func (in *installation) begin(namespace, id string, n int, attributes map[string]*common.Payload) *search.Story {
	in.t.Helper()
	first := in.after()
	if namespace != "default" {
		first = today
	}
	s := search.NewStory(in.t, namespace, id, search.RunIDOf(n), first.Add(time.Duration(n)*time.Second), &workflowservice.StartWorkflowExecutionRequest{
		SearchAttributes: &common.SearchAttributes{IndexedFields: attributes},
	})
	in.append(s)
	return s
}

// terminate ends an execution.
func (in *installation) terminate(s *search.Story) {
	in.t.Helper()
	s.Do(in.t, execution.Terminate{Request: &workflowservice.TerminateWorkflowExecutionRequest{}})
	in.append(s)
}

// executions returns the workflow IDs that a query finds.
func executions(ctx context.Context, index *search.Index, namespace, text string) (ids []string, err error) {
	q, err := index.ParseExecutions(ctx, namespace, text)
	if err != nil {
		return nil, err
	}
	found, _, err := index.Executions(ctx, namespace, q, search.ExecutionPosition{}, 1000)
	for _, f := range found {
		ids = append(ids, f.Info.Execution.WorkflowId)
	}
	return ids, err
}

// now asserts what a query finds at once.
func (in *installation) now(index *search.Index, text string, want ...string) {
	in.t.Helper()
	require.True(in.t, index.AwaitExecutions(in.t.Context(), patience))
	got, err := executions(in.t.Context(), index, "default", text)
	require.NoError(in.t, err, text)
	require.Equal(in.t, want, got, text)
}

// awaitExecutions waits until the index of executions is built.
func (in *installation) awaitExecutions(index *search.Index) {
	in.t.Helper()
	natstest.Eventually(in.t, patience, "the index of executions is built", func() bool {
		return index.AwaitExecutions(in.t.Context(), patience)
	})
}

// TestExecutionsShow follows executions through their life. What is stored shows at once.
func TestExecutionsShow(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	in.now(index, "")
	a := in.begin("default", "a", 1, map[string]*common.Payload{"Customer": search.Payload("Keyword", `"acme"`)})
	in.now(index, "", "a")
	in.now(index, "ExecutionStatus = 'Running' AND Customer = 'acme'", "a")
	in.begin("default", "b", 2, nil)
	in.now(index, "", "b", "a")
	a.Commands(t, func() { in.append(a) }, search.Upsert(map[string]*common.Payload{
		"Customer": search.Payload("Keyword", `"globex"`), "Paid": search.Payload("Bool", "true"),
	}))
	in.now(index, "Customer = 'acme'")
	in.now(index, "Customer = 'globex' AND Paid = true", "a")
	a.Now = a.Now.Add(time.Minute)
	a.Commands(t, func() { in.append(a) }, search.Complete())
	in.now(index, "", "b", "a")
	in.now(index, "ExecutionStatus = 'Completed' AND ExecutionDuration = '1m' AND CloseTime IS NOT NULL", "a")
	in.now(index, "WorkflowId STARTS_WITH 'a' AND HistoryLength > 5 AND StateTransitionCount = 5", "a")

	again := search.NewStory(t, "default", "a", search.RunIDOf(3), in.after(), &workflowservice.StartWorkflowExecutionRequest{})
	in.append(again)
	in.now(index, "WorkflowId = 'a'", "a", "a")
	types, err := index.AttributeTypes(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, map[string]enums.IndexedValueType{
		"Customer": enums.INDEXED_VALUE_TYPE_KEYWORD, "Paid": enums.INDEXED_VALUE_TYPE_BOOL,
	}, types)

	in.define("s", func(d *wire.Definition) {
		d.Schedule.SearchAttributes = map[string]json.RawMessage{"Tier": json.RawMessage(`"gold"`), "Paid": json.RawMessage(`"no"`)}
	}, attribute("Region", `"eu"`))
	require.True(t, index.Await(t.Context(), patience))
	types, err = index.AttributeTypes(t.Context(), "default")
	require.NoError(t, err)
	require.Equal(t, map[string]enums.IndexedValueType{
		"Customer": enums.INDEXED_VALUE_TYPE_KEYWORD, "Paid": enums.INDEXED_VALUE_TYPE_BOOL, "Tier": enums.INDEXED_VALUE_TYPE_KEYWORD,
	}, types, "that of an action is one of its workflows")
}

// TestBuildIDsShow: the build IDs of the workers that had a hand in a run are one of its search attributes, beside those that it sets.
func TestBuildIDsShow(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	a := in.begin("default", "a", 1, map[string]*common.Payload{"Customer": search.Payload("Keyword", `"acme"`)})
	b := in.begin("default", "b", 2, nil)
	for _, id := range []string{"b1", "b2", "b1"} {
		a.BuildID = id
		a.Commands(t, func() { in.append(a) })
	}
	b.BuildID = "b2"
	b.Commands(t, func() { in.append(b) })
	in.now(index, "BuildIds = 'unversioned:b1' AND Customer = 'acme'", "a")
	in.now(index, "BuildIds = 'unversioned:b2'", "b", "a")
	in.now(index, "BuildIds IN ('unversioned')", "b", "a")
	for _, s := range []*search.Story{a, b} {
		in.terminate(s)
		q, err := index.ParseExecutions(t.Context(), "default", "WorkflowId = '"+s.State.Key.WorkflowID+"'")
		require.NoError(t, err)
		found, _, err := index.Executions(t.Context(), "default", q, search.ExecutionPosition{}, 1)
		require.NoError(t, err)
		described := execution.Describe(&s.State).WorkflowExecutionInfo.SearchAttributes
		require.True(t, proto.Equal(described, found[0].Info.SearchAttributes), "%v, not %v", found[0].Info.SearchAttributes, described)
	}
}

// TestPausesShow: a run is found by the types of its paused activities, as long as they are paused.
func TestPausesShow(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	a := in.begin("default", "a", 1, map[string]*common.Payload{"Customer": search.Payload("Keyword", `"acme"`)})
	in.begin("default", "b", 2, nil)
	a.Commands(t, func() { in.append(a) }, search.Activity("1", "bill"), search.Activity("2", "ship"))
	for _, kind := range []string{"ship", "bill"} {
		a.Do(t, execution.PauseActivity{Request: &workflowservice.PauseActivityRequest{Activity: &workflowservice.PauseActivityRequest_Type{Type: kind}}})
		in.append(a)
	}
	in.now(index, "TemporalPauseInfo = 'property:activityType=bill' AND Customer = 'acme'", "a")
	a.Do(t, execution.UnpauseActivity{Request: &workflowservice.UnpauseActivityRequest{Activity: &workflowservice.UnpauseActivityRequest_Id{Id: "1"}}})
	in.append(a)
	in.now(index, "TemporalPauseInfo = 'property:activityType=bill'")
	in.now(index, "PauseInfo = 'property:activityType=ship'", "a")
	in.now(index, "TemporalPauseInfo IS NULL", "b")
	a.Do(t, execution.UnpauseActivity{Request: &workflowservice.UnpauseActivityRequest{Activity: &workflowservice.UnpauseActivityRequest_UnpauseAll{UnpauseAll: true}}})
	in.append(a)
	in.now(index, "TemporalPauseInfo IS NOT NULL")
}

// TestResetsShow: the new run begins with the search attributes of the point that it goes on from.
func TestResetsShow(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	a := in.begin("default", "a", 1, map[string]*common.Payload{"Customer": search.Payload("Keyword", `"acme"`)})
	for _, customer := range []string{`"globex"`, `"initech"`} {
		a.Commands(t, func() { in.append(a) }, search.Upsert(map[string]*common.Payload{"Customer": search.Payload("Keyword", customer)}))
	}
	a.Now = a.Now.Add(time.Minute)
	a.Reset(t, a.State.Run.LastStarted+1)
	in.append(a)
	in.now(index, "WorkflowId = 'a'", "a", "a")
	in.now(index, "Customer = 'initech' AND ExecutionStatus = 'Terminated'", "a")
	in.now(index, "Customer = 'globex' AND ExecutionStatus = 'Running' AND HistoryLength = "+fmt.Sprint(a.State.Run.NextEvent-1), "a")
	in.now(index, fmt.Sprintf("HistorySizeBytes = %d AND StartTime = '%s'", a.State.Run.Bytes, a.Now.UTC().Format(time.RFC3339Nano)), "a")
}

// TestExecutionsAreThereAtOnce stores 200 changes, each by itself, and looks for each at once, also if many look at the same time.
func TestExecutionsAreThereAtOnce(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	for i := range 100 {
		id := fmt.Sprint("w", i)
		s := in.begin("default", id, i, nil)
		in.now(index, fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Running'", id), id)
		in.terminate(s)
		var waiting sync.WaitGroup
		for range 1 + i%3 {
			waiting.Go(func() {
				assert.True(t, index.AwaitExecutions(t.Context(), patience))
				ids, err := executions(t.Context(), index, "default", fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'Terminated'", id))
				assert.NoError(t, err)
				assert.Equal(t, []string{id}, ids)
			})
		}
		waiting.Wait()
	}
	counts, _, err := index.CountExecutions(t.Context(), "default", &query.Query{})
	require.NoError(t, err)
	require.Equal(t, search.Count{Total: 100}, counts)
}

// TestExecutionsOfPurgedStreams: the last messages of a stream are gone, so nobody can read up to its end.
func TestExecutionsOfPurgedStreams(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	in.begin("default", "kept", 1, nil)
	in.now(index, "", "kept")
	gone := in.begin("default", "gone", 2, nil)
	for shard := range in.facts.Shards {
		stream, err := in.js.Stream(t.Context(), in.names.JournalStream(shard))
		require.NoError(t, err)
		require.NoError(t, stream.Purge(t.Context(), jetstream.WithPurgeSubject(in.journal(gone.State.Key))))
	}
	in.now(index, "", "kept")
	in.now(index, "", "kept")
	in.begin("default", "new", 3, nil)
	in.now(index, "", "new", "kept")
}

// TestExecutionsWithoutLeader: nobody answers for a stream. Queries are told that, and answered.
func TestExecutionsWithoutLeader(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.begin("default", "a", 1, nil)
	index := in.seldom()
	in.awaitExecutions(index)
	require.NoError(t, in.js.DeleteStream(t.Context(), in.names.JournalStream(0)))
	require.False(t, index.AwaitExecutions(t.Context(), patience))
	ids, err := executions(t.Context(), index, "default", "")
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, ids)
}

// TestExecutionsAfterARestart: an index that is kept goes on where it was, and one that is lost is built again.
func TestExecutionsAfterARestart(t *testing.T) {
	t.Parallel()
	s := newOnDisk(t)
	a := s.begin("default", "a", 1, nil)
	first, stop, _ := s.start(t)
	s.awaitExecutions(first)
	s.now(first, "", "a")
	stop()
	s.terminate(a)
	s.begin("default", "b", 2, nil)
	second, stop, log := s.start(t)
	s.awaitExecutions(second)
	s.now(second, "", "b", "a")
	s.now(second, "ExecutionStatus = 'Terminated' AND StateTransitionCount = 2", "a")
	assert.NotContains(t, log.String(), anew)
	stop()
	other := *s
	other.dir = t.TempDir()
	third, _, _ := other.start(t)
	s.awaitExecutions(third)
	s.now(third, "ExecutionStatus = 'Terminated' AND StateTransitionCount = 2", "a")
}

// TestExecutionsGoWithTheirNamespace deletes a namespace, and creates it again.
func TestExecutionsGoWithTheirNamespace(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	records := namespaces.NewRecords(kv.NewCluster(in.js, in.names))
	require.NoError(t, records.Put(t.Context(), schedule.Namespace{Name: "team", CreateTime: today.Add(-time.Hour)}, 0))
	find := func() []string {
		require.True(t, index.AwaitExecutions(t.Context(), patience))
		ids, err := executions(t.Context(), index, "team", "")
		require.NoError(t, err)
		return ids
	}
	in.begin("default", "other", 1, nil)
	in.begin("team", "old", 2, map[string]*common.Payload{"x": search.Payload("Keyword", `"y"`)})
	require.Equal(t, []string{"old"}, find())
	record, err := records.Get(t.Context(), "team")
	require.NoError(t, err)
	require.NoError(t, records.Delete(t.Context(), "team", record.Revision))
	require.Empty(t, find())
	types, err := index.AttributeTypes(t.Context(), "team")
	require.NoError(t, err)
	require.Empty(t, types)
	in.begin("team", "late", 3, nil) // what is left of the namespace before
	require.Empty(t, find())

	created := today.Add(time.Hour)
	require.NoError(t, records.Put(t.Context(), schedule.Namespace{Name: "team", CreateTime: created}, 0))
	s := search.NewStory(t, "team", "new", search.RunIDOf(4), created, &workflowservice.StartWorkflowExecutionRequest{})
	in.append(s)
	require.Equal(t, []string{"new"}, find())
	in.now(index, "", "other")
}

// TestGarbageInJournals is passed over.
func TestGarbageInJournals(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	_, err := in.js.Publish(t.Context(), in.journal(execution.Key{Namespace: "default", WorkflowID: "x"}), []byte("?"))
	require.NoError(t, err)
	s := in.begin("default", "a", 1, nil)
	in.now(index, "", "a")
	q, err := query.ParseExecutions("ExecutionStatus = 'Runing'", nil)
	require.Nil(t, q)
	var refused *query.Error
	require.True(t, errors.As(err, &refused))
	in.terminate(s)
	in.now(index, "ExecutionStatus = 'Running'")
}

// BenchmarkExecutions builds the index of many executions that have ended, and answers from it.
func BenchmarkExecutions(b *testing.B) {
	in := install(b)
	in.complete(many)
	config := in.config()
	config.Dir, config.Interval = b.TempDir(), time.Hour
	begin := time.Now()
	index, _ := run(b, config)
	natstest.Eventually(b, 5*time.Minute, "the index of executions is built", func() bool {
		_, _, err := index.CountExecutions(b.Context(), "default", &query.Query{})
		return err == nil
	})
	fmt.Printf("%d executions of 5 entries: built in %s, %d MB\n", many, time.Since(begin).Round(time.Millisecond), size(b, config.Dir)>>20)
	for _, text := range []string{
		"",
		"ExecutionStatus = 'Completed'",
		"ExecutionStatus = 'Running'",
		"WorkflowType = 'report' AND ExecutionStatus = 'Completed' AND StartTime > '2026-06-01'",
		"WorkflowId = 'w77'",
		"Customer = 'customer-77'",
		"Tier = 'gold'",
		"StartTime > '2026-06-02' ORDER BY StartTime",
		"HistoryLength > 1000",
	} {
		b.Run(text, func(b *testing.B) {
			q, err := index.ParseExecutions(b.Context(), "default", text)
			require.NoError(b, err)
			var took []time.Duration
			for b.Loop() {
				begin := time.Now()
				_, _, err := index.Executions(b.Context(), "default", q, search.ExecutionPosition{}, 100)
				require.NoError(b, err)
				took = append(took, time.Since(begin))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
	for _, text := range []string{"", "ExecutionStatus = 'Completed'", "Tier = 'gold'"} {
		b.Run("count "+text, func(b *testing.B) {
			q, err := index.ParseExecutions(b.Context(), "default", text)
			require.NoError(b, err)
			for b.Loop() {
				_, _, err := index.CountExecutions(b.Context(), "default", q)
				require.NoError(b, err)
			}
		})
	}
	b.Run("wait when idle", func(b *testing.B) {
		for b.Loop() {
			require.True(b, index.AwaitExecutions(b.Context(), patience))
		}
	})
	b.Run("wait after a start", func(b *testing.B) {
		n := many
		for b.Loop() {
			b.StopTimer()
			n++
			in.begin("default", fmt.Sprint("w", n), n, nil)
			b.StartTimer()
			require.True(b, index.AwaitExecutions(b.Context(), patience))
		}
	})
}

// complete quickly makes executions that have ended.
func (in *installation) complete(n int) {
	in.t.Helper()
	publish := func(s *search.Story) {
		_, err := in.js.PublishAsync(in.journal(s.State.Key), s.Entry)
		require.NoError(in.t, err)
	}
	for i := range n {
		s := search.NewStory(in.t, "default", fmt.Sprint("w", i), search.RunIDOf(i), in.after().Add(time.Duration(i)*time.Second),
			&workflowservice.StartWorkflowExecutionRequest{SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{
				"Customer": search.Payload("Keyword", fmt.Sprintf(`"customer-%d"`, i%5000)),
				"Tier":     search.Payload("Keyword", []string{`"gold"`, `"silver"`, `"bronze"`, `"none"`}[i%4]),
				"Amount":   search.Payload("Int", fmt.Sprint(i%1000)),
			}}})
		publish(s)
		s.Commands(in.t, func() { publish(s) })
		s.Commands(in.t, func() { publish(s) }, search.Complete())
	}
	select {
	case <-in.js.PublishAsyncComplete():
	case <-time.After(time.Minute):
		require.Fail(in.t, "the entries were not stored in time")
	}
}
