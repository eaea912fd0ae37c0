package frontend

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// endpoint is one verb of the API about one thing.
type endpoint struct {
	// thing is one of subjects.Thing…; empty means a schedule.
	thing string
	verb  string
	// summary, request and reply are for people who ask the service what it offers.
	summary, request, reply string
	handle                  handler
	stats                   verbStats
}

// access says whether a verb changes anything. The zero access says nothing, and is that of no endpoint.
type access int

const (
	accessRead access = iota + 1
	accessWrite
)

// handler answers the requests of one verb. Make it with reads or writes.
type handler struct {
	access access
	// request and reply are the types of what is asked and answered.
	request, reply reflect.Type
	// answer answers a body, which decode can read, with a value to encode.
	answer func(ctx context.Context, namespace string, body []byte, decode decoder) (any, error)
}

// decoder reads a body, by the rules of [apitext.DecodeJSON], into what the second argument points to.
type decoder func(body []byte, into any) error

// described is the reply of the verbs that answer with a schedule.
const described = "the schedule, with info: what became of it"

// name tells the endpoint from others: "create" of schedules, "namespace-create" of other things.
func (e *endpoint) name() string {
	if e.thing == "" {
		return e.verb
	}
	return e.thing + "-" + e.verb
}

// subject is where requests for e come from, of any namespace.
func (e *endpoint) subject(names subjects.Names) string {
	return names.API("*", cmp.Or(e.thing, subjects.ThingSchedule), e.verb)
}

// endpoints are all verbs. A new one is one entry here, with its summary and with [reads] or [writes] around the function that answers.
func (a *api) endpoints() []*endpoint {
	return slices.Concat(
		a.writeEndpoints(), a.runEndpoints(), a.calendarEndpoints(), a.bulkEndpoints(), a.readEndpoints(),
		a.namespaceEndpoints(),
	)
}

// writeEndpoints are the verbs that change something.
func (a *api) writeEndpoints() []*endpoint {
	return []*endpoint{
		{
			verb: "create", summary: "Create a schedule; idempotent by requestId", handle: writes(a.create),
			request: "{id, spec, action, policies, state, requestId?, triggerNow?, backfills?}", reply: described,
		},
		{
			verb: "update", summary: "Replace spec, action, policies and state; idempotent by requestId",
			handle:  writes(a.update),
			request: "{id, spec, action, policies, state, conflictToken?, requestId?}", reply: described,
		},
		{
			verb: "patch", summary: "Do several things at once: all or none; idempotent by requestId",
			handle:  writes(a.patch),
			request: "{id, pause?, unpause?, trigger?, backfills?, skip?, unskip?, conflictToken?, requestId?}",
			reply:   described,
		},
		{
			verb: "delete", handle: writes(a.delete),
			summary: "Delete a schedule; queued runs are withdrawn, others go on, or as runs says; idempotent by requestId",
			request: "{id, runs?, conflictToken?, requestId?}", reply: "{}",
		},
		{
			verb: "pause", summary: "Stop automated actions; idempotent by requestId", handle: writes(a.pause),
			request: "{id, note?, requestId?}", reply: "{}",
		},
		{
			verb: "unpause", summary: "Resume automated actions; idempotent by requestId", handle: writes(a.unpause),
			request: "{id, note?, requestId?}", reply: "{}",
		},
		{
			verb: "skip", summary: "Pass over times to come; idempotent by requestId", handle: writes(a.skip),
			request: "{id, count?, times?, note?, requestId?}", reply: "{id, skips}",
		},
		{
			verb: "unskip", summary: "Skip times no more, all of them or some; idempotent by requestId",
			handle: writes(a.unskip), request: "{id, times?, requestId?}", reply: "{id, skips}",
		},
		{
			verb: "trigger", summary: "Start one run now, paused or not; idempotent by requestId", handle: writes(a.trigger),
			request: "{id, overlap?, note?, input?, headers?, memo?, requestId?}", reply: "{id, triggerId}",
		},
		{
			verb: "backfill", summary: "Start a run for every time of a range; idempotent by requestId",
			handle:  writes(a.backfill),
			request: "{id, start, end, overlap?, note?, requestId?}", reply: "{id, backfillId}",
		},
		{
			verb: "cancelBackfill", summary: "End a backfill, or take back a trigger that waits; idempotent by requestId",
			handle: writes(a.cancelBackfill), request: "{id, backfillId, requestId?}", reply: "{}",
		},
	}
}

// metadata is what INFO says about an endpoint.
func (e *endpoint) metadata() (map[string]string, error) {
	request, reply, err := e.handle.schemas()
	return map[string]string{
		"description": e.summary, "request": e.request, "reply": e.reply,
		"request_schema": request, "response_schema": reply,
		"errors": strings.Join([]string{
			string(schedule.CodeInvalidArgument), string(schedule.CodeNotFound), string(schedule.CodeAlreadyExists),
			string(schedule.CodeFailedPrecondition), string(schedule.CodeResourceExhausted),
			string(schedule.CodeUnavailable), string(schedule.CodeInternal),
		}, " "),
	}, err
}

// validated is a pointer to a request that can check itself.
type validated[Request any] interface {
	*Request
	Validate() error
}

// reads makes the handler of a verb that changes nothing.
func reads[Request any, Pointer validated[Request], Reply any](
	answer func(context.Context, string, *Request) (Reply, error),
) handler {
	return handle[Request, Pointer](accessRead, answer)
}

// writes makes the handler of a verb that changes something. A namespace that is being deleted refuses it.
func writes[Request any, Pointer validated[Request], Reply any](
	answer func(context.Context, string, *Request) (Reply, error),
) handler {
	return handle[Request, Pointer](accessWrite, answer)
}

// handle makes a handler of a function that takes a validated request.
func handle[Request any, Pointer validated[Request], Reply any](
	access access, answer func(context.Context, string, *Request) (Reply, error),
) handler {
	return handler{
		access:  access,
		request: reflect.TypeFor[Request](), reply: reflect.TypeFor[Reply](),
		answer: func(ctx context.Context, namespace string, body []byte, decode decoder) (any, error) {
			var request Request
			if len(body) > 0 { // nothing said, as in: list
				if err := decode(body, &request); err != nil {
					return nil, err
				}
			}
			if err := Pointer(&request).Validate(); err != nil {
				return nil, err
			}
			return answer(ctx, namespace, &request)
		},
	}
}
