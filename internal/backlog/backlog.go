// Package backlog says how the tasks of executions stand in the backlog: [TaskOf].
//
// Who puts them there, and who looks whether they are there, must agree on that. It is apart from internal/offer, which libraries of ours import, so that
// those need not know executions. Only history and internal/consistency import the package. It may import execution, internal/offer, schedule and subjects. It must
// have no state and no I/O.
package backlog

import (
	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TaskOf returns a task of a workflow ID that waits for a worker, and the queue where it is offered first.
func TaskOf(key schedule.Key, o *execution.Offer) (offer.Queue, offer.Task) {
	queue := offer.Queue{Namespace: key.Namespace, Kind: offer.Workflow, Name: o.Queue}
	if o.Activity {
		queue.Kind = offer.Activity
	}
	priority := subjects.PriorityOf(o.Priority)
	if priority == subjects.DefaultPriority {
		priority = 0
	}
	return queue, offer.Task{
		Namespace: key.Namespace, WorkflowID: key.ID, RunID: o.RunID, Kind: queue.Kind, EventID: o.Event, Attempt: o.Attempt, Stamp: o.Stamp,
		Priority: priority, Scheduled: o.Scheduled, Expires: o.Expires,
	}
}
