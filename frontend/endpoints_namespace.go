package frontend

import "github.com/carillon-scheduler/carillon/subjects"

// describedNamespace is the reply of the verbs that answer with a namespace.
const describedNamespace = "{name, description?, limits, freeze?, deleting?, info, conflictToken}"

// namespaceEndpoints are the verbs about namespaces.
func (a *api) namespaceEndpoints() []*endpoint {
	all := []*endpoint{
		{
			verb: "create", summary: "Create a namespace; idempotent by requestId", handle: writes(a.createNamespace),
			request: "{description?, limits?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "update", summary: "Replace description and limits; idempotent by requestId",
			handle:  writes(a.updateNamespace),
			request: "{description?, limits?, conflictToken?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "delete", summary: "Delete a namespace in the background, by force with all its schedules",
			handle:  writes(a.deleteNamespace),
			request: "{force?, runs?, conflictToken?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "freeze", summary: "Stop the automated actions of a namespace; idempotent by requestId",
			handle:  writes(a.freezeNamespace),
			request: "{reason, until?, for?, requestId?}", reply: describedNamespace,
		},
		{
			verb: "unfreeze", summary: "Resume the automated actions of a namespace; idempotent by requestId",
			handle:  writes(a.unfreezeNamespace),
			request: "{requestId?}", reply: describedNamespace,
		},
		{
			verb: "describe", summary: "Describe a namespace", handle: reads(a.describeNamespace),
			request: "{}", reply: "the namespace, with info.usage: what it makes of its limits",
		},
		{
			verb: "list", summary: "List the namespaces by name, on the subject without one", handle: reads(a.listNamespaces),
			request: "{pageSize?, pageToken?}", reply: "{namespaces, nextPageToken?}",
		},
	}
	for _, e := range all {
		e.thing = subjects.ThingNamespace
	}
	return all
}
