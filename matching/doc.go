// Package matching is the pool that brings the tasks in the backlog together with the polls that wait for them.
//
// Most tasks never come here: history offers a new task to the polls itself (internal/offer), and stores it in the backlog only if no poll
// takes it. Matching then serves the backlog, queue by queue: it takes a task, offers it, and asks history to start it and to hand it to the
// poll that was found. A task that history no longer wants is forgotten. Nothing is decided here, and nothing that another process needs is
// kept here: a task stays in the backlog until history has started it, and any process may do all of this at any time.
//
//   - A [Matching] begins to drain a queue on a hint, and looks for queues with a backlog every few seconds. A drain ends when the backlog is
//     empty or nobody polls. Each queue has a drain of its own, with its own limit, so that none waits for another.
//     A drain takes the most urgent tasks first (levels).
//   - A [Starter] asks history. [NewStarter] is the one that asks over NATS.
//
// The package imports schedule, subjects and internal packages, and no other pool. It must never decide what becomes of an execution.
package matching
