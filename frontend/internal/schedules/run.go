package schedules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// RunReply is a schedule.RunReply whose events are already encoded.
type RunReply struct {
	schedule.Run
	Events []json.RawMessage `json:"events"`
}

// Run finds one run of a schedule, which may be gone, and what happened to it.
func (s *Service) Run(ctx context.Context, namespace string, req *schedule.RunRequest) (RunReply, error) {
	key := schedule.Key{Namespace: namespace, ID: req.ID}
	own, _, err := s.ownRuns(ctx, key)
	if err != nil {
		return RunReply{}, err
	}
	trail := newRunTrail(req.Run, own)
	left := s.readBudget
	_, more, err := s.backwards(ctx, events.Query{Key: key}, &left, trail.visit)
	if err != nil {
		return RunReply{}, err
	}
	run, ok := trail.run(key.ID)
	if !ok {
		return RunReply{}, errNoRun(key, req.Run, more)
	}
	if endUnknown(&run) {
		if _, err := s.inQueue(ctx, key, &run); err != nil {
			return RunReply{}, err
		}
	}
	if err := s.completeResult(ctx, key, &run); err != nil {
		return RunReply{}, err
	}
	encoded, err := apitext.EncodeJSON(run)
	if err != nil {
		return RunReply{}, err
	}
	slices.Reverse(trail.events)
	entries, err := encodeEach(trail.events, func(e *schedule.Event) any { return e })
	if err != nil {
		return RunReply{}, err
	}
	fits := listing.Fit(entries, s.maxReply()-listing.ReplyOverhead-len(encoded))
	return RunReply{Run: run, Events: listing.RawMessages(entries[:fits])}, nil
}

// errNoRun says that a run was not found. more says that the history goes further back than was looked.
func errNoRun(key schedule.Key, name string, more bool) error {
	where := "or not in the event history any more"
	if more {
		where = "or not in the newest part of the event history, which is all that this looks at: list its runs to find an older one"
	}
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "run", Message: fmt.Sprintf("schedule %q has no run %q, %s", key.ID, name, where),
	}
}

// completeResult adds a result that was too large for the history, as long as it is the schedule's last success.
func (s *Service) completeResult(ctx context.Context, key schedule.Key, run *schedule.Run) error {
	if run.Status != schedule.StatusCompleted || len(run.Result) > 0 || run.ResultBytes == 0 {
		return nil
	}
	record, err := kv.OrZero(kv.Get(ctx, s.store, kv.Result(key)))
	if err != nil {
		return err
	}
	if r := &record.Value; r.CloseTime.Equal(run.CloseTime) && len(r.Success) == run.ResultBytes {
		run.Result = r.Success
	}
	return nil
}

// runTrail collects the events of one run, newest first.
type runTrail struct {
	name string
	// requestID is the request ID of the run, once it is known. Until then events holds the events of every run with this name.
	requestID string
	own       *schedule.Run
	start     *schedule.Event
	end       *schedule.Event
	gone      bool
	events    []schedule.Event
}

// newRunTrail looks for a run in the invoker's record first. The newest run of a name is there, unless all of them are older than
// what the record keeps.
func newRunTrail(name string, own []schedule.Run) *runTrail {
	t := &runTrail{name: name}
	for i := range own {
		r := &own[i]
		if (r.RunID == name || r.WorkflowID == name || r.RequestID == name) &&
			(t.own == nil || !r.StartTime.Before(t.own.StartTime)) {
			t.own, t.requestID = r, r.RequestID
		}
	}
	return t
}

func (t *runTrail) visit(entry *events.Entry) (more bool) { return t.add(&entry.Event) }

// add processes an event and reports whether there may be more about the run.
func (t *runTrail) add(e *schedule.Event) (more bool) {
	if t.begins(e) {
		return false
	}
	if e.Kind == schedule.EventDeleted || e.Kind == schedule.EventClosed {
		t.gone = t.gone || t.start == nil
		return true
	}
	if !t.concerns(e) {
		return true
	}
	t.events = append(t.events, *e)
	switch e.Kind {
	case schedule.EventCompleted:
		t.settle(e)
		if t.end == nil {
			t.end = e
		}
	case schedule.EventStarted:
		t.settle(e)
		t.start = e
	}
	return true
}

// clockSkew is how far apart the clocks of two processes may be.
const clockSkew = time.Minute

// begins reports whether an event is older than everything about the run. The events of an automated start begin when it is due,
// those of another when somebody asks for it.
func (t *runTrail) begins(e *schedule.Event) bool {
	if t.requestID == "" || len(t.events) == 0 {
		return false
	}
	known := &t.events[0]
	if known.Source == schedule.SourceAuto {
		return e.Time.Before(known.Actual.Add(-clockSkew))
	}
	return e.Source == known.Source && (e.Kind == schedule.EventTriggered || e.Kind == schedule.EventBackfillRequested)
}

func (t *runTrail) concerns(e *schedule.Event) bool {
	if t.requestID != "" {
		return e.RequestID == t.requestID
	}
	return e.RequestID != "" && (e.RunID == t.name || e.WorkflowID == t.name || e.RequestID == t.name)
}

// settle decides which run is meant: the newest one that has started.
func (t *runTrail) settle(e *schedule.Event) {
	if t.requestID == "" {
		t.requestID = e.RequestID
		t.events = slices.DeleteFunc(t.events, func(other schedule.Event) bool { return other.RequestID != t.requestID })
	}
}

// run returns what is known about the run; false if there is none.
func (t *runTrail) run(scheduleID string) (schedule.Run, bool) {
	var run schedule.Run
	switch {
	case t.start != nil:
		run = runOf(t.start, t.end, t.gone)
	case t.end != nil:
		run = runOf(t.end, t.end, t.gone) // the history goes back no further
		run.StartTime = t.end.CodeTime
	case t.own == nil:
		return run, false
	}
	if t.own != nil && run.Status == "" {
		run = *t.own
	}
	run.ScheduleID = scheduleID
	return run, true
}
