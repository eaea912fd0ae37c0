package metrics

import (
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The values of attributes that have no type of their own elsewhere.
const (
	SourceAutomatic = "automatic"
	SourceManual    = "manual"

	PolicyOnRequest = "on_request"

	MissedCatchup    = "catchup_window"
	MissedSuperseded = "superseded"

	DropBufferFull   = "buffer_full"
	DropPaused       = "paused"
	DropFrozen       = "frozen"
	DropOutOfActions = "out_of_actions"
	DropCanceled     = "canceled"
	DropStartFailed  = "start_failed"
	DropRefused      = "refused"
	DropGone         = "schedule_gone"

	RequestTrigger  = "trigger"
	RequestBackfill = "backfill"

	FinishedCompleted = "completed"
	FinishedCanceled  = "canceled"
	FinishedGone      = "schedule_gone"

	TransitionDone  = "done"
	TransitionHold  = "hold"
	TransitionRest  = "rest"
	TransitionRetry = "retry"

	AttemptRetry    = "retry"
	AttemptReturned = "returned"
	AttemptDropped  = "dropped"

	CodeOK = "ok"

	LimitRequests  = "requests"
	LimitSchedules = "schedules"
	LimitLists     = "lists"
	LimitPolls     = "polls"

	AdmittedYes = "admitted"
	AdmittedNo  = "refused"

	OutcomeOK       = "ok"
	OutcomeConflict = "conflict"
	OutcomeNotFound = "not_found"
	OutcomeError    = "error"

	DirectionReceive  = "receive"
	DirectionTransmit = "transmit"

	FindingMended = "mended"
	FindingLeft   = "left"
	FindingFailed = "failed"

	TimerDue       = "due"
	TimerGuard     = "guard"
	TimerRetry     = "retry"
	TimerBackfill  = "backfill"
	TimerTimeout   = "timeout"
	TimerExecution = "execution"
	TimerOther     = "other"

	PollTask  = "task"
	PollEmpty = "empty"

	OfferedNew     = "new"
	OfferedBacklog = "backlog"

	OfferTaken  = "taken"
	OfferBusy   = "busy"
	OfferNobody = "nobody"

	StickyTaken  = "taken"
	StickyMissed = "missed"

	BacklogStarted   = "started"
	BacklogForgotten = "forgotten"
	BacklogReturned  = "returned"
	BacklogFailed    = "failed"
	BacklogDead      = "dead"

	HistoryOK      = "ok"
	HistoryRefused = "refused"

	HistoryCached  = "cache"
	HistoryTail    = "tail"
	HistoryJournal = "journal"

	UsedTurns   = "turns"
	UsedEffects = "effects"
	UsedOffers  = "offers"
	UsedMemory  = "memory"

	RoutedOwner   = "owner"
	RoutedGone    = "gone"
	RoutedAnybody = "anybody"

	WatchedSkipped = "skipped"
	WatchedMissed  = "missed"
	WatchedDropped = "dropped"
)

var (
	aNamespace = Attribute{Name: "namespace", Means: "the namespaces there are"}
	aQueue     = Attribute{Name: "task_queue", Means: "the first task queues there are, and (other)"}
	aTaskKind  = Attribute{Name: "kind", Values: []string{string(subjects.QueueWorkflow), string(subjects.QueueActivity)}}
	aSource    = Attribute{Name: "source", Values: []string{SourceAutomatic, SourceManual}}
	aStatus    = Attribute{Name: "status", Values: texts(schedule.Statuses())}
	aPool      = Attribute{Name: "pool", Values: subjects.Pools()}
	aRequest   = Attribute{Name: "kind", Values: []string{RequestTrigger, RequestBackfill}}
	aRecord    = Attribute{
		Name: "record", Values: []string{"definition", "generator", "invoker", "backfill", "result", "rate", "other"},
	}
	aStream    = Attribute{Name: "stream", Means: "the streams of the installation"}
	aConsumer  = Attribute{Name: "consumer", Means: "the consumers of the stream: one for each pool, or of task queues, and (other)"}
	aDirection = Attribute{Name: "direction", Values: []string{DirectionReceive, DirectionTransmit}}
	aJob       = Attribute{Name: "kind", Means: "the kinds of background jobs"}
	aSchedule  = Attribute{Name: "schedule_id", Means: "the schedules that are watched"}
)

func texts[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return texts
}

func oneOf(name string, values ...string) Attribute { return Attribute{Name: name, Values: values} }

// The buckets of histograms of seconds.
var (
	// latencyBuckets are for the delays of due work: from a millisecond to an hour.
	latencyBuckets = []float64{
		0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
	}
	// durationBuckets are for the work of users: from 10 ms to a day.
	durationBuckets = []float64{0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 1800, 3600, 14400, 43200, 86400}
	// requestBuckets are for operations that use the network once or a few times.
	requestBuckets = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
	// rpcBuckets are for requests and work that may wait for something to happen.
	rpcBuckets = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 90}
)
