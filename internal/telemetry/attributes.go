package telemetry

import "go.opentelemetry.io/otel/attribute"

// The attributes of spans that are Carillon's own. docs/tracing.md says what they hold. They are not for metrics: most have as
// many values as there are runs.
const (
	AttributeNamespace     = attribute.Key("carillon.namespace")
	AttributeScheduleID    = attribute.Key("carillon.schedule.id")
	AttributeRunID         = attribute.Key("carillon.run.id")
	AttributeWorkflowID    = attribute.Key("carillon.workflow.id")
	AttributeActionType    = attribute.Key("carillon.action.type")
	AttributeNominalTime   = attribute.Key("carillon.nominal_time")
	AttributeDueTime       = attribute.Key("carillon.due_time")
	AttributeOverlapPolicy = attribute.Key("carillon.overlap_policy")
	AttributeTaskQueue     = attribute.Key("carillon.task_queue")
	AttributeAttempt       = attribute.Key("carillon.attempt")
	AttributeStatus        = attribute.Key("carillon.status")
	AttributeSource        = attribute.Key("carillon.source")
	AttributeStarts        = attribute.Key("carillon.starts")
	AttributeWakeReason    = attribute.Key("carillon.wake.reason")
	AttributeWaitReason    = attribute.Key("carillon.wait.reason")
	AttributeReason        = attribute.Key("carillon.reason")
	AttributeRetryDelay    = attribute.Key("carillon.retry_delay")
)
