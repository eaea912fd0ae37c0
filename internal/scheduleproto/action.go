package scheduleproto

import (
	"encoding/json"
	"maps"
	"strings"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// runPrefix begins the workflow type under which a run of Carillon's own protocol is shown. No workflow can be scheduled under such a name.
const runPrefix = "carillon-run:"

// typeProto returns the type of an action, by which a run cannot be taken for a workflow.
func typeProto(a *schedule.Action) *commonpb.WorkflowType {
	if a.Kind.IsWorkflow() {
		return &commonpb.WorkflowType{Name: a.Type}
	}
	return &commonpb.WorkflowType{Name: runPrefix + a.Type}
}

func actionProto(a *schedule.Action) (*schedulepb.ScheduleAction, error) {
	w := &workflowpb.NewWorkflowExecutionInfo{
		WorkflowId: a.WorkflowID, WorkflowType: typeProto(a),
		TaskQueue:                &taskqueuepb.TaskQueue{Name: a.TaskQueue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		WorkflowExecutionTimeout: workflows.Duration(a.ExecutionTimeout), WorkflowRunTimeout: workflows.Duration(a.RunTimeout),
	}
	if a.Kind.IsWorkflow() {
		if err := fillContents(w, a); err != nil {
			return nil, err
		}
	}
	return &schedulepb.ScheduleAction{Action: &schedulepb.ScheduleAction_StartWorkflow{StartWorkflow: w}}, nil
}

// fillContents adds what only a workflow has in Temporal's form. It is what a start of the workflow would carry.
func fillContents(w *workflowpb.NewWorkflowExecutionInfo, a *schedule.Action) error {
	start, problem := workflows.Request(schedule.Key{}, a, &wire.BufferedStart{TaskQueue: a.TaskQueue}, wire.Result{})
	if problem != nil {
		return schedule.Errorf(schedule.CodeInternal, "the stored action cannot be shown: %s %s", problem.Path, problem.Message)
	}
	w.WorkflowTaskTimeout, w.Priority, w.RetryPolicy = start.WorkflowTaskTimeout, start.Priority, withDefaults(start.RetryPolicy)
	w.Input, w.Header, w.Memo, w.UserMetadata = start.Input, start.Header, start.Memo, start.UserMetadata
	delete(start.SearchAttributes.IndexedFields, schedule.AttributeScheduledBy)
	delete(start.SearchAttributes.IndexedFields, schedule.AttributeScheduledStartTime)
	if len(start.SearchAttributes.IndexedFields) > 0 {
		w.SearchAttributes = start.SearchAttributes
	}
	return nil
}

// checkAction refuses an action that stands for a run.
func checkAction(a *schedule.Action) error {
	if strings.HasPrefix(a.Type, runPrefix) {
		return schedule.Invalid("startWorkflow.workflowType", "%q stands for a run of Carillon's own protocol: use carillon schedule to schedule one",
			jsontext.Shorten(a.Type))
	}
	return nil
}

func parseAction(p *schedulepb.ScheduleAction) (a schedule.Action, err error) {
	w := p.GetStartWorkflow()
	if w == nil {
		return a, schedule.Invalid("startWorkflow", "is missing: a schedule starts a workflow")
	}
	if err := refuse(w); err != nil {
		return a, err
	}
	a, err = parseWorkflow(w)
	return a, schedule.Prefix("startWorkflow", err)
}

// refuse refuses the fields of an action that have no meaning here.
func refuse(w *workflowpb.NewWorkflowExecutionInfo) error {
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"versioningOverride", w.VersioningOverride != nil},
		{"taskQueue.normalName", w.GetTaskQueue().GetNormalName() != ""},
	} {
		if field.set {
			return unimplemented("schedule.action.startWorkflow." + field.name)
		}
	}
	reuse := w.WorkflowIdReusePolicy
	switch {
	case w.CronSchedule != "":
		return schedule.Invalid("startWorkflow.cronSchedule", "is not for the workflow of a schedule: use the spec")
	case reuse != enumspb.WORKFLOW_ID_REUSE_POLICY_UNSPECIFIED && reuse != enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE:
		return schedule.Invalid("startWorkflow.workflowIdReusePolicy", "is not for the workflow of a schedule: leave it out")
	}
	return nil
}

// unimplemented returns the error for a field that there is no place for. SDKs look for its words.
func unimplemented(field string) error {
	return serviceerror.NewUnimplemented(field + ": is not implemented for schedules: leave it out")
}

func parseWorkflow(w *workflowpb.NewWorkflowExecutionInfo) (a schedule.Action, err error) {
	a = schedule.Action{
		Kind: schedule.ActionWorkflow, Type: w.GetWorkflowType().GetName(), WorkflowID: w.WorkflowId, TaskQueue: w.GetTaskQueue().GetName(),
		Priority: int(w.GetPriority().GetPriorityKey()), FairnessKey: w.GetPriority().GetFairnessKey(),
		FairnessWeight: float64(w.GetPriority().GetFairnessWeight()),
	}
	for _, timeout := range []struct {
		name string
		from *durationpb.Duration
		to   *schedule.Duration
	}{
		{"workflowExecutionTimeout", w.WorkflowExecutionTimeout, &a.ExecutionTimeout},
		{"workflowRunTimeout", w.WorkflowRunTimeout, &a.RunTimeout},
		{"workflowTaskTimeout", w.WorkflowTaskTimeout, &a.TaskTimeout},
	} {
		if *timeout.to, err = parseDuration(timeout.name, timeout.from); err != nil {
			return a, err
		}
	}
	if a.RetryPolicy, err = parseRetries(w.RetryPolicy); err != nil {
		return a, schedule.Prefix("retryPolicy", err)
	}
	return a, parseContents(w, &a)
}

func parseContents(w *workflowpb.NewWorkflowExecutionInfo, a *schedule.Action) (err error) {
	if a.Input, err = parseInput(w.GetInput()); err != nil {
		return err
	}
	if a.HeaderPayloads, err = parseFields("header", w.GetHeader().GetFields()); err != nil {
		return err
	}
	if a.Memo, err = parseFields("memo", w.GetMemo().GetFields()); err != nil {
		return err
	}
	if a.SearchAttributes, err = parseFields("searchAttributes", w.GetSearchAttributes().GetIndexedFields()); err != nil {
		return err
	}
	a.UserMetadata, err = parseMetadata(w.GetUserMetadata())
	return err
}

func parseInput(input *commonpb.Payloads) (json.RawMessage, error) {
	if len(input.GetPayloads()) == 0 {
		return nil, nil
	}
	texts := make([]json.RawMessage, len(input.GetPayloads()))
	for i, argument := range input.GetPayloads() {
		var err error
		if texts[i], err = parsePayload(jsontext.Indexed("input", i), argument); err != nil {
			return nil, err
		}
	}
	return jsontext.Encode(texts)
}

func parseFields(field string, all map[string]*commonpb.Payload) (map[string]json.RawMessage, error) {
	if len(all) == 0 {
		return nil, nil
	}
	texts := make(map[string]json.RawMessage, len(all))
	for name, value := range all {
		var err error
		if texts[name], err = parsePayload(jsontext.JoinKey(field, name), value); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func parseMetadata(m *sdkpb.UserMetadata) (*schedule.UserMetadata, error) {
	if m.GetSummary() == nil && m.GetDetails() == nil {
		return nil, nil
	}
	metadata, texts := &schedule.UserMetadata{}, map[string]*commonpb.Payload{"summary": m.GetSummary(), "details": m.GetDetails()}
	maps.DeleteFunc(texts, func(_ string, text *commonpb.Payload) bool { return text == nil })
	all, err := parseFields("userMetadata", texts)
	metadata.Summary, metadata.Details = all["summary"], all["details"]
	return metadata, err
}

func parsePayload(field string, p *commonpb.Payload) (json.RawMessage, error) {
	text, err := workflows.Text(p)
	if err != nil {
		return nil, schedule.Invalid(field, "has fields of a later version of Temporal: leave them out")
	}
	return text, nil
}
