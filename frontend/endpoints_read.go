package frontend

// readEndpoints are the verbs that change nothing.
func (a *api) readEndpoints() []*endpoint {
	return []*endpoint{
		{
			verb: "describe", summary: "Describe a schedule", handle: reads(a.describe),
			request: "{id}", reply: described,
		},
		{
			verb: "list", summary: "List the schedules of the namespace by ID, or those that a query finds", handle: reads(a.list),
			request: "{pageSize?, pageToken?, prefix?, query?}", reply: "{schedules, nextPageToken?, indexedUpTo?}",
		},
		{
			verb: "count", summary: "Count the schedules of the namespace, or those that a query finds", handle: reads(a.count),
			request: "{prefix?, query?}", reply: "{count, indexedUpTo?}",
		},
		{
			verb: "matchingTimes", summary: "List the times a schedule gives in a range", handle: reads(a.matchingTimes),
			request: "{id, from, to}", reply: "{times, more?}",
		},
		{
			verb: "preview", summary: "List the times of a spec that is not stored", handle: reads(a.preview),
			request: "{spec, id?, from?, count?}", reply: "{times, more?, words, warnings?}",
		},
		{
			verb: "history", summary: "Read the events of a schedule, or of the namespace", handle: reads(a.history),
			request: "{id?, kinds?, from?, to?, newest?, pageSize?, pageToken?}", reply: "{events, nextPageToken?}",
		},
		{
			verb: "runs", summary: "List the newest runs of a schedule, or of the namespace", handle: reads(a.runs),
			request: "{id?, status?, from?, pageSize?}", reply: "{runs}",
		},
		{
			verb: "run", summary: "Describe one run of a schedule", handle: reads(a.run),
			request: "{id, run}", reply: "the run, with events: what happened to it",
		},
	}
}
