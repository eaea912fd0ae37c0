package metrics

import (
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	byInvoker    = subjects.PoolInvoker
	byGenerator  = subjects.PoolGenerator
	byBackfiller = subjects.PoolBackfiller
	byWorker     = "worker"
	byFrontend   = "frontend"
	byAll        = "every role"
)

var byPools = strings.Join(subjects.Pools(), ", ")

// What becomes of due actions, and of the runs that are started.
var (
	HandedOver = newCounter(GroupRuns, Instrument{
		Name: "carillon.action.handed_over", Unit: "{action}", By: byGenerator,
		Description: "Automated actions that a generator has handed to the invoker.",
		Attributes:  []Attribute{aNamespace},
	})
	HandOverLatency = newHistogram(GroupRuns, Instrument{
		Name: "carillon.action.handover_latency", Unit: "s", By: byGenerator, Buckets: latencyBuckets,
		Description: "From the time at which an automated action was due until it was handed to the invoker.",
		Attributes:  []Attribute{aNamespace},
	})
	Deferred = newCounter(GroupRuns, Instrument{
		Name: "carillon.action.deferred", Unit: "{action}", By: byInvoker,
		Description: "Actions that began to wait for a run to end, by overlap policy.",
		Attributes:  []Attribute{aNamespace, oneOf("policy", texts(schedule.OverlapPolicies())...)},
	})
	Delayed = newCounter(GroupRuns, Instrument{
		Name: "carillon.invoker.delayed", Unit: "{start}", By: byInvoker,
		Description: "Starts that a limit of their namespace delayed.",
		Attributes: []Attribute{
			aNamespace, oneOf("reason", string(schedule.DelayActionRate), string(schedule.DelayPendingRuns)),
		},
	})
	Skipped = newCounter(GroupRuns, Instrument{
		Name: "carillon.action.skipped", Unit: "{action}", By: byInvoker,
		Description: "Actions given up by their overlap policy, or because somebody has asked to skip them.",
		Attributes:  []Attribute{aNamespace, oneOf("policy", append(texts(schedule.OverlapPolicies()), PolicyOnRequest)...)},
	})
	Missed = newCounter(GroupRuns, Instrument{
		Name: "carillon.action.missed", Unit: "{action}", By: byInvoker,
		Description: "Automated actions given up because they were later than the catch-up window, or a newer one was due as well.",
		Attributes:  []Attribute{aNamespace, oneOf("reason", MissedCatchup, MissedSuperseded)},
	})
	Dropped = newCounter(GroupRuns, Instrument{
		Name: "carillon.action.dropped", Unit: "{action}", By: byInvoker,
		Description: "Actions given up for any other reason.",
		Attributes: []Attribute{aNamespace, oneOf("reason", DropBufferFull, DropPaused, DropFrozen, DropOutOfActions, DropCanceled,
			DropStartFailed, DropRefused, DropGone)},
	})
	Frozen = newCounter(GroupRuns, Instrument{
		Name: "carillon.generator.frozen", Unit: "{action}", By: byGenerator,
		Description: "Due actions that a freeze of their namespace kept from starting; they are among the dropped ones too.",
		Attributes:  []Attribute{aNamespace},
	})
	Buffered = newHistogram(GroupRuns, Instrument{
		Name: "carillon.buffer.starts", Unit: "{start}", By: byInvoker,
		Description: "How many starts of one schedule wait, each time its buffer is stored.",
		Attributes:  []Attribute{aNamespace}, Buckets: []float64{0, 1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2000},
	})
	Started = newCounter(GroupRuns, Instrument{
		Name: "carillon.run.started", Unit: "{run}", By: byInvoker,
		Description: "Runs that were put on their task queue.",
		Attributes:  []Attribute{aNamespace, aQueue, aSource},
	})
	StartLatency = newHistogram(GroupRuns, Instrument{
		Name: "carillon.run.start_latency", Unit: "s", By: byInvoker, Buckets: latencyBuckets,
		Description: "From the time at which an automated action was due until its run was put on its task queue.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	StartRetried = newCounter(GroupRuns, Instrument{
		Name: "carillon.run.start_retried", Unit: "{start}", By: byInvoker,
		Description: "Starts that did not succeed and will be tried again. Those given up are dropped ones.",
		Attributes:  []Attribute{aNamespace},
	})
	EndRequested = newCounter(GroupRuns, Instrument{
		Name: "carillon.run.end_requested", Unit: "{run}", By: byInvoker,
		Description: "Runs that were asked to end, by an overlap policy or a person.",
		Attributes:  []Attribute{aNamespace, oneOf("kind", string(schedule.ControlCancel), string(schedule.ControlTerminate))},
	})
	Completed = newCounter(GroupRuns, Instrument{
		Name: "carillon.run.completed", Unit: "{run}", By: byInvoker,
		Description: "Runs that have ended.",
		Attributes:  []Attribute{aNamespace, aQueue, aStatus},
	})
	CompletionLatency = newHistogram(GroupRuns, Instrument{
		Name: "carillon.run.completion_latency", Unit: "s", By: byInvoker, Buckets: latencyBuckets,
		Description: "From the time at which an automated action was due until its run had ended.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	Lateness = newHistogram(GroupRuns, Instrument{
		Name: "carillon.run.lateness", Unit: "s", By: byInvoker, Buckets: latencyBuckets,
		Description: "From the time at which an automated action was due until a worker's code began. It is known when the run ends.",
		Attributes:  []Attribute{aNamespace, aQueue},
	})
	RunDuration = newHistogram(GroupRuns, Instrument{
		Name: "carillon.run.duration", Unit: "s", By: byInvoker, Buckets: durationBuckets,
		Description: "From when a worker's code first began until the run had ended.",
		Attributes:  []Attribute{aNamespace, aQueue, aStatus},
	})
	PausedOnFailure = newCounter(GroupRuns, Instrument{
		Name: "carillon.schedule.paused_on_failure", Unit: "{schedule}", By: byInvoker,
		Description: "Schedules that were paused because a run has failed.",
		Attributes:  []Attribute{aNamespace},
	})
)

// Triggers and backfills.
var (
	BackfillRemaining = newHistogram(GroupBackfills, Instrument{
		Name: "carillon.backfill.remaining", Unit: "{action}", By: byBackfiller,
		Description: "How many actions a backfill has yet to hand over, each time some were.",
		Attributes:  []Attribute{aNamespace}, Buckets: []float64{0, 1, 10, 100, 1000, 10000, 100000, 1000000},
	})
	BackfillHandedOver = newCounter(GroupBackfills, Instrument{
		Name: "carillon.backfill.handed_over", Unit: "{action}", By: byBackfiller,
		Description: "Actions that backfills have handed to the invoker.",
		Attributes:  []Attribute{aNamespace},
	})
	RequestFinished = newCounter(GroupBackfills, Instrument{
		Name: "carillon.backfill.finished", Unit: "{request}", By: byBackfiller,
		Description: "Triggers and backfills that are over.",
		Attributes: []Attribute{
			aNamespace, aRequest, oneOf("outcome", FinishedCompleted, FinishedCanceled, FinishedGone),
		},
	})
)

// The few schedules that [Watch] names.
var (
	WatchedStarted = newCounter(GroupWatched, Instrument{
		Name: "carillon.watched.started", Unit: "{run}", By: byInvoker,
		Description: "Runs of a watched schedule that were put on their task queue.",
		Attributes:  []Attribute{aNamespace, aSchedule, aSource},
	})
	WatchedCompleted = newCounter(GroupWatched, Instrument{
		Name: "carillon.watched.completed", Unit: "{run}", By: byInvoker,
		Description: "Runs of a watched schedule that have ended.",
		Attributes:  []Attribute{aNamespace, aSchedule, aStatus},
	})
	WatchedUnstarted = newCounter(GroupWatched, Instrument{
		Name: "carillon.watched.unstarted", Unit: "{action}", By: byInvoker,
		Description: "Actions of a watched schedule that were given up.",
		Attributes:  []Attribute{aNamespace, aSchedule, oneOf("outcome", WatchedSkipped, WatchedMissed, WatchedDropped)},
	})
	WatchedStartLatency = newHistogram(GroupWatched, Instrument{
		Name: "carillon.watched.start_latency", Unit: "s", By: byInvoker, Buckets: latencyBuckets,
		Description: "carillon.run.start_latency of a watched schedule.",
		Attributes:  []Attribute{aNamespace, aSchedule},
	})
	WatchedCompletionLatency = newHistogram(GroupWatched, Instrument{
		Name: "carillon.watched.completion_latency", Unit: "s", By: byInvoker, Buckets: latencyBuckets,
		Description: "carillon.run.completion_latency of a watched schedule.",
		Attributes:  []Attribute{aNamespace, aSchedule},
	})
	WatchedLateness = newHistogram(GroupWatched, Instrument{
		Name: "carillon.watched.lateness", Unit: "s", By: byInvoker, Buckets: latencyBuckets,
		Description: "carillon.run.lateness of a watched schedule.",
		Attributes:  []Attribute{aNamespace, aSchedule},
	})
	WatchedBuffered = newHistogram(GroupWatched, Instrument{
		Name: "carillon.watched.buffer.starts", Unit: "{start}", By: byInvoker, Buckets: Buffered.Buckets,
		Description: "carillon.buffer.starts of a watched schedule.",
		Attributes:  []Attribute{aNamespace, aSchedule},
	})
)
