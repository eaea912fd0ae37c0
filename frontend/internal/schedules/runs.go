package schedules

import (
	"cmp"
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

const (
	defaultRuns = 20
	// maxScanned bounds the events that one request looks through. scanSize is how many are read at once. firstScan is how many
	// are read first, because the answer is mostly among the newest.
	maxScanned = 20_000
	scanSize   = 500
	firstScan  = 100
)

// RunsReply is a schedule.RunsReply whose entries are already encoded, like those of a listReply.
type RunsReply struct {
	Runs          []json.RawMessage `json:"runs"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// Runs lists the newest runs from the event history. For a single schedule it also uses the invoker's record, which knows all
// runs in progress, however old.
func (s *Service) Runs(ctx context.Context, namespace string, req *schedule.RunsRequest) (RunsReply, error) {
	key, size := schedule.Key{Namespace: namespace, ID: req.ID}, cmp.Or(req.PageSize, defaultRuns)
	before, err := decodeRunsToken(req.PageToken)
	if err != nil {
		return RunsReply{}, err
	}
	own, known, err := s.ownRuns(ctx, key)
	if err != nil {
		return RunsReply{}, err
	}
	told := &toldRuns{}
	switch {
	case req.Status == schedule.StatusRunning && known:
	case before == 0 && req.To.IsZero():
		err = s.scanRuns(ctx, key, req, size, told)
	default:
		err = s.pastRuns(ctx, key, req, size, before, told)
	}
	if err != nil {
		return RunsReply{}, err
	}
	list := newestRuns(told.runs, own, req, size)
	entries, err := encodeEach(list, func(r *schedule.Run) any { return r })
	if err != nil {
		return RunsReply{}, err
	}
	fits := listing.Fit(entries, s.maxReply()-listing.ReplyOverhead)
	return RunsReply{Runs: listing.RawMessages(entries[:fits]), NextPageToken: told.next(list[:fits])}, nil
}

// ownRuns returns the runs in the invoker's record. known is false if the schedule is gone, or if there is no ID.
func (s *Service) ownRuns(ctx context.Context, key schedule.Key) (own []schedule.Run, known bool, err error) {
	if key.ID == "" {
		return nil, false, nil
	}
	def, err := kv.OrZero(kv.Get(ctx, s.store, kv.Definition(key)))
	if err != nil {
		return nil, false, err
	}
	invoker, err := kv.OrZero(kv.Get(ctx, s.store, kv.Invoker(key)))
	if err != nil || def.Revision == 0 || invoker.Value.Incarnation != def.Value.Incarnation {
		return nil, false, err
	}
	own = invoker.Value.Runs()
	for i := range own {
		own[i].ScheduleID = key.ID
	}
	return own, true, nil
}

// scanRuns looks through the event history, from its end backwards, until it has enough runs.
func (s *Service) scanRuns(ctx context.Context, key schedule.Key, req *schedule.RunsRequest, size int, told *toldRuns) error {
	query := events.Query{Key: key, From: req.From, Kinds: []schedule.EventKind{
		schedule.EventStarted, schedule.EventCompleted, schedule.EventDeleted, schedule.EventClosed,
	}}
	fold := newRunFold()
	var failed error
	looks := maxStrayLooks
	err := s.backwards(ctx, query, func(entry *events.Entry) (more bool) {
		run, ok := fold.add(&entry.Event)
		if ok && endUnknown(&run) && looks > 0 {
			looks--
			_, failed = s.inQueue(ctx, schedule.Key{Namespace: key.Namespace, ID: run.ScheduleID}, &run)
		}
		if ok && wanted(&run, req) {
			told.add(run, entry.Sequence)
		}
		told.more = len(told.runs) == size
		return failed == nil && !told.more
	})
	return cmp.Or(failed, err)
}

// backwards visits events, the newest first, until visit returns false or [maxScanned] have been visited: the rest no longer
// matters.
func (s *Service) backwards(ctx context.Context, query events.Query, visit func(*events.Entry) (more bool)) error {
	reader, before, scanned := s.eventReader(), uint64(0), 0
	for size := firstScan; scanned < maxScanned; size = scanSize {
		page, err := reader.Before(ctx, query, before, size)
		if err != nil {
			return err
		}
		scanned += len(page.Entries)
		for i := range slices.Backward(page.Entries) {
			if !visit(&page.Entries[i]) {
				return nil
			}
		}
		if !page.More {
			return nil
		}
		before = page.Entries[0].Sequence
	}
	return nil
}

// runFold makes runs of events that come newest first.
type runFold struct {
	// ended has the completions by request ID; gone has the schedules that were deleted later.
	ended map[string]*schedule.Event
	gone  map[string]bool
}

func newRunFold() *runFold {
	return &runFold{ended: map[string]*schedule.Event{}, gone: map[string]bool{}}
}

// add processes an event, and returns the run that began with it.
func (f *runFold) add(e *schedule.Event) (run schedule.Run, ok bool) {
	switch e.Kind {
	case schedule.EventDeleted, schedule.EventClosed:
		f.gone[e.ScheduleID] = true
	case schedule.EventCompleted:
		if f.ended[e.RequestID] == nil {
			f.ended[e.RequestID] = e
		}
	case schedule.EventStarted:
		end := f.ended[e.RequestID]
		delete(f.ended, e.RequestID)
		return runOf(e, end, f.gone[e.ScheduleID]), true
	}
	return schedule.Run{}, false
}

// runOf makes a run of its start and its end, which may be nil. Once a schedule is gone, nobody notes how its runs end.
func runOf(start, end *schedule.Event, gone bool) schedule.Run {
	run := schedule.Run{
		WorkflowID: start.WorkflowID, RunID: start.RunID, RequestID: start.RequestID,
		NominalTime: start.Nominal, DueTime: start.Actual, StartTime: start.Time, Manual: start.Manual,
		ScheduleID: start.ScheduleID, Source: start.Source, TaskQueue: start.TaskQueue, Identity: start.Identity,
		ActionKind: start.ActionKind,
	}
	switch {
	case end != nil:
		run.Status, run.CodeTime, run.CloseTime = end.Status, end.CodeTime, end.CloseTime
		run.Attempt, run.Worker, run.Outcome = end.Attempt, end.Worker, end.Outcome
		run.TaskQueue = cmp.Or(run.TaskQueue, end.TaskQueue)
	case gone:
		run.Failure = &schedule.Failure{
			Type: failureUnknown, Message: "the schedule was deleted while the run was in progress: how it ended is not known",
		}
	}
	return run
}

// failureUnknown is the failure type of a run whose end nobody knows.
const failureUnknown = "unknown"

// endUnknown reports whether the history does not say if or how a run ended.
func endUnknown(run *schedule.Run) bool {
	return run.Status == "" && run.Failure != nil && run.Failure.Type == failureUnknown
}

// maxStrayLooks bounds the runs of deleted schedules that one request looks up in their task queues. Further ones are listed as
// runs whose end is unknown.
const maxStrayLooks = 1000

// wanted reports whether a request asks for this run.
func wanted(run *schedule.Run, req *schedule.RunsRequest) bool {
	switch {
	case run.StartTime.Before(req.From), !req.To.IsZero() && run.StartTime.After(req.To):
		return false
	case req.Status == "":
		return true
	case req.Status == schedule.StatusRunning:
		return run.Status == "" && run.Failure == nil
	}
	return run.Status == req.Status
}

// newestRuns merges what the events tell with what the record has. The record may be a moment behind, so a run has ended if
// either says so.
func newestRuns(told, own []schedule.Run, req *schedule.RunsRequest, size int) []schedule.Run {
	at := map[string]int{}
	all := slices.Clone(told)
	for i := range all {
		at[all[i].RequestID] = i
	}
	for _, run := range own {
		i, ok := at[run.RequestID]
		switch {
		case !ok && req.PageToken == "": // what the history does not have is on the first page
			all = append(all, run)
		case !ok:
		case all[i].Status == "":
			all[i] = run
		}
	}
	all = slices.DeleteFunc(all, func(run schedule.Run) bool { return !wanted(&run, req) })
	slices.SortStableFunc(all, func(a, b schedule.Run) int { return b.StartTime.Compare(a.StartTime) })
	return all[:min(len(all), size)]
}

// runReply is a schedule.RunReply whose events are already encoded.
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
	if err := s.backwards(ctx, events.Query{Key: key}, trail.visit); err != nil {
		return RunReply{}, err
	}
	run, ok := trail.run(key.ID)
	if !ok {
		return RunReply{}, errNoRun(key, req.Run)
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

func errNoRun(key schedule.Key, name string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "run",
		Message: fmt.Sprintf("schedule %q has no run %q, or not in the event history any more", key.ID, name),
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
