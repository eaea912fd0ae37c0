// Package offer is how a task of a workflow execution and a worker's poll find each other over NATS, without anybody who knows all polls.
//
//   - [Polls] has the polls of a gateway. While polls wait on a queue, the gateway subscribes to offers for the queue. The subscription
//     lingers for a while after the last poll, because a worker usually comes back.
//   - [Offerer] offers a task: [Offerer.Offer] finds a poll and reserves it, [Offerer.Hand] gives it the task, or nothing, and then the
//     poll goes on waiting. [Offerer.Store] puts a task that nobody waits for into the backlog.
//   - [Polls.Limit] bounds how many tasks of a queue polls get in a second. The gateways of the queue count each other, and divide the limit.
//   - [WhoPolls] asks all gateways which workers poll a queue.
//   - [AskRates] asks all offerers how many tasks of a queue have come and gone of late. [Offerer.Count] counts them.
//   - [Task] and [Start] are what history, the backlog and matching tell each other.
//
// An offer goes to one of the gateways of the queue, which answers at once: with a poll, or that none is free. In the latter case a
// standing offer goes to all of them, and the first that gets a free poll takes it. If no gateway subscribes, NATS says so within
// microseconds.
//
// A poll may end at any moment, and a process may die at any moment, so a task that was handed may still not reach its worker. The task's
// timeout brings it back. A task that finds its poll gone goes to another poll of the queue.
//
// No task is left in the backlog while a poll waits for it: a gateway subscribes first and sends the hint afterwards; whoever stores a task
// stores it first and sends the hint afterwards; and matching acts on hints.
//
// Lines of polls (type line) and rates (type decaying) are pure. The package may import subjects, internal/bus, internal/codec, internal/metrics and
// internal/presence. It must never know what a task contains, or what becomes of one.
package offer
