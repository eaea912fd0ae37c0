package metrics

import "github.com/carillon-scheduler/carillon/schedule"

// The message loop that the pools share.
var (
	PoolMessages = newCounter(GroupPools, Instrument{
		Name: "carillon.pool.messages", Unit: "{message}", By: byPools,
		Description: "Task messages settled by a pool.",
		Attributes:  []Attribute{aPool, oneOf("outcome", "acked", "returned", "retried", "dead_letter")},
	})
	PoolRedelivered = newCounter(GroupPools, Instrument{
		Name: "carillon.pool.redelivered", Unit: "{message}", By: byPools,
		Description: "Task messages that had been delivered before.",
		Attributes:  []Attribute{aPool},
	})
	PoolIgnored = newCounter(GroupPools, Instrument{
		Name: "carillon.pool.ignored", Unit: "{message}", By: byInvoker,
		Description: "Messages that told a pool nothing new.",
		Attributes: []Attribute{
			aPool, oneOf("reason", "repeat", "other_incarnation", "unknown_request", "other_task_queue"),
		},
	})
	PoolTransition = newHistogram(GroupPools, Instrument{
		Name: "carillon.pool.transition.duration", Unit: "s", By: byPools, Buckets: requestBuckets,
		Description: "What it took to deal with the messages of one schedule that have come together.",
		Attributes:  []Attribute{aPool, oneOf("outcome", TransitionDone, TransitionHold, TransitionRest, TransitionRetry)},
	})
	PoolInFlight = newGauge(GroupPools, Instrument{
		Name: "carillon.pool.in_flight", Unit: "{message}", By: byPools,
		Description: "Task messages that a process works on, or holds until they are due.",
		Attributes:  []Attribute{aPool},
	})
	DeadLetters = newCounter(GroupPools, Instrument{
		Name: "carillon.deadletter.letters", Unit: "{letter}", By: byPools + ", " + byMatching + ", worker",
		Description: "Messages that could not be processed and were put into the dead letter stream.",
		Attributes:  []Attribute{{Name: "pool", Values: append([]string{}, append(aPool.Values, "worker")...)}},
	})
)

// Task queues, as an invoker sees them every 15 s.
var (
	QueueWaiting = newGauge(GroupQueues, Instrument{
		Name: "carillon.taskqueue.waiting", Unit: "{run}", By: byInvoker,
		Description: "Runs that wait for a worker of a task queue: its backlog.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	QueueOldest = newGauge(GroupQueues, Instrument{
		Name: "carillon.taskqueue.oldest_age", Unit: "s", By: byInvoker,
		Description: "How long the oldest of those runs has waited.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	QueueServed = newGauge(GroupQueues, Instrument{
		Name: "carillon.taskqueue.served", By: byInvoker,
		Description: "1 where a task queue has a worker, 0 where it has none.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	QueueHeld = newGauge(GroupQueues, Instrument{
		Name: "carillon.taskqueue.held", Unit: "{run}", By: byInvoker,
		Description: "Runs that workers of a task queue have been handed and have not acknowledged.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	QueuePulls = newGauge(GroupQueues, Instrument{
		Name: "carillon.taskqueue.pulls", Unit: "{request}", By: byInvoker,
		Description: "Requests of workers that wait for runs: about one for each worker that has room, in any language.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
)

// Workers made with the worker package.
var (
	WorkerConnected = newGauge(GroupWorkers, Instrument{
		Name: "carillon.worker.connected", By: byWorker,
		Description: "1 while a process serves a task queue and is connected to NATS, 0 while it is not connected.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	WorkerExecuting = newUpDown(GroupWorkers, Instrument{
		Name: "carillon.worker.executing", Unit: "{run}", By: byWorker,
		Description: "Runs whose handler is at work.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	WorkerAttempts = newCounter(GroupWorkers, Instrument{
		Name: "carillon.worker.attempts", Unit: "{attempt}", By: byWorker,
		Description: "Attempts at runs, by what came of them: the end of the run, or another attempt.",
		Attributes:  []Attribute{aNamespace, aQueue, attemptOutcome()},
	})
	WorkerAttemptDuration = newHistogram(GroupWorkers, Instrument{
		Name: "carillon.worker.attempt.duration", Unit: "s", By: byWorker, Buckets: durationBuckets,
		Description: "How long the handler of an attempt took.",
		Attributes:  []Attribute{aNamespace, aQueue, attemptOutcome()},
	})
	WorkerRedelivered = newCounter(GroupWorkers, Instrument{
		Name: "carillon.worker.redelivered", Unit: "{run}", By: byWorker,
		Description: "Runs that came again: to be retried, given back, or lost by another worker.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	HandlersLeft = newUpDown(GroupWorkers, Instrument{
		Name: "carillon.worker.handlers_left", Unit: "{handler}", By: byWorker,
		Description: "Handlers that go on although their runs were settled without them.",
	})
)

func attemptOutcome() Attribute {
	return oneOf("outcome", append(texts(schedule.Statuses()), AttemptRetry, AttemptReturned, AttemptDropped)...)
}
