package execution

import (
	"cmp"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/durationpb"
)

func (tx *transition) startChild(c commandContext) *failedCommand {
	asked := c.GetStartChildWorkflowExecutionCommandAttributes()
	run := shorter(asked.GetWorkflowRunTimeout().AsDuration(), asked.GetWorkflowExecutionTimeout().AsDuration())
	policy, message := workflowRetryPolicy(asked.GetRetryPolicy())
	err := cmp.Or(checkCron(asked.GetCronSchedule(), tx.now), CheckVersioningOverride(asked.GetVersioningOverride()))
	inherit := asked.GetInheritBuildId() //lint:ignore SA1019 workers still send it
	switch {
	case asked.GetWorkflowId() == "":
		message = "workflow ID is not set"
	case asked.GetWorkflowType().GetName() == "":
		message = "workflow type is not set"
	case tx.isElsewhere(asked):
		message = "a child in another namespace is not possible"
	case min(run, asked.GetWorkflowTaskTimeout().AsDuration(), asked.GetWorkflowExecutionTimeout().AsDuration()) < 0:
		message = "a timeout is negative"
	case err != nil:
		message = err.Error()
	}
	long := tooLong("workflow ID", asked.GetWorkflowId(), "workflow type", asked.GetWorkflowType().GetName(), "task queue", asked.GetTaskQueue().GetName())
	if message = cmp.Or(message, long, checkPriority(asked.GetPriority()), tx.compatible(asked, inherit)); message != "" {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_START_CHILD_EXECUTION_ATTRIBUTES, message}
	}
	if len(tx.run.Children) >= maxPending {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_PENDING_CHILD_WORKFLOWS_LIMIT_EXCEEDED, tooMany("child workflows")}
	}
	queue := cmp.Or(asked.GetTaskQueue().GetName(), tx.run.Attributes.GetTaskQueue().GetName())
	attributes := &historypb.StartChildWorkflowExecutionInitiatedEventAttributes{
		Namespace: tx.before.Key.Namespace, WorkflowId: asked.GetWorkflowId(), WorkflowType: asked.GetWorkflowType(),
		TaskQueue: &taskqueuepb.TaskQueue{Name: queue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}, Input: asked.GetInput(),
		WorkflowExecutionTimeout: asked.GetWorkflowExecutionTimeout(), WorkflowRunTimeout: durationpb.New(run),
		WorkflowTaskTimeout:          boundedTaskTimeout(asked.GetWorkflowTaskTimeout(), defaultTaskTimeout, run),
		ParentClosePolicy:            cmp.Or(asked.GetParentClosePolicy(), enumspb.PARENT_CLOSE_POLICY_TERMINATE),
		WorkflowTaskCompletedEventId: c.completed, RetryPolicy: policy, CronSchedule: asked.GetCronSchedule(), Header: asked.GetHeader(),
		WorkflowIdReusePolicy: cmp.Or(asked.GetWorkflowIdReusePolicy(), enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE),
		Memo:                  someMemo(asked.GetMemo()), SearchAttributes: someAttributes(asked.GetSearchAttributes()),
		Priority: asked.GetPriority(),
	}
	attributes.InheritBuildId = inherit     //lint:ignore SA1019 workers still send it
	attributes.Control = asked.GetControl() //lint:ignore SA1019 workers may use it for long
	tx.writeFor(c, attributes)
	return nil
}

// isElsewhere reports whether a command names another namespace than that of the workflow.
func (tx *transition) isElsewhere(asked interface{ GetNamespace() string }) bool {
	namespace := asked.GetNamespace()
	return namespace != "" && namespace != tx.before.Key.Namespace
}
