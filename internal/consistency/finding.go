package consistency

import (
	"cmp"
	"slices"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Kind says in one word what is inconsistent. The set is small and fixed.
type Kind string

// The kinds of inconsistency.
const (
	// GeneratorMissing: a schedule has no record of its generator, and no process is about to make one.
	GeneratorMissing Kind = "generator_missing"
	// DueTimerMissing: nothing will wake the generator when the next action is due.
	DueTimerMissing Kind = "due_timer_missing"
	// ChangeUnseen: nothing will tell the generator of the newest version of the definition.
	ChangeUnseen Kind = "change_unseen"
	// ZoneOutdated: the future times were computed with other rules of the time zone than those of this process.
	ZoneOutdated Kind = "zone_outdated"
	// HandOffLost: the generator has handed over due actions that have not reached the invoker.
	HandOffLost Kind = "handoff_lost"
	// InvokerMissing: actions have been handed to the invoker, but its record is gone.
	InvokerMissing Kind = "invoker_missing"
	// StartsStalled: starts or cancels are to be executed, but nothing will wake the invoker.
	StartsStalled Kind = "starts_stalled"
	// RunLost: a run counts as running, but it is in no queue, no worker has it, and it has no completion.
	RunLost Kind = "run_lost"
	// RunOrphaned: a run waits in its queue, but its schedule is gone or has been replaced.
	RunOrphaned Kind = "run_orphaned"
	// CompletionDead and RequestDead: the completion, or the start request, of a run is a dead letter.
	CompletionDead Kind = "completion_dead"
	RequestDead    Kind = "request_dead"
	// TaskStranded: the consumer of a pool has skipped a message.
	TaskStranded Kind = "task_stranded"
	// SourceStale: the invoker keeps room for a backfill that is over.
	SourceStale Kind = "source_stale"
	// BackfillStalled: a trigger or backfill is not over, but nothing will wake the backfiller.
	BackfillStalled Kind = "backfill_stalled"
	// BackfillOrphaned: a trigger or backfill belongs to a schedule that is gone.
	BackfillOrphaned Kind = "backfill_orphaned"
	// RecordOrphaned and TimerOrphaned: they belong to a schedule that is gone.
	RecordOrphaned Kind = "record_orphaned"
	TimerOrphaned  Kind = "timer_orphaned"
	// RecordDamaged: a record cannot be read. RecordForeign: a record says that another release wrote it.
	RecordDamaged Kind = "record_damaged"
	RecordForeign Kind = "record_foreign"

	// EndUntold: a workflow that a schedule or another workflow has started has ended, and nobody has told whoever started it.
	EndUntold Kind = "end_untold"
	// JournalDamaged: the journal of a workflow cannot be replayed. JournalForeign: it has an entry of another format version.
	JournalDamaged Kind = "journal_damaged"
	JournalForeign Kind = "journal_foreign"
	// DeadlineMissing: nothing will wake history when a workflow has its next deadline.
	DeadlineMissing Kind = "deadline_missing"
	// TaskMissing: a task of a workflow waits for a worker, and is in no queue.
	TaskMissing Kind = "task_missing"
	// WorkMissing: what an event of a workflow asks of another workflow has not been done.
	WorkMissing Kind = "work_missing"
	// RunExpired: a workflow has ended, its namespace has kept it for its retention, and it is still there.
	RunExpired Kind = "run_expired"
	// TaskOrphaned: a task waits in its queue, and there is no such workflow.
	TaskOrphaned Kind = "task_orphaned"
)

// Finding is one inconsistency of one schedule, or of one workflow.
type Finding struct {
	Kind      Kind   `json:"kind"`
	Namespace string `json:"namespace"`
	// ScheduleID names the schedule, or WorkflowID the workflow. The other one is empty.
	ScheduleID string `json:"scheduleId,omitempty"`
	WorkflowID string `json:"workflowId,omitempty"`
	// About names the run, backfill, record, task or message, if the schedule or the workflow alone does not say enough.
	About string `json:"about,omitempty"`
	// What says what is wrong. Repair says what the repair does or, if the finding is not Repairable, what a person can do. Each is one
	// clause.
	What       string `json:"what"`
	Repair     string `json:"repair"`
	Repairable bool   `json:"repairable"`
	// Repaired is set if the finding was mended and another look found it gone. Problem is why it could not be mended.
	Repaired bool   `json:"repaired,omitempty"`
	Problem  string `json:"problem,omitempty"`

	// evidence is the state of the fault. If another look finds another state, it has found something else.
	evidence string
	// mend is nil if a repair is impossible.
	mend mend
	// asked is set if the finding is mended only at a person's request.
	asked bool
	// stray is the run that a [RunOrphaned] finding is about.
	stray *stray
	// task is the task that a [TaskOrphaned] finding is about.
	task *strayTask
}

// Key returns the key of the schedule or workflow concerned.
func (f *Finding) Key() schedule.Key {
	return schedule.Key{Namespace: f.Namespace, ID: cmp.Or(f.WorkflowID, f.ScheduleID)}
}

// Automatic reports whether a [Scrubber] mends the finding.
func (f *Finding) Automatic() bool { return f.mend != nil && !f.asked }

// fault is what a finding is about: a kind of fault in one thing. What state that is in does not matter.
type fault struct {
	kind                                 Kind
	namespace, schedule, workflow, about string
}

func (f *Finding) fault() fault {
	return fault{f.Kind, f.Namespace, f.ScheduleID, f.WorkflowID, f.About}
}

// evidenceOf returns the states in which each fault was found.
func evidenceOf(findings []Finding) map[fault][]string {
	all := make(map[fault][]string, len(findings))
	for i := range findings {
		f := &findings[i]
		all[f.fault()] = append(all[f.fault()], f.evidence)
	}
	return all
}

// moved returns the findings of the second look that the first look found in another state.
func moved(first, second []Finding) (others []Finding) {
	before := evidenceOf(first)
	for i := range second {
		if evidence := before[second[i].fault()]; len(evidence) > 0 && !slices.Contains(evidence, second[i].evidence) {
			others = append(others, second[i])
		}
	}
	return others
}

// confirmed returns the findings of the second look that the first look found as well.
func confirmed(first, second []Finding) (both []Finding) {
	before := evidenceOf(first)
	for i := range second {
		if slices.Contains(before[second[i].fault()], second[i].evidence) {
			both = append(both, second[i])
		}
	}
	return both
}
