package execution

import (
	"fmt"
	"maps"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	updatepb "go.temporal.io/api/update/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Reset begins a new run with the first events of a run, and ends the run in progress. The code of the workflow decides anew from there on. What came
// from outside after that point is applied again, as far as the request says. The reply is a *workflowservice.ResetWorkflowExecutionResponse. A
// repeat of the request begins nothing. The error is InvalidArgument if no run can go on from the event that the request names.
type Reset struct {
	Request *workflowservice.ResetWorkflowExecutionRequest
	// Base is the run that the request names, as it is now or was at its end. It may be the newest run. Events are its events, all of them.
	Base   *Run
	Events []*historypb.HistoryEvent
	// Later are the runs that have continued the base as new, the oldest first. They end with a run that was not continued as new, or with the last
	// one that is left.
	Later []LaterRun
}

// LaterRun is a run that has continued another one as new, with all its events.
type LaterRun struct {
	RunID  string
	Events []*historypb.HistoryEvent
}

// Next returns the ID of the run that belongs into Later after those that are there; empty if none does.
func (in Reset) Next() string {
	events := in.Events
	if len(in.Later) > 0 {
		events = in.Later[len(in.Later)-1].Events
	}
	if len(events) == 0 {
		return ""
	}
	return events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
}

func (Reset) cause() string { return "reset" }

// resetter is the identity of what ends a run because of a reset.
const resetter = "history-resetter"

func (in Reset) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	if tx.run == nil || in.Base == nil {
		return nil, notFound(tx.before.Key.WorkflowID)
	}
	if done := tx.run.resetBy(request.GetRequestId()); done != "" {
		return &workflowservice.ResetWorkflowExecutionResponse{RunId: done}, nil
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	base := &Base{Stretches: in.Base.stretches(request.GetWorkflowTaskFinishEventId() - 1)}
	base.Events = in.Events[:base.through()]
	again := in.again(tx.endForReset(in, base))
	if err := tx.beginAgain(in, base); err != nil {
		return nil, err
	}
	tx.applyAgain(again, in.excluded())
	tx.afterReset(request.GetPostResetOperations())
	tx.scheduleTask()
	return &workflowservice.ResetWorkflowExecutionResponse{RunId: tx.run.ID}, nil
}

// maxResets is how many requests for a reset are remembered.
const maxResets = 8

// ResetRecord is a reset that was carried out: its request, and the run that it began. In an entry and in a state.
type ResetRecord struct {
	Request string `json:"request"`
	RunID   string `json:"runId"`
}

// resetBy returns the run that a request has begun by a reset, if that is remembered; empty otherwise.
func (r *Run) resetBy(request string) string {
	for _, done := range r.Resets {
		if done.Request == request {
			return done.RunID
		}
	}
	return ""
}

// runID is the ID of the run that follows on a run by the reset.
func (in Reset) runID(newest *Run) string {
	return derivedID("reset by "+in.Request.GetRequestId(), newest.ID)
}

// sameChain reports whether two runs have followed on the same first one.
func (r *Run) sameChain(other *Run) bool {
	return r.Attributes.GetFirstExecutionRunId() == other.Attributes.GetFirstExecutionRunId()
}

// check refuses what no reset can do.
func (in Reset) check() error {
	id, last := in.Request.GetWorkflowTaskFinishEventId(), in.Base.NextEvent-1
	if id < 2 || id > last {
		return serviceerror.NewInvalidArgument(fmt.Sprintf(
			"WorkflowTaskFinishEventId is %d: it must be > 1 and <= %d, the last event of run %s.", id, last, in.Base.ID))
	}
	if int64(len(in.Events)) != last {
		return serviceerror.NewDataLoss(fmt.Sprintf("the journal has %d of %d events of run %s", len(in.Events), last, in.Base.ID))
	}
	return checkPostReset(in.Request.GetPostResetOperations())
}

func checkPostReset(operations []*workflowpb.PostResetOperation) error {
	for _, operation := range operations {
		switch of := operation.GetVariant().(type) {
		case *workflowpb.PostResetOperation_SignalWorkflow_:
			if of.SignalWorkflow.GetSignalName() == "" {
				return serviceerror.NewInvalidArgument("PostResetOperations: SignalName is not set on SignalWorkflow.")
			}
		case *workflowpb.PostResetOperation_UpdateWorkflowOptions_:
			return serviceerror.NewUnimplemented("PostResetOperations: UpdateWorkflowOptions is not implemented; SignalWorkflow is")
		default:
			return serviceerror.NewInvalidArgument(fmt.Sprintf("PostResetOperations: %T is not supported; SignalWorkflow is", of))
		}
	}
	return nil
}

type exclusions map[enumspb.ResetReapplyExcludeType]bool

// excluded are the kinds of events that are not applied again. Requests to cancel never are.
func (in Reset) excluded() exclusions {
	all := exclusions{}
	//lint:ignore SA1019 clients still send it
	switch in.Request.GetResetReapplyType() {
	case enumspb.RESET_REAPPLY_TYPE_SIGNAL:
		all[enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE] = true
	case enumspb.RESET_REAPPLY_TYPE_NONE:
		all[enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL], all[enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE] = true, true
	}
	for _, kind := range in.Request.GetResetReapplyExcludeTypes() {
		all[kind] = true
	}
	return all
}

// reapply is what may be applied again.
type reapply struct {
	// ofBase are events of the base, and all are those and the ones of the runs that continued it.
	ofBase, all []*historypb.HistoryEvent
	// waiting are updates that the code has not accepted.
	waiting []*updatepb.Request
}

// endingByReset is what the run in progress had to say when the reset ended it.
type endingByReset struct {
	runID   string
	events  []*historypb.HistoryEvent
	waiting []*updatepb.Request
}

// again collects what may be applied again: what the base has after the point, and the runs that continued it as new. The run that the reset ends is
// among them, or else has nothing to say.
func (in Reset) again(ended endingByReset) reapply {
	of := reapply{ofBase: in.Events[in.Request.GetWorkflowTaskFinishEventId()-1:]}
	if ended.runID == in.Base.ID {
		of.ofBase = slices.Concat(of.ofBase, ended.events)
	}
	of.all = of.ofBase
	for _, later := range in.Later {
		of.all = slices.Concat(of.all, later.Events)
	}
	last := in.Base.ID
	if len(in.Later) > 0 {
		last = in.Later[len(in.Later)-1].RunID
	}
	if ended.runID == last {
		of.waiting = ended.waiting
		if ended.runID != in.Base.ID {
			of.all = slices.Concat(of.all, ended.events)
		}
	}
	return of
}

// endForReset ends the run in progress, if there is one. Its children go over to the new run as far as that knows them; the others are treated as
// those of any run that ends.
func (tx *transition) endForReset(in Reset, base *Base) (ended endingByReset) {
	r := tx.run
	if !r.Open() {
		return ended
	}
	ended.runID = r.ID
	for _, update := range r.waiting() {
		if !update.Recorded {
			ended.waiting = append(ended.waiting, update.Request)
		}
	}
	before := len(tx.part.Events)
	tx.closeTask()
	tx.write(&historypb.WorkflowExecutionTerminatedEventAttributes{Reason: in.Request.GetReason(), Identity: resetter})
	ended.events = tx.part.Events[before:]
	if r.ID == in.Base.ID {
		tx.part.ResetRun = in.runID(r)
	}
	r.handOver(base)
	return ended
}

// handOver takes the children from a run that ends which the run that begins with a base has too.
func (r *Run) handOver(base *Base) {
	next := Run{Stretches: base.Stretches}
	maps.DeleteFunc(r.Children, func(event int64, _ Child) bool {
		return event <= base.through() && next.wrote(r.Author(event).RunID, event)
	})
}

// beginAgain begins the new run, up to the failure of the workflow task that the reset undoes. The error is InvalidArgument if there is no such task.
func (tx *transition) beginAgain(in Reset, base *Base) error {
	request, before := in.Request, tx.run
	var callback []byte
	if ended := tx.before.Run; ended.Open() && ended.sameChain(in.Base) {
		// Whoever waits for the end of the chain goes on waiting.
		callback, tx.continues = before.Callback, true
	}
	tx.open(newRun(in.runID(before)))
	r, part := tx.run, tx.part
	if err := r.takeOver(base, tx.now); err != nil {
		return err
	}
	tx.carry(before)
	r.Needs = append(r.Needs, Need{From: base.Stretches[0].First})
	r.Callback, part.Needs = callback, r.Needs
	r.StartRequest, part.StartRequest = in.Base.StartRequest, in.Base.StartRequest
	tx.noteReset(request.GetRequestId())
	base.Bytes, base.Start = r.Bytes, r.startOfReset(base.Events[0], tx.now)
	part.Base = base
	if r.Task.Scheduled == 0 {
		return errNoTask(request.GetWorkflowTaskFinishEventId())
	}
	tx.failForReset(request.GetReason(), in.Base.ID)
	return nil
}

func errNoTask(id int64) error {
	return serviceerror.NewInvalidArgument(fmt.Sprintf("WorkflowTaskFinishEventId is %d: a run can only be reset to the event that completes, fails or "+
		"times out a workflow task, or to another one after that task is scheduled: the range is [WorkflowTaskScheduled + 1, WorkflowTaskStarted + 1].", id))
}

// noteReset remembers the request that has begun the newest run.
func (tx *transition) noteReset(request string) {
	all := append(slices.Clip(tx.run.Resets), ResetRecord{request, tx.run.ID})
	tx.run.Resets = all[max(len(all)-maxResets, 0):]
	tx.part.Resets = tx.run.Resets
}

// failForReset fails the workflow task that the reset undoes. No worker gets it.
func (tx *transition) failForReset(reason, baseRunID string) {
	if tx.run.Task.Started == 0 {
		tx.startTask(poll{identity: "history-service"})
	}
	r := tx.run
	tx.write(&historypb.WorkflowTaskFailedEventAttributes{
		ScheduledEventId: r.Task.Scheduled, StartedEventId: r.Task.Started, Cause: enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW,
		Failure: &failurepb.Failure{Message: reason, FailureInfo: &failurepb.Failure_ResetWorkflowFailureInfo{
			ResetWorkflowFailureInfo: &failurepb.ResetWorkflowFailureInfo{},
		}},
		Identity: "history-service", BaseRunId: baseRunID, NewRunId: r.ID,
	})
	tx.setTask(WorkflowTask{Attempt: 1})
}

// applyAgain applies what came after the point of the reset.
func (tx *transition) applyAgain(again reapply, excluded exclusions) {
	for _, event := range again.ofBase {
		tx.outcomeAgain(event)
	}
	for _, event := range again.all {
		tx.arriveAgain(event, excluded)
	}
	for _, update := range again.waiting {
		if _, known := tx.run.Updates[update.GetMeta().GetUpdateId()]; !known && !excluded[enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE] {
			tx.run.admit(update)
			tx.part.Admitted = append(tx.part.Admitted, update)
		}
	}
}

// arriveAgain applies a signal or an update again, unless the run knows it.
func (tx *transition) arriveAgain(event *historypb.HistoryEvent, excluded exclusions) {
	switch a := event.Attributes.(type) {
	case *historypb.HistoryEvent_WorkflowExecutionSignaledEventAttributes:
		id := a.WorkflowExecutionSignaledEventAttributes.GetRequestId()
		if excluded[enumspb.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL] || id != "" && tx.run.Requests.has(id) {
			return
		}
		tx.accept(id)
		tx.writeAgain(proto.CloneOf(event))
	case *historypb.HistoryEvent_WorkflowExecutionUpdateAdmittedEventAttributes:
		tx.admitAgain(a.WorkflowExecutionUpdateAdmittedEventAttributes.GetRequest(), excluded)
	case *historypb.HistoryEvent_WorkflowExecutionUpdateAcceptedEventAttributes:
		tx.admitAgain(a.WorkflowExecutionUpdateAcceptedEventAttributes.GetAcceptedRequest(), excluded)
	}
}

// admitAgain admits an update by an event, so that the code gets it with the history. request is nil if another event has it.
func (tx *transition) admitAgain(request *updatepb.Request, excluded exclusions) {
	_, known := tx.run.Updates[request.GetMeta().GetUpdateId()]
	if request == nil || known || excluded[enumspb.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE] {
		return
	}
	tx.write(&historypb.WorkflowExecutionUpdateAdmittedEventAttributes{Request: request, Origin: enumspb.UPDATE_ADMITTED_EVENT_ORIGIN_REAPPLY})
}

// outcomeAgain takes over what came of the children and requests to other workflows that were pending at the point of the reset.
func (tx *transition) outcomeAgain(event *historypb.HistoryEvent) {
	r := tx.run
	started := event.GetChildWorkflowExecutionStartedEventAttributes().GetInitiatedEventId()
	of := max(resultOf(event), started)
	child, isChild := r.Children[of]
	_, isSent := r.Outgoing[of]
	if !isChild && !isSent || started != 0 && child.Begun {
		return
	}
	again := proto.CloneOf(event)
	setStarted(again, map[int64]int64{of: child.Started})
	tx.writeAgain(again)
}

// writeAgain adds an event that is like one of another run. The event changes.
func (tx *transition) writeAgain(event *historypb.HistoryEvent) {
	event.EventTime = timestamppb.New(tx.now)
	tx.run.effect(event)
	tx.number(event)
}

// afterReset does what the request wants done to the new run.
func (tx *transition) afterReset(operations []*workflowpb.PostResetOperation) {
	for _, operation := range operations {
		signal := operation.GetSignalWorkflow()
		event := newEvent(&historypb.WorkflowExecutionSignaledEventAttributes{
			SignalName: signal.GetSignalName(), Input: signal.GetInput(), Header: signal.GetHeader(), Identity: resetter,
		}, tx.now)
		event.Links = signal.GetLinks()
		tx.writeAgain(event)
	}
}
