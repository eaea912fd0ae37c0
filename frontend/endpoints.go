package frontend

import (
	"context"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// endpoint is one verb of the API.
type endpoint struct {
	verb string
	// summary, request and reply are for people who ask the service what it offers.
	summary, request, reply string
	handle                  handler
	stats                   verbStats
}

// handler answers the body of a request with a value to encode.
type handler func(ctx context.Context, namespace string, body []byte) (any, error)

// described is the reply of the verbs that answer with a schedule.
const described = "the schedule, with info: what became of it"

// endpoints are all verbs.
func (a *api) endpoints() []*endpoint { return append(a.writeEndpoints(), a.readEndpoints()...) }

// writeEndpoints are the verbs that change something.
func (a *api) writeEndpoints() []*endpoint {
	return []*endpoint{
		{
			verb: "create", summary: "Create a schedule; idempotent by requestId", handle: handle(a.create),
			request: "{id, spec, action, policies, state, requestId?, triggerNow?, backfills?}", reply: described,
		},
		{
			verb: "update", summary: "Replace spec, action, policies and state; idempotent by requestId",
			handle:  handle(a.update),
			request: "{id, spec, action, policies, state, conflictToken?, requestId?}", reply: described,
		},
		{
			verb: "patch", summary: "Do several things at once: all or none; idempotent by requestId",
			handle:  handle(a.patch),
			request: "{id, pause?, unpause?, trigger?, backfills?, skip?, unskip?, conflictToken?, requestId?}",
			reply:   described,
		},
		{
			verb: "delete", summary: "Delete a schedule; its runs go on", handle: handle(a.delete),
			request: "{id, conflictToken?, requestId?}", reply: "{}",
		},
		{
			verb: "pause", summary: "Stop automated actions; idempotent by requestId", handle: handle(a.pause),
			request: "{id, note?, requestId?}", reply: "{}",
		},
		{
			verb: "unpause", summary: "Resume automated actions; idempotent by requestId", handle: handle(a.unpause),
			request: "{id, note?, requestId?}", reply: "{}",
		},
		{
			verb: "skip", summary: "Pass over times to come; idempotent by requestId", handle: handle(a.skip),
			request: "{id, count?, times?, note?, requestId?}", reply: "{id, skips}",
		},
		{
			verb: "unskip", summary: "Skip times no more, all of them or some; idempotent by requestId",
			handle: handle(a.unskip), request: "{id, times?, requestId?}", reply: "{id, skips}",
		},
		{
			verb: "trigger", summary: "Start one run now, paused or not; idempotent by requestId", handle: handle(a.trigger),
			request: "{id, overlap?, note?, input?, headers?, memo?, requestId?}", reply: "{id, triggerId}",
		},
		{
			verb: "backfill", summary: "Start a run for every time of a range; idempotent by requestId",
			handle:  handle(a.backfill),
			request: "{id, start, end, overlap?, note?, requestId?}", reply: "{id, backfillId}",
		},
		{
			verb: "cancelBackfill", summary: "End a backfill, or take back a trigger that waits",
			handle: handle(a.cancelBackfill), request: "{id, backfillId}", reply: "{}",
		},
	}
}

// metadata is what INFO says about an endpoint.
func (e *endpoint) metadata() map[string]string {
	return map[string]string{
		"description": e.summary, "request": e.request, "reply": e.reply,
		"errors": strings.Join([]string{
			string(schedule.CodeInvalidArgument), string(schedule.CodeNotFound), string(schedule.CodeAlreadyExists),
			string(schedule.CodeFailedPrecondition), string(schedule.CodeResourceExhausted),
			string(schedule.CodeUnavailable), string(schedule.CodeInternal),
		}, " "),
	}
}

// handle makes a handler of a function that takes a validated request.
func handle[Request any, Pointer interface {
	*Request
	Validate() error
}, Reply any](answer func(context.Context, string, *Request) (Reply, error)) handler {
	return func(ctx context.Context, namespace string, body []byte) (any, error) {
		if len(body) == 0 {
			body = []byte("{}") // nothing said, as in: list
		}
		var request Request
		if err := schedule.DecodeJSON(body, &request); err != nil {
			return nil, err
		}
		if err := Pointer(&request).Validate(); err != nil {
			return nil, err
		}
		return answer(ctx, namespace, &request)
	}
}
