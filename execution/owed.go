package execution

import (
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
)

// NormalPatience is how long a gateway that has just had a poll of a task queue may keep an offer for the next one.
const NormalPatience = 50 * time.Millisecond

// Offer is a task that waits for a worker.
type Offer struct {
	// Queue is the task queue. If it is a sticky queue, Normal is where the task goes if nobody is there; otherwise Normal is empty.
	Queue, Normal string
	// Activity says that it is a task of an activity, and not a workflow task.
	Activity bool
	RunID    string
	// Event is the ID of the event that scheduled the task, and Attempt its attempt. They identify the task within the run.
	Event   int64
	Attempt int32
	// Stamp is that of the activity.
	Stamp int32
	// Priority is the key of its priority as Temporal has it: 1 goes first, and 0 is the usual one.
	Priority int32
	// Scheduled is since when the task waits. Expires is when it times out; zero if it does not.
	Scheduled, Expires time.Time
	// Patience is how long a gateway that has just had a poll of the queue may keep the offer.
	Patience time.Duration
}

// Work is what an entry makes due, apart from its delayed message. Each part of it may be done again without harm.
type Work struct {
	// Offers are tasks that wait for workers.
	Offers []Offer
	// Endings are the ends of runs that somebody is to be told.
	Endings []Ending
	// Children are to be started, and Orphans are children to be ended because their parent has ended.
	Children []ChildStart
	Orphans  []Orphaned
	// Outgoing is to be sent to other workflows.
	Outgoing []Outgoing
	// Removals are the IDs of runs that have been deleted. Their entries are to be removed once all else that those make due is done.
	Removals []string
}

// Orphaned is an orphan with the run whose child it is.
type Orphaned struct {
	Orphan
	Parent *commonpb.WorkflowExecution
}

// Empty reports whether there is nothing to do.
func (w *Work) Empty() bool {
	return len(w.Offers)+len(w.Endings)+len(w.Children)+len(w.Orphans)+len(w.Outgoing)+len(w.Removals) == 0
}

// Owed returns what an entry made due and is still to be done in a state which has the entry, or later ones too.
func Owed(state *State, entry *Entry) Work {
	work := Work{Endings: Endings(entry)}
	for i := range entry.Parts {
		part := &entry.Parts[i]
		parent := &commonpb.WorkflowExecution{WorkflowId: state.Key.WorkflowID, RunId: part.RunID}
		for _, orphan := range part.Orphans {
			work.Orphans = append(work.Orphans, Orphaned{orphan, parent})
		}
		if part.First != 0 {
			work.Removals = append(work.Removals, part.Removed...)
		}
		switch {
		case state.Run.Open() && part.RunID == state.Run.ID:
			state.owed(part, &work)
		case part.end() == nil:
			work.Orphans = append(work.Orphans, part.orphans(state.Run, parent)...)
		}
	}
	return work
}

// owed adds what a part of an entry made due in the run in progress.
func (s *State) owed(part *Part, work *Work) {
	r := s.Run
	if part.Task != nil && part.Task.Scheduled == r.Task.Scheduled && part.Task.Attempt == r.Task.Attempt {
		work.Offers = r.offerTask(work.Offers)
	}
	if part.Base != nil {
		s.owedAgain(work)
	}
	for _, record := range part.Activities {
		if activity, ok := r.Activities[record.Event]; ok && activity.Attempt == record.Attempt && activity.Stamp == record.Stamp {
			work.Offers = r.offerActivity(work.Offers, &activity)
		}
	}
	for _, event := range part.Events {
		if child, ok := r.Children[event.GetEventId()]; ok && !child.Begun {
			work.Children = append(work.Children, s.start(child))
		}
		if sent, ok := r.Outgoing[event.GetEventId()]; ok {
			work.Outgoing = append(work.Outgoing, s.send(sent))
		}
	}
}

// owedAgain adds what the events of other runs made due that the newest run has from them.
func (s *State) owedAgain(work *Work) {
	r := s.Run
	through := r.Stretches[len(r.Stretches)-1].Through
	for _, activity := range ordered(r.Activities) {
		if activity.Event <= through && activity.Attempt == 1 {
			work.Offers = r.offerActivity(work.Offers, &activity)
		}
	}
	for event, child := range ordered(r.Children) {
		if event <= through {
			start := s.start(child)
			start.Again, start.Begun = true, child.Begun
			work.Children = append(work.Children, start)
		}
	}
	for event, sent := range ordered(r.Outgoing) {
		if event <= through {
			work.Outgoing = append(work.Outgoing, s.send(sent))
		}
	}
}

// orphans are the children that a part starts whose run has ended since, and that the newest run has not taken over. Somebody may have started them
// meanwhile.
func (p *Part) orphans(newest *Run, parent *commonpb.WorkflowExecution) (all []Orphaned) {
	for _, event := range p.Events {
		if newest != nil && newest.wrote(p.RunID, event.GetEventId()) {
			continue
		}
		if a := event.GetStartChildWorkflowExecutionInitiatedEventAttributes(); a != nil {
			for _, one := range orphan(p.RunID, event.GetEventId(), a) {
				all = append(all, Orphaned{one, parent})
			}
		}
	}
	return all
}

// Waiting returns all tasks that wait for a worker, in no order.
func (s *State) Waiting() []Offer {
	if !s.Run.Open() {
		return nil
	}
	offers := s.Run.offerTask(nil)
	for _, activity := range s.Run.Activities {
		offers = s.Run.offerActivity(offers, &activity)
	}
	return offers
}

func (r *Run) offerTask(offers []Offer) []Offer {
	task := &r.Task
	if task.Scheduled == 0 || task.Started != 0 {
		return offers
	}
	offer := Offer{
		Queue: r.Attributes.GetTaskQueue().GetName(), RunID: r.ID, Event: task.Scheduled, Attempt: task.Attempt, Scheduled: task.ScheduledTime,
		Expires: r.expires(), Patience: NormalPatience, Priority: r.Attributes.GetPriority().GetPriorityKey(),
	}
	// The sticky queue may have been given up since the task was scheduled; its timeout counts all the same.
	if task.StickyQueue != "" && task.StickyQueue == r.Sticky.Queue {
		offer.Queue, offer.Normal, offer.Patience = task.StickyQueue, offer.Queue, task.StickyTimeout
	}
	return append(offers, offer)
}

func (r *Run) offerActivity(offers []Offer, activity *Activity) []Offer {
	if activity.Waiting || !activity.Started.IsZero() || activity.paused() {
		return offers
	}
	expires, _ := r.nextTimeout(activity)
	return append(offers, Offer{
		Queue: activity.Attributes.GetTaskQueue().GetName(), Activity: true, RunID: r.ID, Event: activity.Event, Attempt: activity.Attempt,
		Stamp: activity.Stamp, Priority: mergedPriority(r.Attributes.GetPriority(), activity.Attributes.GetPriority()).GetPriorityKey(),
		Scheduled: activity.Due, Expires: expires, Patience: NormalPatience,
	})
}

// OwedTimer returns for when a delayed message is to be armed because of an entry; zero if none is.
func OwedTimer(state *State, entry *Entry) time.Time {
	for i := range entry.Parts {
		part := &entry.Parts[i]
		if part.Armed != nil && state.Run.Open() && part.RunID == state.Run.ID {
			return state.Run.Armed
		}
	}
	return time.Time{}
}

// Ending is how a run ended, for whoever asked to be told.
type Ending struct {
	// Callback is what the start of the run said; nil if it said nothing. Parent is the workflow whose child the run is; nil if it is none.
	Callback []byte
	Parent   *Parent
	RunID    string
	// Event is the last one of the run.
	Event *historypb.HistoryEvent
}

// Endings returns the ends of runs in an entry that somebody is to be told.
func Endings(entry *Entry) (all []Ending) {
	for i := range entry.Parts {
		part := &entry.Parts[i]
		if last := part.end(); last != nil && (part.Callback != nil || part.Parent != nil) {
			all = append(all, Ending{part.Callback, part.Parent, part.RunID, last})
		}
	}
	return all
}

// Ends reports whether a run ends with the entry.
func (e *Entry) Ends() bool {
	for i := range e.Parts {
		if e.Parts[i].end() != nil {
			return true
		}
	}
	return false
}

// Ended returns the runs that end with the entry.
func (e *Entry) Ended() (runIDs []string) {
	for i := range e.Parts {
		if e.Parts[i].end() != nil {
			runIDs = append(runIDs, e.Parts[i].RunID)
		}
	}
	return runIDs
}

// end returns the event that ends the run; nil if the run goes on.
func (p *Part) end() *historypb.HistoryEvent {
	if len(p.Events) == 0 {
		return nil
	}
	last := p.Events[len(p.Events)-1]
	if _, ended := ends[last.GetEventType()]; !ended {
		return nil
	}
	return last
}
