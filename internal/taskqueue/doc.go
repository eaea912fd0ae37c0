// Package taskqueue looks at task queues from outside: whether a worker serves a queue, and which runs wait there.
//
// [Look] answers for one queue at one moment. A [Watcher] repeatedly looks at all queues where something waits. It keeps the
// metrics of the queues, and tells the event history when no worker has served one for too long (docs/semantics.md §10,
// EventNoWorker). Any number of watchers may run at once: together they tell each thing once. [AskTypes] asks the workers of a
// queue which action types they have.
//
// The package may import schedule, subjects, internal/bus, internal/events, internal/flood, internal/metrics, internal/namespaces
// and internal/presence. The pure type tracker decides what to tell, and when; everything else asks NATS.
package taskqueue
