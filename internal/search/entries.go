package search

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
)

// entryWriter brings entries of journals into the database, within a transaction. It has each run once, and writes it when it is flushed.
type entryWriter struct {
	ctx context.Context
	tx  *sql.Tx
	*journals
	runs map[runKey]*run
	// order has the runs in the order in which they came.
	order []*run
}

type runKey struct{ namespace, runID string }

// run is a run as the database has it, with the changes so far.
type run struct {
	namespace string
	// number is that of its row; zero for a new run.
	number   int64
	sequence uint64
	// info has what there is to say about the run. What has a column is right only there, until the run is written.
	info *workflow.WorkflowExecutionInfo
	// encoded is info as the database has it, while info is nil.
	encoded []byte

	status              enums.WorkflowExecutionStatus
	start, began, close time.Time
	events, bytes       int64
	transitions         int64
	// removed says that the run has been deleted.
	removed bool
	// set says that more has changed than what grows with each entry; attributes says that search attributes have.
	set, attributes bool
}

// entry applies one entry.
func (w *entryWriter) entry(key schedule.Key, entry *execution.Entry, sequence uint64) error {
	for i := range entry.Parts {
		part := &entry.Parts[i]
		r, err := w.run(key, part)
		if err != nil {
			return err
		}
		if err := w.remove(key, part); err != nil {
			return err
		}
		if r == nil || sequence <= r.sequence {
			continue // it began before what is left of the journal, or the entry is in the row
		}
		r.sequence = sequence
		r.transitions++
		for _, event := range part.Events {
			if err := r.apply(event); err != nil {
				return err
			}
		}
		if err := r.pause(part.Paused); err != nil {
			return err
		}
	}
	return nil
}

// run returns the run of a part of an entry; nil if its beginning is not known.
func (w *entryWriter) run(key schedule.Key, part *execution.Part) (*run, error) {
	id := runKey{key.Namespace, part.RunID}
	if r, ok := w.runs[id]; ok {
		return r, nil
	}
	r, err := w.stored(id)
	if err != nil {
		return nil, err
	}
	if r == nil {
		r = w.begun(key, part)
	}
	if w.runs[id] = r; r != nil {
		w.order = append(w.order, r)
	}
	return r, nil
}

// stored reads a run; nil if there is none.
func (w *entryWriter) stored(id runKey) (*run, error) {
	r := &run{namespace: id.namespace}
	var sequence, start, began, closed int64
	err := w.tx.StmtContext(w.ctx, w.put.getExecution).QueryRowContext(w.ctx, id.namespace, id.runID).Scan(
		&r.number, &sequence, &r.status, &start, &began, &closed, &r.events, &r.bytes, &r.transitions, &r.encoded)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	r.sequence, r.start, r.began = uint64(sequence), time.UnixMicro(start), time.UnixMicro(began)
	if closed != 0 {
		r.close = time.UnixMicro(closed)
	}
	return r, err
}

// begun returns the run that begins with a part; nil if none does, or if it belongs to a namespace that is gone.
func (w *entryWriter) begun(key schedule.Key, part *execution.Part) *run {
	first := part.Begins()
	a := first.GetWorkflowExecutionStartedEventAttributes()
	if a == nil || first.GetEventTime().AsTime().Before(w.created[key.Namespace].Add(-clockDifference)) {
		return nil
	}
	own := &common.WorkflowExecution{WorkflowId: key.ID, RunId: part.RunID}
	r := &run{
		namespace: key.Namespace, status: enums.WORKFLOW_EXECUTION_STATUS_RUNNING, start: first.GetEventTime().AsTime(), set: true, attributes: true,
		info: &workflow.WorkflowExecutionInfo{
			Execution: own, Type: a.GetWorkflowType(),
			StartTime: first.GetEventTime(), Memo: a.GetMemo(), SearchAttributes: a.GetSearchAttributes(), TaskQueue: a.GetTaskQueue().GetName(),
			ParentExecution: a.GetParentWorkflowExecution(), ParentNamespaceId: a.GetParentWorkflowNamespaceId(),
			RootExecution: cmp.Or(a.GetRootWorkflowExecution(), own), FirstRunId: a.GetFirstExecutionRunId(), Priority: a.GetPriority(),
		},
	}
	r.began = r.start.Add(a.GetFirstWorkflowTaskBackoff().AsDuration())
	r.info.ExecutionTime = timestamppb.New(r.began)
	if part.Base != nil {
		r.bytes = part.Base.Bytes
	}
	return r
}

// apply adds an event to a run.
func (r *run) apply(event *history.HistoryEvent) error {
	r.events = event.GetEventId()
	r.bytes += int64(proto.Size(event))
	switch a := event.Attributes.(type) {
	case *history.HistoryEvent_WorkflowTaskCompletedEventAttributes:
		return r.addBuildID(a.WorkflowTaskCompletedEventAttributes)
	case *history.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes:
		if err := r.decode(); err != nil {
			return err
		}
		old := r.info.GetSearchAttributes().GetIndexedFields()
		changes := a.UpsertWorkflowSearchAttributesEventAttributes.GetSearchAttributes().GetIndexedFields()
		r.info.SearchAttributes = &common.SearchAttributes{IndexedFields: execution.Merged(old, changes)}
		r.set, r.attributes = true, true
	case *history.HistoryEvent_WorkflowPropertiesModifiedEventAttributes:
		if err := r.decode(); err != nil {
			return err
		}
		changes := a.WorkflowPropertiesModifiedEventAttributes.GetUpsertedMemo().GetFields()
		r.info.Memo = &common.Memo{Fields: execution.Merged(r.info.GetMemo().GetFields(), changes)}
		r.set = true
	default:
		if status, ok := execution.EndOf(event); ok {
			if err := r.decode(); err != nil {
				return err
			}
			r.status, r.close, r.set = status, event.GetEventTime().AsTime(), true
			r.began = r.info.GetExecutionTime().AsTime() // the column counts in microseconds
			r.info.CloseTime = event.GetEventTime()
		}
	}
	return nil
}

// addBuildID notes the code of a worker that has completed a workflow task.
func (r *run) addBuildID(completed *history.WorkflowTaskCompletedEventAttributes) error {
	if err := r.decode(); err != nil {
		return err
	}
	fields, changed := execution.WithBuildID(r.info.GetSearchAttributes().GetIndexedFields(), completed)
	if changed {
		r.info.SearchAttributes = &common.SearchAttributes{IndexedFields: fields}
		r.set, r.attributes = true, true
	}
	return nil
}

// pause notes what is paused now; nil stands for no change.
func (r *run) pause(info *execution.PauseInfo) error {
	if info == nil {
		return nil
	}
	if err := r.decode(); err != nil {
		return err
	}
	fields := execution.WithPauseInfo(r.info.GetSearchAttributes().GetIndexedFields(), info)
	r.info.SearchAttributes = &common.SearchAttributes{IndexedFields: fields}
	r.set, r.attributes = true, true
	return nil
}

// decode makes info of what is stored.
func (r *run) decode() error {
	if r.info != nil {
		return nil
	}
	r.info = &workflow.WorkflowExecutionInfo{}
	return proto.Unmarshal(r.encoded, r.info)
}

// remove notes that runs have been deleted. It does no harm to note it again.
func (w *entryWriter) remove(key schedule.Key, part *execution.Part) error {
	for _, runID := range part.Removed {
		r, err := w.run(key, &execution.Part{RunID: runID, First: 1})
		if err != nil {
			return err
		}
		if r != nil {
			r.removed = true
		}
	}
	return nil
}

// flush writes the runs that have changed.
func (w *entryWriter) flush() error {
	for _, r := range w.order {
		if err := w.write(r); err != nil {
			return err
		}
	}
	return nil
}

func (w *entryWriter) write(r *run) error {
	if r.removed {
		return removeExecutions(w.ctx, w.tx, "number = ?", r.number)
	}
	encoded := r.encoded
	if r.info != nil {
		var err error
		if encoded, err = proto.Marshal(r.info); err != nil {
			return err
		}
	}
	closed, duration := sqlTime(r.close), any(nil)
	if !r.close.IsZero() {
		duration = int64(r.close.Sub(r.began))
	}
	var err error
	switch {
	case r.number == 0:
		parent, root := r.info.GetParentExecution(), r.info.GetRootExecution()
		err = w.tx.StmtContext(w.ctx, w.put.newExecution).QueryRowContext(w.ctx,
			r.namespace, r.info.Execution.WorkflowId, r.info.Execution.RunId, int64(r.sequence), r.info.GetType().GetName(), r.info.TaskQueue,
			int64(r.status), sqlTime(r.start), sqlTime(r.began), closed, duration, r.events, r.bytes, r.transitions,
			sqlText(parent.GetWorkflowId()), sqlText(parent.GetRunId()), sqlText(root.GetWorkflowId()), sqlText(root.GetRunId()), encoded,
		).Scan(&r.number)
	default:
		_, err = w.tx.StmtContext(w.ctx, w.put.growExecution).ExecContext(w.ctx, int64(r.sequence), r.events, r.bytes, r.transitions, r.number)
		if err == nil && r.set {
			_, err = w.tx.StmtContext(w.ctx, w.put.setExecution).ExecContext(w.ctx, int64(r.status), closed, duration, encoded, r.number)
		}
	}
	if err == nil && r.attributes {
		err = w.attributes(r)
	}
	return err
}
