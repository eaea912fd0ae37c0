package schedules

import (
	"cmp"
	"context"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	defaultRuns = 20
	// scanSize is how many events are read at once. firstScan is how many are read first, because the answer is mostly among the newest.
	scanSize  = 500
	firstScan = 100
)

// Runs lists the newest runs from the event history. For a single schedule it also uses the invoker's record, which knows all
// runs in progress, however old.
//
// A request reads no more than its budget. Where that ends, the page ends too, and its token leads on from there: the pages together have
// every run.
func (s *Service) Runs(ctx context.Context, namespace string, req *schedule.RunsRequest) (RunsReply, error) {
	left := s.readBudget
	return s.runs(ctx, schedule.Key{Namespace: namespace, ID: req.ID}, req, &left)
}

func (s *Service) runs(ctx context.Context, key schedule.Key, req *schedule.RunsRequest, left *budget) (RunsReply, error) {
	from, err := decodeRunsToken(req.PageToken)
	if err != nil {
		return RunsReply{}, err
	}
	own, known, err := s.ownRuns(ctx, key)
	if err != nil {
		return RunsReply{}, err
	}
	page := newRunsPage(req, from, own)
	switch {
	case req.Status == schedule.StatusRunning && known:
	case from.before == 0 && req.To.IsZero():
		err = s.scanRuns(ctx, key, page, left)
	default:
		err = s.pastRuns(ctx, key, page, left)
	}
	if err != nil {
		return RunsReply{}, err
	}
	return page.reply(s.maxReply())
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
func (s *Service) scanRuns(ctx context.Context, key schedule.Key, page *runsPage, left *budget) error {
	query := events.Query{Key: key, From: page.begin(), Kinds: []schedule.EventKind{
		schedule.EventStarted, schedule.EventCompleted, schedule.EventDeleted, schedule.EventClosed,
	}}
	fold, looks := newRunFold(), &strayLooks{service: s, namespace: key.Namespace, left: left}
	var failed error
	spent := false
	last, more, err := s.backwards(ctx, query, left, func(entry *events.Entry) bool {
		run, ok := fold.add(&entry.Event)
		if !ok {
			return true
		}
		var enough bool
		if enough, failed = looks.correct(ctx, &run); !enough || failed != nil {
			spent = true
			return false
		}
		return page.add(run, entry)
	})
	switch {
	case spent && last != nil:
		page.stop(runsPlace{before: last.Sequence + 1, time: last.Time})
	case more:
		page.stop(runsPlace{before: last.Sequence, time: last.Time})
	}
	return cmp.Or(failed, err)
}

// backwards visits events, the newest first, until visit returns false or the budget is spent. It returns the last event that it has
// visited, and whether there are earlier ones.
func (s *Service) backwards(
	ctx context.Context, query events.Query, left *budget, visit func(*events.Entry) (more bool),
) (last *events.Entry, more bool, err error) {
	reader, before := s.eventReader(), uint64(0)
	for size := left.backward(firstScan); size > 0; size = left.backward(scanSize) {
		page, err := reader.Before(ctx, query, before, size)
		if err != nil {
			return nil, false, err
		}
		left.spend(&page)
		for i := range slices.Backward(page.Entries) {
			if last = &page.Entries[i]; !visit(last) {
				return last, i > 0 || page.More, nil
			}
		}
		if !page.More {
			return last, false, nil
		}
		before = last.Sequence
	}
	return last, true, nil
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
