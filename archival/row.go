package archival

import (
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// row is an execution as a query sees it.
type row struct {
	*workflowpb.WorkflowExecutionInfo
}

// Values implements query.Row.
func (r row) Values(field query.Field) ([]query.Value, bool) {
	if field.Source == query.Custom {
		payload, ok := r.SearchAttributes.GetIndexedFields()[field.Name]
		if !ok {
			return nil, false
		}
		return query.ValuesOf(payload.GetData())
	}
	value, present := r.of(field.Name)
	if !present {
		return nil, false
	}
	return []query.Value{value}, true
}

// of returns the value of a field that every execution has.
func (r row) of(name string) (value query.Value, present bool) {
	switch name {
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
	case query.HistoryLength:
		return query.IntOf(r.HistoryLength), true
	case query.HistorySizeBytes:
		return query.IntOf(r.HistorySizeBytes), true
	case query.StateTransitionCount:
		return query.IntOf(r.StateTransitionCount), true
	}
	text := r.text(name)
	return query.TextOf(text), text != ""
}

// text returns the text of a field; empty if it has none.
func (r row) text(name string) string {
	switch name {
	case query.WorkflowIDOf:
		return r.GetExecution().GetWorkflowId()
	case query.RunID:
		return r.GetExecution().GetRunId()
	case query.WorkflowType:
		return r.GetType().GetName()
	case query.QueueOf:
		return r.GetTaskQueue()
	case query.ParentWorkflowID:
		return r.GetParentExecution().GetWorkflowId()
	case query.ParentRunID:
		return r.GetParentExecution().GetRunId()
	case query.RootWorkflowID:
		return r.GetRootExecution().GetWorkflowId()
	case query.RootRunID:
		return r.GetRootExecution().GetRunId()
	}
	return ""
}
