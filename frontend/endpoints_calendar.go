package frontend

import "github.com/carillon-scheduler/carillon/subjects"

// describedCalendar is the reply of the verbs that answer with a calendar.
const describedCalendar = "the calendar, with info: what became of it"

// calendarEndpoints are the verbs about named calendars.
func (a *api) calendarEndpoints() []*endpoint {
	return []*endpoint{
		{
			thing: subjects.ThingCalendar, verb: "create", summary: "Create a named calendar; idempotent by requestId",
			handle:  writes(a.calendars.Create),
			request: "{name, dates?, windows?, requestId?}", reply: describedCalendar,
		},
		{
			thing: subjects.ThingCalendar, verb: "update",
			summary: "Replace dates and windows, and plan all schedules anew that use the calendar; idempotent by requestId",
			handle:  writes(a.calendars.Update),
			request: "{name, dates?, windows?, conflictToken?, requestId?}", reply: describedCalendar,
		},
		{
			thing: subjects.ThingCalendar, verb: "delete", summary: "Delete a calendar that no schedule uses; idempotent by requestId",
			handle: writes(a.calendars.Delete), request: "{name, conflictToken?, requestId?}", reply: "{}",
		},
		{
			thing: subjects.ThingCalendar, verb: "describe", summary: "Describe a calendar",
			handle: reads(a.calendars.Describe), request: "{name}", reply: describedCalendar,
		},
		{
			thing: subjects.ThingCalendar, verb: "list", summary: "List the calendars of the namespace by name",
			handle: reads(a.calendars.List), request: "{pageSize?, pageToken?, prefix?}", reply: "{calendars, nextPageToken?}",
		},
	}
}
