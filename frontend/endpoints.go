package frontend

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// endpoint is one verb of the API for one kind of thing.
type endpoint struct {
	// thing is one of subjects.Thing…; empty means a schedule.
	thing string
	verb  string
	// http are the methods and paths of the verb in the HTTP API, and the status of success if that is not 200. A path is below that of the
	// namespace, unless it begins with a slash. Its parameters are fields of the request.
	http string
	// summary, request and reply are for people who ask the service what it offers.
	summary, request, reply string
	handle                  handler
	stats                   verbStats
}

// access says whether a verb changes anything. The zero access says nothing, and no endpoint has it.
type access int

const (
	accessRead access = iota + 1
	accessWrite
)

// handler answers the requests of one verb. Make it with reads or writes.
type handler struct {
	access access
	// request and reply are the Go types of the request and of the reply.
	request, reply reflect.Type
	// answer answers a body, which decode can read, with a value to encode.
	answer func(ctx context.Context, namespace string, body []byte, decode decoder) (any, error)
}

// decoder reads a body into the value that the second argument points to, by the rules of [apitext.DecodeJSON].
type decoder func(body []byte, into any) error

// described is the reply of the verbs that answer with a schedule.
const described = "the schedule, with info: what became of it"

// name distinguishes the endpoint from others: "create" for schedules, "namespace-create" for other things.
func (e *endpoint) name() string {
	if e.thing == "" {
		return e.verb
	}
	return e.thing + "-" + e.verb
}

// subject is the subject on which requests for e arrive, from any namespace.
func (e *endpoint) subject(names subjects.Names) string {
	return names.API("*", cmp.Or(e.thing, subjects.ThingSchedule), e.verb)
}

// endpoints returns all verbs. A new verb is one entry here, with its paths, its summary and with [reads] or [writes] around its function.
func endpoints(s *schedules.Service) []*endpoint {
	return slices.Concat(
		writeEndpoints(s), runEndpoints(s), calendarEndpoints(s), bulkEndpoints(s), readEndpoints(s),
		namespaceEndpoints(s),
	)
}

// writeEndpoints returns the verbs that change something.
func writeEndpoints(s *schedules.Service) []*endpoint {
	return []*endpoint{
		{
			verb: "create", http: "POST schedules 201", summary: "Create a schedule; idempotent by requestId", handle: writes(s.Create),
			request: "{id, spec, action, policies, state, requestId?, triggerNow?, backfills?}", reply: described,
		},
		{
			verb: "update", http: "PUT schedules/{id}", summary: "Replace spec, action, policies and state; idempotent by requestId",
			handle:  writes(s.Update),
			request: "{id, spec, action, policies, state, conflictToken?, requestId?}", reply: described,
		},
		{
			verb: "patch", http: "PATCH schedules/{id}", summary: "Do several things at once: all or none; idempotent by requestId",
			handle:  writes(s.Patch),
			request: "{id, pause?, unpause?, trigger?, backfills?, skip?, unskip?, conflictToken?, requestId?}",
			reply:   described,
		},
		{
			verb: "delete", http: "DELETE schedules/{id}", handle: writes(s.Delete),
			summary: "Delete a schedule; queued runs are withdrawn, others go on, or as runs says; idempotent by requestId",
			request: "{id, runs?, conflictToken?, requestId?}", reply: "{}",
		},
		{
			verb: "pause", http: "POST schedules/{id}/pause",
			summary: "Stop automated actions; idempotent by requestId", handle: writes(s.Pause),
			request: "{id, note?, requestId?}", reply: "{}",
		},
		{
			verb: "unpause", http: "POST schedules/{id}/unpause",
			summary: "Resume automated actions; idempotent by requestId", handle: writes(s.Unpause),
			request: "{id, note?, requestId?}", reply: "{}",
		},
		{
			verb: "skip", http: "POST schedules/{id}/skip",
			summary: "Pass over times to come; idempotent by requestId", handle: writes(s.Skip),
			request: "{id, count?, times?, note?, requestId?}", reply: "{id, skips}",
		},
		{
			verb: "unskip", http: "POST schedules/{id}/unskip", summary: "Skip times no more, all of them or some; idempotent by requestId",
			handle: writes(s.Unskip), request: "{id, times?, requestId?}", reply: "{id, skips}",
		},
		{
			verb: "trigger", http: "POST schedules/{id}/trigger",
			summary: "Start one run now, paused or not; idempotent by requestId", handle: writes(s.Trigger),
			request: "{id, overlap?, note?, input?, headers?, memo?, requestId?}", reply: "{id, triggerId}",
		},
		{
			verb: "backfill", http: "POST schedules/{id}/backfills",
			summary: "Start a run for every time of a range; idempotent by requestId",
			handle:  writes(s.Backfill),
			request: "{id, start, end, overlap?, note?, requestId?}", reply: "{id, backfillId}",
		},
		{
			verb: "cancelBackfill", http: "DELETE schedules/{id}/backfills/{backfillId}",
			summary: "End a backfill, or take back a trigger that waits; idempotent by requestId",
			handle:  writes(s.CancelBackfill), request: "{id, backfillId, requestId?}", reply: "{}",
		},
	}
}

// metadata returns what INFO says about an endpoint.
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
			if len(body) > 0 { // an empty body is an empty request, as in: list
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

// runEndpoints returns the verbs about runs in progress.
func runEndpoints(s *schedules.Service) []*endpoint {
	const request, reply = "{id, run, reason?, requestId?}", "{run}"
	return []*endpoint{
		{
			verb: "cancelRun", http: "POST schedules/{id}/runs/{run}/cancel",
			summary: "Ask a run in progress to stop; its code decides how", request: request, reply: reply,
			handle: writes(func(ctx context.Context, namespace string, req *schedule.EndRunRequest) (schedule.EndRunReply, error) {
				return s.EndRun(ctx, namespace, schedule.ControlCancel, req)
			}),
		},
		{
			verb: "terminateRun", http: "POST schedules/{id}/runs/{run}/terminate",
			summary: "End a run in progress at once", request: request, reply: reply,
			handle: writes(func(ctx context.Context, namespace string, req *schedule.EndRunRequest) (schedule.EndRunReply, error) {
				return s.EndRun(ctx, namespace, schedule.ControlTerminate, req)
			}),
		},
	}
}

// readEndpoints returns the verbs that change nothing.
func readEndpoints(s *schedules.Service) []*endpoint {
	return []*endpoint{
		{
			verb: "describe", http: "GET schedules/{id}", summary: "Describe a schedule", handle: reads(s.Describe),
			request: "{id}", reply: described,
		},
		{
			verb: "list", http: "GET schedules",
			summary: "List the schedules of the namespace by ID, or those that a query finds", handle: reads(s.List),
			request: "{pageSize?, pageToken?, prefix?, query?}", reply: "{schedules, nextPageToken?, indexedUpTo?}",
		},
		{
			verb: "count", http: "GET schedules:count",
			summary: "Count the schedules of the namespace, or those that a query finds", handle: reads(s.Count),
			request: "{prefix?, query?}", reply: "{count, indexedUpTo?}",
		},
		{
			verb: "matchingTimes", http: "GET schedules/{id}/matching-times",
			summary: "List the times a schedule gives in a range", handle: reads(s.MatchingTimes),
			request: "{id, from, to}", reply: "{times, more?}",
		},
		{
			verb: "preview", http: "POST schedules:preview",
			summary: "List the times of a spec that is not stored", handle: reads(s.Preview),
			request: "{spec, id?, from?, count?}", reply: "{times, more?, words, warnings?}",
		},
		{
			verb: "history", http: "GET schedules/{id}/events, GET events",
			summary: "Read the events of a schedule, or of the namespace", handle: reads(s.History),
			request: "{id?, kinds?, from?, to?, newest?, pageSize?, pageToken?}", reply: "{events, nextPageToken?}",
		},
		{
			verb: "runs", http: "GET schedules/{id}/runs, GET runs",
			summary: "List the newest runs of a schedule, or of the namespace", handle: reads(s.Runs),
			request: "{id?, status?, from?, pageSize?}", reply: "{runs}",
		},
		{
			verb: "run", http: "GET schedules/{id}/runs/{run}", summary: "Describe one run of a schedule", handle: reads(s.Run),
			request: "{id, run}", reply: "the run, with events: what happened to it",
		},
	}
}

// describedCalendar is the reply of the verbs that answer with a calendar.
const describedCalendar = "the calendar, with info: what became of it"

// calendarEndpoints returns the verbs about named calendars.
func calendarEndpoints(s *schedules.Service) []*endpoint {
	return []*endpoint{
		{
			thing: subjects.ThingCalendar, verb: "create", http: "POST calendars 201",
			summary: "Create a named calendar; idempotent by requestId",
			handle:  writes(s.Calendars.Create),
			request: "{name, dates?, windows?, requestId?}", reply: describedCalendar,
		},
		{
			thing: subjects.ThingCalendar, verb: "update", http: "PUT calendars/{name}",
			summary: "Replace dates and windows, and plan all schedules anew that use the calendar; idempotent by requestId",
			handle:  writes(s.Calendars.Update),
			request: "{name, dates?, windows?, conflictToken?, requestId?}", reply: describedCalendar,
		},
		{
			thing: subjects.ThingCalendar, verb: "delete", http: "DELETE calendars/{name}",
			summary: "Delete a calendar that no schedule uses; idempotent by requestId",
			handle:  writes(s.Calendars.Delete), request: "{name, conflictToken?, requestId?}", reply: "{}",
		},
		{
			thing: subjects.ThingCalendar, verb: "describe", http: "GET calendars/{name}", summary: "Describe a calendar",
			handle: reads(s.Calendars.Describe), request: "{name}", reply: describedCalendar,
		},
		{
			thing: subjects.ThingCalendar, verb: "list", http: "GET calendars", summary: "List the calendars of the namespace by name",
			handle: reads(s.Calendars.List), request: "{pageSize?, pageToken?, prefix?}", reply: "{calendars, nextPageToken?}",
		},
	}
}

// bulkEndpoints returns the verbs about bulk operations.
func bulkEndpoints(s *schedules.Service) []*endpoint {
	const describedBulk = "the operation, with how far it has come"
	return []*endpoint{
		{
			thing: subjects.ThingBulk, verb: "start", http: "POST bulk-operations 202",
			summary: "Pause, unpause, trigger, delete or label many schedules in the background; idempotent by requestId",
			handle:  writes(s.Bulk.Start),
			request: "{operation, query? | prefix? | ids? | all?, note?, overlap?, label?, runs?, rate?, dryRun?, requestId?}",
			reply:   "{jobId, count, ids?}",
		},
		{
			thing: subjects.ThingBulk, verb: "describe", http: "GET bulk-operations/{jobId}",
			summary: "Describe a bulk operation", handle: reads(s.Bulk.Describe),
			request: "{jobId}", reply: describedBulk,
		},
		{
			thing: subjects.ThingBulk, verb: "list", http: "GET bulk-operations",
			summary: "List the bulk operations of the namespace, the newest first",
			handle:  reads(s.Bulk.List), request: "{pageSize?, pageToken?}", reply: "{operations, nextPageToken?}",
		},
		{
			thing: subjects.ThingBulk, verb: "cancel", http: "POST bulk-operations/{jobId}/cancel",
			summary: "End a bulk operation; what it has done stays done",
			handle:  writes(s.Bulk.Cancel), request: "{jobId}", reply: describedBulk,
		},
	}
}

// describedNamespace is the reply of the verbs that answer with a namespace.
const describedNamespace = "{name, description?, limits, freeze?, deleting?, info, conflictToken}"

// namespaceEndpoints returns the verbs about namespaces.
func namespaceEndpoints(s *schedules.Service) []*endpoint {
	all := []*endpoint{
		{
			verb: "create", http: "POST /namespaces/{namespace} 201", summary: "Create a namespace; idempotent by requestId", handle: writes(s.Registry.Create),
			request: "{description?, limits?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "update", http: "PUT /namespaces/{namespace}", summary: "Replace description and limits; idempotent by requestId",
			handle:  writes(s.Registry.Update),
			request: "{description?, limits?, conflictToken?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "delete", http: "DELETE /namespaces/{namespace}", summary: "Delete a namespace in the background, by force with all its schedules",
			handle:  writes(s.Registry.Delete),
			request: "{force?, runs?, conflictToken?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "freeze", http: "POST freeze", summary: "Stop the automated actions of a namespace; idempotent by requestId",
			handle:  writes(s.Registry.Freeze),
			request: "{reason, until?, for?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "unfreeze", http: "POST unfreeze", summary: "Resume the automated actions of a namespace; idempotent by requestId",
			handle:  writes(s.Registry.Unfreeze),
			request: "{requestId?}", reply: describedNamespace,
		},
		{
			verb: "describe", http: "GET /namespaces/{namespace}", summary: "Describe a namespace", handle: reads(s.Registry.Describe),
			request: "{}", reply: "the namespace, with info.usage: what it makes of its limits",
		},
		{
			verb: "list", http: "GET /namespaces",
			summary: "List the namespaces by name, on the subject without one", handle: reads(s.Registry.List),
			request: "{pageSize?, pageToken?}", reply: "{namespaces, nextPageToken?}",
		},
	}
	for _, e := range all {
		e.thing = subjects.ThingNamespace
	}
	return all
}
