package frontend

import "github.com/carillon-scheduler/carillon/subjects"

// bulkEndpoints are the verbs about bulk operations.
func (a *api) bulkEndpoints() []*endpoint {
	const describedBulk = "the operation, with how far it has come"
	return []*endpoint{
		{
			thing: subjects.ThingBulk, verb: "start",
			summary: "Pause, unpause, trigger, delete or label many schedules in the background; idempotent by requestId",
			handle:  writes(a.bulk.Start),
			request: "{operation, query? | prefix? | ids? | all?, note?, overlap?, label?, runs?, rate?, dryRun?, requestId?}",
			reply:   "{jobId, count, ids?}",
		},
		{
			thing: subjects.ThingBulk, verb: "describe", summary: "Describe a bulk operation", handle: reads(a.bulk.Describe),
			request: "{jobId}", reply: describedBulk,
		},
		{
			thing: subjects.ThingBulk, verb: "list", summary: "List the bulk operations of the namespace, the newest first",
			handle: reads(a.bulk.List), request: "{pageSize?, pageToken?}", reply: "{operations, nextPageToken?}",
		},
		{
			thing: subjects.ThingBulk, verb: "cancel", summary: "End a bulk operation; what it has done stays done",
			handle: writes(a.bulk.Cancel), request: "{jobId}", reply: describedBulk,
		},
	}
}
