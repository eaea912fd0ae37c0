package worker

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/carillon-scheduler/carillon/schedule"
)

// The keys of log attributes.
const (
	keyNamespace    = "namespace"
	keyTaskQueue    = "task_queue"
	keyScheduleID   = "schedule_id"
	keyRequestID    = "request_id"
	keyWorkflowID   = "workflow_id"
	keyRunID        = "run_id"
	keyActionType   = "action_type"
	keyAttempt      = "attempt"
	keyHandlersLeft = "handlers_left"
	keyDelay        = "delay"
	keyError        = "error"
	keyErrorType    = "error_type"
	keyReason       = "reason"
	keyStatus       = "status"
	keySubject      = "subject"
)

// attrs identify a run in logs.
func (h *held) attrs() []any { return runAttrs(&h.request) }

func runAttrs(r *schedule.ActionRequest) []any {
	return []any{
		keyActionType, r.Type, keyScheduleID, r.ScheduleID, keyWorkflowID, r.WorkflowID,
		keyRunID, r.RunID, keyRequestID, r.RequestID,
	}
}

// spanAttributes identify a run in traces.
func (h *held) spanAttributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("carillon.namespace", h.request.Namespace),
		attribute.String("carillon.task_queue", h.request.TaskQueue),
		attribute.String("carillon.action_type", h.request.Type),
		attribute.String("carillon.schedule_id", h.request.ScheduleID),
		attribute.String("carillon.workflow_id", h.request.WorkflowID),
		attribute.String("carillon.run_id", h.request.RunID),
		attribute.String("carillon.request_id", h.request.RequestID),
		attribute.Int("carillon.attempt", h.delivery),
	}
}
