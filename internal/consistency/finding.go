package consistency

import (
	"slices"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Kind says in one word what is inconsistent. The set is small and fixed.
type Kind string

// The kinds of inconsistency.
const (
	// GeneratorMissing: a schedule has no record of its generator, and nobody is about to make one.
	GeneratorMissing Kind = "generator_missing"
	// DueTimerMissing: nothing will wake the generator when the next action is due.
	DueTimerMissing Kind = "due_timer_missing"
	// ChangeUnseen: nothing will tell the generator of the newest version of the definition.
	ChangeUnseen Kind = "change_unseen"
	// ZoneOutdated: the times to come were worked out by other rules of the time zone than those of this process.
	ZoneOutdated Kind = "zone_outdated"
	// HandOffLost: due actions have left the generator and not reached the invoker.
	HandOffLost Kind = "handoff_lost"
	// InvokerMissing: actions have been handed to the invoker, and its record is gone.
	InvokerMissing Kind = "invoker_missing"
	// StartsStalled: starts or cancels are to be carried out, and nothing will wake the invoker.
	StartsStalled Kind = "starts_stalled"
	// RunLost: a run counts as running, and is in no queue, with no worker, and has no completion.
	RunLost Kind = "run_lost"
	// RunOrphaned: a run waits in its queue, and its schedule is gone, or another one by now.
	RunOrphaned Kind = "run_orphaned"
	// CompletionDead and RequestDead: the completion, or the start request, of a run is a dead letter.
	CompletionDead Kind = "completion_dead"
	RequestDead    Kind = "request_dead"
	// TaskStranded: the consumer of a pool has passed over a message.
	TaskStranded Kind = "task_stranded"
	// SourceStale: the invoker keeps room for a backfill that is over.
	SourceStale Kind = "source_stale"
	// BackfillStalled: a trigger or backfill is not over, and nothing will wake the backfiller.
	BackfillStalled Kind = "backfill_stalled"
	// BackfillOrphaned: a trigger or backfill belongs to a schedule that is gone.
	BackfillOrphaned Kind = "backfill_orphaned"
	// RecordOrphaned and TimerOrphaned: they belong to a schedule that is gone.
	RecordOrphaned Kind = "record_orphaned"
	TimerOrphaned  Kind = "timer_orphaned"
	// RecordDamaged: a record cannot be read. RecordForeign: it says that it is of another release.
	RecordDamaged Kind = "record_damaged"
	RecordForeign Kind = "record_foreign"
)

// Finding is one inconsistency of one schedule.
type Finding struct {
	Kind       Kind   `json:"kind"`
	Namespace  string `json:"namespace"`
	ScheduleID string `json:"scheduleId"`
	// About names the run, backfill, record or message concerned, where the schedule does not say enough.
	About string `json:"about,omitempty"`
	// What is wrong, and what Repair does about it or, if it is not Repairable, what a person can do; in one clause each.
	What       string `json:"what"`
	Repair     string `json:"repair"`
	Repairable bool   `json:"repairable"`
	// Repaired says that it was mended, and that another look has found it gone. Problem is why it could not be.
	Repaired bool   `json:"repaired,omitempty"`
	Problem  string `json:"problem,omitempty"`

	// evidence is the state of what is wrong: another look that finds it in another state has found something else.
	evidence string
	// mend is nil for what cannot be repaired.
	mend mend
	// asked says that it is not mended unless a person asks.
	asked bool
	// stray is the run that a [RunOrphaned] is about.
	stray *stray
}

// Key returns the schedule concerned.
func (f *Finding) Key() schedule.Key { return schedule.Key{Namespace: f.Namespace, ID: f.ScheduleID} }

// Automatic reports whether a [Scrubber] mends it.
func (f *Finding) Automatic() bool { return f.mend != nil && !f.asked }

// same reports whether two looks have found the same thing.
func (f *Finding) same(other *Finding) bool {
	return f.concerns(*other) && f.evidence == other.evidence
}

// concerns reports whether two looks have found something of one kind about the same thing, in whatever state.
func (f *Finding) concerns(other Finding) bool {
	return f.Kind == other.Kind && f.Key() == other.Key() && f.About == other.About
}

// moved returns the findings of the second of two looks that the first has in another state.
func moved(first, second []Finding) []Finding {
	var others []Finding
	for i := range second {
		same := func(f Finding) bool { return f.same(&second[i]) }
		if slices.ContainsFunc(first, second[i].concerns) && !slices.ContainsFunc(first, same) {
			others = append(others, second[i])
		}
	}
	return others
}

// confirmed returns the findings of the second of two looks that the first has, too.
func confirmed(first, second []Finding) []Finding {
	var both []Finding
	for i := range second {
		for j := range first {
			if first[j].same(&second[i]) {
				both = append(both, second[i])
				break
			}
		}
	}
	return both
}
