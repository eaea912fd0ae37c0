package worker

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/carillon-scheduler/carillon/internal/telemetry"
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
	r := &h.request
	return append(telemetry.ScheduleAttributes(schedule.Key{Namespace: r.Namespace, ID: r.ScheduleID}),
		semconv.MessagingMessageID(r.RequestID),
		telemetry.AttributeTaskQueue.String(r.TaskQueue), telemetry.AttributeActionType.String(r.Type),
		telemetry.AttributeWorkflowID.String(r.WorkflowID), telemetry.AttributeRunID.String(r.RunID),
		telemetry.AttributeNominalTime.String(r.NominalTime.UTC().Format(time.RFC3339Nano)),
		telemetry.AttributeAttempt.Int(h.delivery),
	)
}

// describe records the result of an attempt in its span.
func (v *verdict) describe(span trace.Span) {
	if !span.IsRecording() {
		return
	}
	switch v.kind {
	case report:
		span.SetAttributes(telemetry.AttributeStatus.String(string(v.status)))
	case giveBack:
		span.SetAttributes(telemetry.AttributeRetryDelay.String(v.delay.String()))
	}
	if v.failure != nil {
		telemetry.Fail(span, cmp.Or(v.failure.Type, "error"), v.failure.Message)
	}
}
