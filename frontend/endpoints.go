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

// endpoints are all verbs.
func (a *api) endpoints() []*endpoint {
	const described = "the schedule, with info: what became of it"
	return []*endpoint{
		{
			verb: "create", summary: "Create a schedule; idempotent by requestId", handle: handle(a.create),
			request: "{id, spec, action, policies, state, requestId?, triggerNow?}", reply: described,
		},
		{
			verb: "describe", summary: "Describe a schedule", handle: handle(a.describe),
			request: "{id}", reply: described,
		},
		{
			verb: "list", summary: "List the schedules of the namespace by ID", handle: handle(a.list),
			request: "{pageSize?, pageToken?, prefix?}", reply: "{schedules, nextPageToken?}",
		},
		{
			verb: "delete", summary: "Delete a schedule; its runs go on", handle: handle(a.delete),
			request: "{id}", reply: "{}",
		},
		{
			verb: "pause", summary: "Stop automated actions", handle: handle(a.pause),
			request: "{id, note?}", reply: "{}",
		},
		{
			verb: "unpause", summary: "Resume automated actions", handle: handle(a.unpause),
			request: "{id, note?}", reply: "{}",
		},
		{
			verb: "trigger", summary: "Start one run now, paused or not; idempotent by requestId", handle: handle(a.trigger),
			request: "{id, overlap?, note?, requestId?}", reply: "{id, triggerId}",
		},
	}
}

// metadata is what INFO says about an endpoint.
func (e *endpoint) metadata() map[string]string {
	return map[string]string{
		"description": e.summary, "request": e.request, "reply": e.reply,
		"errors": strings.Join([]string{
			string(schedule.CodeInvalidArgument), string(schedule.CodeNotFound), string(schedule.CodeAlreadyExists),
			string(schedule.CodeResourceExhausted), string(schedule.CodeUnavailable), string(schedule.CodeInternal),
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
