package schedules

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

// runsToken begins the token of a page of runs, so that it is not mistaken for a token of another list.
const runsToken = "run:"

// toldRuns are runs that the event history tells of, the newest first, with the sequences of their starts by request ID.
type toldRuns struct {
	runs []schedule.Run
	at   map[string]uint64
	// more says that there may be earlier ones.
	more bool
}

func (t *toldRuns) add(run schedule.Run, sequence uint64) {
	if t.at == nil {
		t.at = map[string]uint64{}
	}
	t.runs, t.at[run.RequestID] = append(t.runs, run), sequence
}

// next returns the token of the page after some of the runs. The next page may repeat a run of this one, if clocks differ, but it leaves out none.
func (t *toldRuns) next(included []schedule.Run) string {
	shown := map[string]bool{}
	for i := range included {
		shown[included[i].RequestID] = true
	}
	var least, cut uint64
	for id, sequence := range t.at {
		if least == 0 || sequence < least {
			least = sequence
		}
		if !shown[id] {
			cut = max(cut, sequence)
		}
	}
	switch {
	case cut > 0:
		return encodeRunsToken(cut + 1)
	case t.more:
		return encodeRunsToken(least)
	}
	return ""
}

func encodeRunsToken(before uint64) string {
	return listing.EncodePageToken(runsToken + strconv.FormatUint(before, 10))
}

// decodeRunsToken returns the sequence before which a page ends; 0 without a token.
func decodeRunsToken(token string) (before uint64, err error) {
	text, err := listing.DecodePageToken(token)
	if err != nil || text == "" {
		return 0, err
	}
	number, ok := strings.CutPrefix(text, runsToken)
	before, err = strconv.ParseUint(number, 10, 64)
	if !ok || err != nil || before == 0 {
		return 0, schedule.Invalid("pageToken", "is not a token of a list of runs: "+
			"repeat nextPageToken as it was, or leave it out to begin with the first page")
	}
	return before, nil
}

// pastRuns lists runs that began at a time or before it, or before a place in the history. It begins to look there, and not at the end of the
// history, so that the past is not the slower the longer ago it is.
func (s *Service) pastRuns(ctx context.Context, key schedule.Key, req *schedule.RunsRequest, size int, before uint64, told *toldRuns) error {
	query := events.Query{Key: key, From: req.From, Kinds: []schedule.EventKind{schedule.EventStarted}}
	if !req.To.IsZero() {
		query.To = req.To.Add(clockSkew) // an event is stored a moment after what it tells
	}
	reader, looks := s.eventReader(), maxStrayLooks
	for scanned := 0; scanned < maxScanned; {
		page, err := reader.Before(ctx, query, before, min(max(size, firstScan), scanSize))
		if err != nil || len(page.Entries) == 0 {
			return err
		}
		scanned += len(page.Entries)
		ends, err := s.endsOf(ctx, key, page.Entries)
		if err != nil {
			return err
		}
		for i := range slices.Backward(page.Entries) {
			run := ends.run(&page.Entries[i])
			if endUnknown(&run) && looks > 0 {
				looks--
				if _, err := s.inQueue(ctx, schedule.Key{Namespace: key.Namespace, ID: run.ScheduleID}, &run); err != nil {
					return err
				}
			}
			if wanted(&run, req) {
				told.add(run, page.Entries[i].Sequence)
			}
			if told.more = len(told.runs) == size; told.more {
				return nil
			}
		}
		if !page.More {
			break
		}
		before = page.Entries[0].Sequence
	}
	return nil
}

// runEnds are the completions of runs by request ID, and the sequence of the last deletion of each schedule.
type runEnds struct {
	completed map[string]*schedule.Event
	deleted   map[string]uint64
}

// run makes a run of its start.
func (e *runEnds) run(start *events.Entry) schedule.Run {
	return runOf(&start.Event, e.completed[start.RequestID], e.deleted[start.ScheduleID] > start.Sequence)
}

// endsOf looks for the ends of runs, from the first start on, in at most [maxScanned] events.
func (s *Service) endsOf(ctx context.Context, key schedule.Key, starts []events.Entry) (*runEnds, error) {
	query := events.Query{Key: key, Kinds: []schedule.EventKind{schedule.EventCompleted, schedule.EventDeleted, schedule.EventClosed}}
	ends := &runEnds{completed: map[string]*schedule.Event{}, deleted: map[string]uint64{}}
	open := map[string]bool{}
	for i := range starts {
		open[starts[i].RequestID] = true
	}
	reader, after := s.eventReader(), starts[0].Sequence
	for scanned := 0; scanned < maxScanned && len(open) > 0; {
		page, err := reader.Page(ctx, query, after, scanSize)
		if err != nil {
			return nil, err
		}
		for i := range page.Entries {
			entry := &page.Entries[i]
			if entry.Kind != schedule.EventCompleted {
				ends.deleted[entry.ScheduleID] = entry.Sequence
			} else if open[entry.RequestID] {
				ends.completed[entry.RequestID] = cmp.Or(ends.completed[entry.RequestID], &entry.Event)
				delete(open, entry.RequestID)
			}
		}
		if !page.More {
			break
		}
		scanned, after = scanned+len(page.Entries), page.Next
	}
	return ends, nil
}
