package search_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// onlyDescribed are the fields of a description that an entry of a list lacks, with the reason.
var onlyDescribed = map[string]string{
	"auto_reset_points":                "they are long; entries of Temporal's lists do not have them either",
	"most_recent_worker_version_stamp": "it changes with each worker; entries of Temporal's lists do not have it either",
}

// TestEntriesSayWhatDescriptionsSay: an entry of a list has the fields that the description of the execution has, with the same values, also after
// the execution has ended. A field that Temporal adds is compared, too.
func TestEntriesSayWhatDescriptionsSay(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	s := &search.Story{State: execution.State{Key: execution.Key{Namespace: "default", WorkflowID: "w"}}, Now: in.after(), BuildID: "build"}
	fields := func(name string) map[string]*common.Payload {
		return map[string]*common.Payload{name: search.Payload("Keyword", `"x"`)}
	}
	s.Do(t, execution.Start{
		RunID:  search.RunIDOf(1),
		Parent: &execution.Parent{WorkflowID: "p", RunID: search.RunIDOf(2), Event: 5, Root: &common.WorkflowExecution{WorkflowId: "r", RunId: search.RunIDOf(3)}},
		Request: &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: "w", WorkflowType: &common.WorkflowType{Name: "report"}, TaskQueue: &taskqueue.TaskQueue{Name: "q"},
			RequestId: "start", Priority: &common.Priority{PriorityKey: 1},
			Memo: &common.Memo{Fields: fields("Note")}, SearchAttributes: &common.SearchAttributes{IndexedFields: fields("Customer")},
		},
	})
	in.append(s)
	in.requireDescribed(index, s)
	s.Commands(t, func() { in.append(s) }, search.Upsert(fields("Paid")), search.Remember(fields("More")))
	in.requireDescribed(index, s)
	s.Now = s.Now.Add(time.Minute)
	s.Commands(t, func() { in.append(s) }, search.Complete())
	in.requireDescribed(index, s)
}

// requireDescribed compares the entry of an execution with its description.
func (in *installation) requireDescribed(index *search.Index, s *search.Story) {
	in.t.Helper()
	require.True(in.t, index.AwaitExecutions(in.t.Context(), patience))
	found, _, err := index.Executions(in.t.Context(), "default", &query.Query{}, search.ExecutionPosition{}, 2)
	require.NoError(in.t, err)
	require.Len(in.t, found, 1)
	described, listed := execution.Describe(&s.State).GetWorkflowExecutionInfo().ProtoReflect(), found[0].Info.ProtoReflect()
	for i := range described.Descriptor().Fields().Len() {
		field := described.Descriptor().Fields().Get(i)
		name := string(field.Name())
		if onlyDescribed[name] != "" {
			require.False(in.t, listed.Has(field), name)
			continue
		}
		require.Equal(in.t, described.Has(field), listed.Has(field), name)
		require.True(in.t, described.Get(field).Equal(listed.Get(field)), "%s: %v described, %v listed", name, described.Get(field), listed.Get(field))
	}
}
