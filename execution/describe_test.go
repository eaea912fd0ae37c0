package execution

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	noNexus      = "there are no Nexus operations"
	noCallbacks  = "callbacks are refused at the start"
	noDeployment = "workers have no deployments"
	noRules      = "there are no workflow rules"
	noExternal   = "payloads are not stored elsewhere; Temporal leaves it out as well unless that is switched on"
	ofGateway    = "the gateway knows the IDs of namespaces"
)

// neverDescribed are the fields of a description that stay empty, with the reason.
var neverDescribed = map[string]string{
	"workflowservice.v1.DescribeWorkflowExecutionResponse.callbacks":                   noCallbacks,
	"workflowservice.v1.DescribeWorkflowExecutionResponse.pending_nexus_operations":    noNexus,
	"workflow.v1.WorkflowExecutionInfo.parent_namespace_id":                            ofGateway,
	"workflow.v1.WorkflowExecutionInfo.assigned_build_id":                              noDeployment,
	"workflow.v1.WorkflowExecutionInfo.inherited_build_id":                             noDeployment,
	"workflow.v1.WorkflowExecutionInfo.versioning_info":                                noDeployment,
	"workflow.v1.WorkflowExecutionInfo.worker_deployment_name":                         noDeployment,
	"workflow.v1.WorkflowExecutionInfo.external_payload_size_bytes":                    noExternal,
	"workflow.v1.WorkflowExecutionInfo.external_payload_count":                         noExternal,
	"workflow.v1.WorkflowExecutionExtendedInfo.pause_info":                             "workflows are not paused as a whole",
	"workflow.v1.WorkflowExecutionExtendedInfo.time_skipping_info":                     "time is not skipped",
	"workflow.v1.WorkflowExecutionExtendedInfo.propagated_nexus_serialization_context": noNexus,
	"workflow.v1.RequestIdInfo.buffered":                                               "the event of a start is never buffered",
	"workflow.v1.PendingActivityInfo.last_worker_version_stamp":                        noDeployment,
	"workflow.v1.PendingActivityInfo.last_deployment":                                  noDeployment,
	"workflow.v1.PendingActivityInfo.last_worker_deployment_version":                   noDeployment,
	"workflow.v1.PendingActivityInfo.last_deployment_version":                          noDeployment,
	"workflow.v1.PendingActivityInfo.use_workflow_build_id":                            noDeployment,
	"workflow.v1.PendingActivityInfo.last_independently_assigned_build_id":             noDeployment,
	"workflow.v1.PendingActivityInfo.PauseInfo.rule":                                   noRules,
	"workflow.v1.ResetPointInfo.expire_time":                                           "the retention of the namespace may change until then",
}

// TestDescriptionsAreComplete: each field of a description is set in a story that has everything, or is known to stay empty. A field that Temporal
// adds belongs into one of the two.
func TestDescriptionsAreComplete(t *testing.T) {
	t.Parallel()
	set := map[protoreflect.FullName]bool{}
	s := newStory(t)
	look := func() { fieldsOf(Describe(s.state).ProtoReflect(), set) }
	do := func(in Input) {
		t.Helper()
		s.decide(in)
		require.NoError(t, s.err)
		look()
	}
	do(fullStart())
	do(s.pollInput(noArguments))
	do(CompleteWorkflowTask{Token: s.task, Request: fullCompletion(t)})
	do(ChildStarted{Parent{WorkflowID: "w", RunID: "run-1", Event: 6}})
	do(s.pollInput(activityA))
	do(s.activityInput("activity-failed", activityA))
	s.now = s.now.Add(time.Minute)
	do(TimerDue{})
	do(s.pollInput(activityA))
	do(s.activityInput("heartbeat", activityA))
	do(s.operationInput("pause", activityA))
	do(RequestCancel{Request: &workflowservice.RequestCancelWorkflowExecutionRequest{RequestId: "cancel"}})
	do(s.pollInput(noArguments))
	do(s.resetInput(func(name string) string { return map[string]string{"to": "4", "request": "reset"}[name] }))
	s.state = &State{Key: s.state.Key, Run: s.runAt("run-1")}
	look()
	requireDecided(t, (&workflowservice.DescribeWorkflowExecutionResponse{}).ProtoReflect().Descriptor(), set, neverDescribed)
}

func noArguments(string) string { return "" }

func activityA(name string) string {
	return map[string]string{"activity": "a", "id": "a", "details": "half", "message": "broken", "reason": "trouble"}[name]
}

// fullStart begins a run with everything that a description shows of it.
func fullStart() Input {
	return Start{
		RunID: "run-1", Parent: &Parent{WorkflowID: "p", RunID: "run-of-p", Event: 5, Root: &commonpb.WorkflowExecution{WorkflowId: "root", RunId: "r"}},
		Request: &workflowservice.StartWorkflowExecutionRequest{
			WorkflowId: "w", WorkflowType: &commonpb.WorkflowType{Name: "Hello"}, TaskQueue: (&Run{}).taskQueue("q"), RequestId: "start",
			WorkflowExecutionTimeout: durationpb.New(2 * time.Hour), WorkflowRunTimeout: durationpb.New(time.Hour),
			Memo: &commonpb.Memo{Fields: payloads(map[string]string{"m": "1"})}, Priority: &commonpb.Priority{PriorityKey: 1},
			SearchAttributes: &commonpb.SearchAttributes{IndexedFields: payloads(map[string]string{"s": "1"})},
			UserMetadata:     &sdkpb.UserMetadata{Summary: &commonpb.Payload{Data: []byte("summary")}},
		},
	}
}

// fullCompletion schedules an activity and starts a child, and says what code the worker has.
func fullCompletion(t *testing.T) *workflowservice.RespondWorkflowTaskCompletedRequest {
	t.Helper()
	activity := command(t, strings.Fields("activity id=a start-to-close=10s schedule-to-close=10m heartbeat=5s attempts=3"))
	activity.GetScheduleActivityTaskCommandAttributes().Priority = &commonpb.Priority{PriorityKey: 2}
	request := &workflowservice.RespondWorkflowTaskCompletedRequest{
		Identity: "worker", Commands: []*commandpb.Command{activity, command(t, []string{"child", "id=c", "close=Abandon"})},
	}
	request.BinaryChecksum = "checksum"                                           //lint:ignore SA1019 workers still send it
	request.WorkerVersionStamp = &commonpb.WorkerVersionStamp{BuildId: "build-1"} //lint:ignore SA1019 workers still send it
	return request
}

// ofDescriptions is the package of the messages into which fieldsOf looks. Others come from requests as they are.
const ofDescriptions = "temporal.api.workflow.v1"

// fieldsOf notes which fields of a message are set, and of the descriptions in it.
func fieldsOf(m protoreflect.Message, set map[protoreflect.FullName]bool) {
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		set[field.FullName()] = true
		switch {
		case field.IsMap() && describes(field.MapValue()):
			value.Map().Range(func(_ protoreflect.MapKey, value protoreflect.Value) bool {
				fieldsOf(value.Message(), set)
				return true
			})
		case field.IsMap() || !describes(field):
		case field.IsList():
			for i := range value.List().Len() {
				fieldsOf(value.List().Get(i).Message(), set)
			}
		default:
			fieldsOf(value.Message(), set)
		}
		return true
	})
}

func describes(field protoreflect.FieldDescriptor) bool {
	return field.Message() != nil && field.Message().ParentFile().Package() == ofDescriptions
}

// requireDecided makes sure that each field of a message, and of the descriptions in it, is either set or in the list of those that stay empty.
func requireDecided(t *testing.T, of protoreflect.MessageDescriptor, set map[protoreflect.FullName]bool, empty map[string]string) {
	t.Helper()
	known := map[string]bool{}
	var look func(protoreflect.MessageDescriptor)
	look = func(of protoreflect.MessageDescriptor) {
		for i := range of.Fields().Len() {
			field := of.Fields().Get(i)
			name := strings.TrimPrefix(string(field.FullName()), "temporal.api.")
			if known[name] {
				continue
			}
			known[name] = true
			require.Equal(t, empty[name] == "", set[field.FullName()], "%s is to be set, or to be in the list of what stays empty", name)
			if field.IsMap() {
				field = field.MapValue()
			}
			if empty[name] == "" && describes(field) {
				look(field.Message())
			}
		}
	}
	look(of)
	for _, name := range slices.Sorted(maps.Keys(empty)) {
		require.True(t, known[name], "there is no %s", name)
	}
}
