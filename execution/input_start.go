package execution

import (
	"cmp"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

const (
	// defaultTaskTimeout is how long a worker may take for a workflow task, if the start does not say.
	defaultTaskTimeout = 10 * time.Second
	// longestTaskTimeout bounds what a start may say.
	longestTaskTimeout = 2 * time.Minute
	// soonestTermination is how old a run must be before a start may replace it: a client in a loop must not end runs faster than they begin.
	soonestTermination = time.Second
)

// Start asks for a new run. The reply is a *workflowservice.StartWorkflowExecutionResponse; if whoever asks is a worker that can begin at once, it has
// the first task, which lacks its history: see [Decision.History]. Whether a run may begin depends on the policies of the request if there is another
// run of the workflow ID. The error is WorkflowExecutionAlreadyStarted if it may not.
type Start struct {
	Request *workflowservice.StartWorkflowExecutionRequest
	// RunID is the ID of the run if it begins, a new UUID.
	RunID string
	// Callback says who is to be told how the run ends; nil if nobody is. It comes back in the [Ending]. A start with a callback begins one run
	// with the ID, however often and late it is repeated, as long as few other such runs began since.
	Callback []byte
	// Parent is the workflow whose child the run is; nil if it is none. It is told how the run ends, and the same goes for a repeat.
	Parent *Parent
}

func (Start) cause() string { return "start" }

func (in Start) decide(tx *transition) (proto.Message, error) {
	if before := tx.previous(); (in.Callback != nil || in.Parent != nil) && before != nil && slices.Contains(before.Earlier, in.RunID) {
		return &workflowservice.StartWorkflowExecutionResponse{
			RunId: in.RunID, FirstExecutionRunId: in.RunID, Started: true, Link: tx.linkTo(in.RunID),
		}, nil
	}
	begins, err := tx.start(in.Request, in.RunID, in.Parent)
	if err != nil {
		return nil, err
	}
	if begins {
		tx.run.Callback = in.Callback
	}
	if begins && tx.run.FirstTask.IsZero() {
		tx.scheduleTask()
		if in.Request.GetRequestEagerExecution() {
			tx.startTask(poll{in.Request.GetRequestId(), in.Request.GetIdentity()})
		}
	}
	runID, first := tx.run.ID, tx.run.Attributes.GetFirstExecutionRunId()
	if tx.repeats(in.Request.GetRequestId()) {
		begins = true
		if !tx.run.Deleted(first) {
			runID = first // others may have followed on it
		}
	}
	response := &workflowservice.StartWorkflowExecutionResponse{
		RunId: runID, FirstExecutionRunId: first, Started: begins, Status: tx.run.Status, Link: tx.linkTo(runID),
	}
	if tx.startedEagerly(in.Request.GetRequestId()) {
		response.EagerWorkflowTask = tx.taskInProgress("")
	}
	return response, nil
}

// linkTo returns a link to the first event of a run of the workflow ID.
func (tx *transition) linkTo(runID string) *commonpb.Link {
	key := tx.before.Key
	return &commonpb.Link{Variant: &commonpb.Link_WorkflowEvent_{WorkflowEvent: &commonpb.Link_WorkflowEvent{
		Namespace: key.Namespace, WorkflowId: key.WorkflowID, RunId: runID,
		Reference: &commonpb.Link_WorkflowEvent_EventRef{EventRef: &commonpb.Link_WorkflowEvent_EventReference{
			EventId: 1, EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
		}},
	}}}
}

// startedEagerly reports whether the worker that has asked for the run with a request has its first task. A repeat gets the same task.
func (tx *transition) startedEagerly(requestID string) bool {
	task := &tx.run.Task
	return tx.repeats(requestID) && task.Started != 0 && task.RequestID == requestID && task.Attempt == 1 && tx.run.LastStarted == 0
}

// repeats reports whether a request began the newest chain of runs.
func (tx *transition) repeats(requestID string) bool {
	return tx.run != nil && requestID != "" && tx.run.StartRequest == requestID
}

// start begins a run if the policies of the request allow it. It reports false if there is a run that the request means: because the request is
// a repeat, or because it asks for the run in progress.
func (tx *transition) start(
	request *workflowservice.StartWorkflowExecutionRequest, runID string, parent *Parent,
) (begins bool, err error) {
	if err := checkStart(request, tx.now); err != nil {
		return false, err
	}
	if tx.repeats(request.GetRequestId()) {
		return false, nil
	}
	if tx.run.Open() {
		existing, err := tx.resolveConflict(request)
		if existing || err != nil {
			return false, err
		}
	} else if err := tx.checkReuse(request.GetWorkflowIdReusePolicy()); err != nil {
		return false, err
	}
	tx.beginRun(request, runID, parent)
	return true, nil
}

// checkStart refuses what no run can have.
func checkStart(request *workflowservice.StartWorkflowExecutionRequest, now time.Time) error {
	switch {
	case request.GetWorkflowType().GetName() == "":
		return serviceerror.NewInvalidArgument("WorkflowType is not set on request.")
	case request.GetTaskQueue().GetName() == "":
		return serviceerror.NewInvalidArgument("TaskQueue is not set on request.")
	case min(request.GetWorkflowExecutionTimeout().AsDuration(), request.GetWorkflowRunTimeout().AsDuration(),
		request.GetWorkflowTaskTimeout().AsDuration(), request.GetWorkflowStartDelay().AsDuration()) < 0:
		return serviceerror.NewInvalidArgument("A timeout or delay of the request is negative.")
	case request.GetCronSchedule() != "" && request.GetWorkflowStartDelay().AsDuration() > 0:
		return serviceerror.NewInvalidArgument("CronSchedule and WorkflowStartDelay may not be used together.")
	case len(request.GetCompletionCallbacks()) > 0:
		return serviceerror.NewUnimplemented("CompletionCallbacks are not implemented")
	}
	if _, message := workflowRetryPolicy(request.GetRetryPolicy()); message != "" {
		return serviceerror.NewInvalidArgument("RetryPolicy: " + message + ".")
	}
	if message := checkPriority(request.GetPriority()); message != "" {
		return serviceerror.NewInvalidArgument("Priority: " + message + ".")
	}
	return checkCron(request.GetCronSchedule(), now)
}

// resolveConflict decides about a start while a run is in progress. It reports whether that run is what the caller gets.
func (tx *transition) resolveConflict(request *workflowservice.StartWorkflowExecutionRequest) (existing bool, err error) {
	switch conflictPolicy(request) {
	case enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING:
		return true, nil
	case enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING:
		if tx.now.Sub(tx.run.Start) < soonestTermination {
			return false, serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW,
				"Too many restarts for workflow "+tx.before.Key.WorkflowID+".")
		}
		tx.terminate("TerminateIfRunning WorkflowIdReusePolicy Policy", nil, "history-service")
		return false, nil
	}
	return false, tx.alreadyStarted("Workflow execution is already running. WorkflowId: %s, RunId: %s.")
}

// conflictPolicy is what a request says about a run in progress. Older clients say it by their policy for runs that have ended.
func conflictPolicy(request interface {
	GetWorkflowIdConflictPolicy() enumspb.WorkflowIdConflictPolicy
	GetWorkflowIdReusePolicy() enumspb.WorkflowIdReusePolicy
},
) enumspb.WorkflowIdConflictPolicy {
	//lint:ignore SA1019 clients may use it for long
	if request.GetWorkflowIdReusePolicy() == enumspb.WORKFLOW_ID_REUSE_POLICY_TERMINATE_IF_RUNNING {
		return enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	}
	return request.GetWorkflowIdConflictPolicy()
}

// checkReuse decides about a start after a run that has ended; nil means that it may begin.
func (tx *transition) checkReuse(policy enumspb.WorkflowIdReusePolicy) error {
	if tx.run == nil {
		return nil
	}
	switch policy {
	case enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE:
		return tx.alreadyStarted("Workflow execution already finished. WorkflowId: %s, RunId: %s.")
	case enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY:
		if tx.run.Status == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
			return tx.alreadyStarted("Workflow execution already finished successfully. WorkflowId: %s, RunId: %s.")
		}
	}
	return nil
}

func (tx *transition) beginRun(request *workflowservice.StartWorkflowExecutionRequest, runID string, parent *Parent) {
	attributes := tx.startedAttributes(request, runID)
	if parent != nil {
		attributes.ParentWorkflowNamespace, attributes.ParentInitiatedEventId = tx.before.Key.Namespace, parent.Event
		attributes.ParentWorkflowExecution = &commonpb.WorkflowExecution{WorkflowId: parent.WorkflowID, RunId: parent.RunID}
		attributes.RootWorkflowExecution = parent.Root
	}
	delay := attributes.GetFirstWorkflowTaskBackoff().AsDuration()
	if whole := attributes.GetWorkflowExecutionTimeout().AsDuration(); whole > 0 {
		attributes.WorkflowExecutionExpirationTime = timestamppb.New(tx.now.Add(delay + whole))
	}
	before := tx.previous()
	tx.open(newRun(runID))
	tx.carry(before)
	event := newEvent(attributes, tx.now)
	event.UserMetadata, event.Links = request.GetUserMetadata(), request.GetLinks()
	tx.run.effect(event)
	tx.number(event)
	tx.run.StartRequest, tx.part.StartRequest = request.GetRequestId(), request.GetRequestId()
	if delay > 0 {
		tx.setFirstTask(tx.now.Add(delay))
	}
}

// startedAttributes fills in what a request leaves open.
func (tx *transition) startedAttributes(
	request *workflowservice.StartWorkflowExecutionRequest, runID string,
) *historypb.WorkflowExecutionStartedEventAttributes {
	run := runTimeout(request)
	policy, _ := workflowRetryPolicy(request.GetRetryPolicy())
	attributes := &historypb.WorkflowExecutionStartedEventAttributes{
		WorkflowType: request.GetWorkflowType(), WorkflowId: tx.before.Key.WorkflowID,
		TaskQueue: &taskqueuepb.TaskQueue{Name: request.GetTaskQueue().GetName(), Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		Input:     request.GetInput(), Header: request.GetHeader(), Memo: someMemo(request.GetMemo()), SearchAttributes: someAttributes(request.GetSearchAttributes()),
		WorkflowExecutionTimeout: request.GetWorkflowExecutionTimeout(), WorkflowRunTimeout: run,
		WorkflowTaskTimeout:      boundedTaskTimeout(request.GetWorkflowTaskTimeout(), defaultTaskTimeout, run.AsDuration()),
		FirstWorkflowTaskBackoff: durationpb.New(request.GetWorkflowStartDelay().AsDuration()),
		OriginalExecutionRunId:   runID, FirstExecutionRunId: runID, Identity: request.GetIdentity(), Attempt: 1,
		ContinuedFailure: request.GetContinuedFailure(), LastCompletionResult: request.GetLastCompletionResult(),
		RetryPolicy: policy, CronSchedule: request.GetCronSchedule(), Priority: request.GetPriority(),
	}
	if pause, ok := cronPause(request.GetCronSchedule(), tx.now, tx.now); ok {
		attributes.FirstWorkflowTaskBackoff, attributes.Initiator = durationpb.New(pause), enumspb.CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE
	}
	attributes.EagerExecutionAccepted = request.GetRequestEagerExecution() && attributes.FirstWorkflowTaskBackoff.AsDuration() == 0
	return attributes
}

// runTimeout returns the run timeout of a request, which ends with that of the execution. As in Temporal, one that nobody has asked for stays unset:
// some SDKs tell their workflows of 0 as a timeout.
func runTimeout(request *workflowservice.StartWorkflowExecutionRequest) *durationpb.Duration {
	asked := request.GetWorkflowRunTimeout()
	if bounded := shorter(asked.AsDuration(), request.GetWorkflowExecutionTimeout().AsDuration()); bounded != asked.AsDuration() {
		return durationpb.New(bounded)
	}
	return asked
}

// boundedTaskTimeout returns how long a worker may take for a workflow task of a run with a timeout, in the form of Temporal's messages.
func boundedTaskTimeout(asked *durationpb.Duration, otherwise, run time.Duration) *durationpb.Duration {
	return durationpb.New(shorter(shorter(cmp.Or(asked.AsDuration(), otherwise), longestTaskTimeout), run))
}

// mostEarlier is how many earlier runs are remembered.
const mostEarlier = 8

// earlier returns what the run after this one remembers.
func (r *Run) earlier() []string {
	once := r != nil && (r.Callback != nil || r.parent() != nil)
	if r == nil || !once && r.Earlier == nil {
		return nil
	}
	all := slices.Clone(r.Earlier)
	if first := r.Attributes.GetFirstExecutionRunId(); once && !slices.Contains(all, first) {
		all = append(all, first)
	}
	return all[max(len(all)-mostEarlier, 0):]
}

// SignalWithStart signals the run in progress, or begins one with the signal. The reply is a
// *workflowservice.SignalWithStartWorkflowExecutionResponse.
type SignalWithStart struct {
	Request *workflowservice.SignalWithStartWorkflowExecutionRequest
	// RunID is the ID of the run if one begins, a new UUID.
	RunID string
}

func (SignalWithStart) cause() string { return "signal-with-start" }

func (in SignalWithStart) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	terminates := conflictPolicy(request) == enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING
	begins := false
	if !tx.run.Open() && !tx.repeats(request.GetRequestId()) || terminates {
		var err error
		if begins, err = tx.start(startOf(request), in.RunID, nil); err != nil {
			return nil, err
		}
	}
	if begins || tx.run.Open() {
		err := tx.signal(&historypb.WorkflowExecutionSignaledEventAttributes{
			SignalName: request.GetSignalName(), Input: request.GetSignalInput(), Identity: request.GetIdentity(), Header: request.GetHeader(),
		}, request.GetRequestId(), !begins)
		if err != nil {
			return nil, err
		}
	}
	if begins && tx.run.FirstTask.IsZero() {
		tx.scheduleTask()
	}
	return &workflowservice.SignalWithStartWorkflowExecutionResponse{
		RunId: tx.run.ID, FirstExecutionRunId: tx.run.Attributes.GetFirstExecutionRunId(), Started: begins,
	}, nil
}

// startOf is the start that a signal with start asks for.
func startOf(r *workflowservice.SignalWithStartWorkflowExecutionRequest) *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace: r.GetNamespace(), WorkflowId: r.GetWorkflowId(), WorkflowType: r.GetWorkflowType(), TaskQueue: r.GetTaskQueue(),
		Input: r.GetInput(), WorkflowExecutionTimeout: r.GetWorkflowExecutionTimeout(), WorkflowRunTimeout: r.GetWorkflowRunTimeout(),
		WorkflowTaskTimeout: r.GetWorkflowTaskTimeout(), Identity: r.GetIdentity(), RequestId: r.GetRequestId(),
		WorkflowIdReusePolicy: r.GetWorkflowIdReusePolicy(), WorkflowIdConflictPolicy: r.GetWorkflowIdConflictPolicy(),
		RetryPolicy: r.GetRetryPolicy(), CronSchedule: r.GetCronSchedule(), Memo: r.GetMemo(), SearchAttributes: r.GetSearchAttributes(),
		Header: r.GetHeader(), WorkflowStartDelay: r.GetWorkflowStartDelay(), UserMetadata: r.GetUserMetadata(), Links: r.GetLinks(),
		Priority: r.GetPriority(),
	}
}
