package schedules

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
)

// RunsReply is a schedule.RunsReply whose entries are already encoded, like those of a listReply.
type RunsReply struct {
	Runs          []json.RawMessage `json:"runs"`
	NextPageToken string            `json:"nextPageToken,omitempty"`
}

// runsPage is a page of runs in the making. It merges two sources. The history tells of runs in the order of its sequences. The record of
// the schedule knows some runs that the history does not have: events expire, and a new one may arrive a moment late. Such a run is on the
// page that has its time.
type runsPage struct {
	req *schedule.RunsRequest
	// size is how many runs the page may have.
	size int
	// from is where it begins, and end where the look at the history stopped. Without hasMore the history has no earlier runs.
	from, end runsPlace
	hasMore   bool
	// own are the runs of the record, and known the same and others by request ID.
	own   []schedule.Run
	known map[string]*schedule.Run
	// told are the wanted runs that the history tells of, the newest first, and at the sequences of their starts by request ID. seen are the
	// request IDs of all starts that were looked at.
	told []schedule.Run
	at   map[string]uint64
	seen map[string]bool
}

func newRunsPage(req *schedule.RunsRequest, from runsPlace, own []schedule.Run) *runsPage {
	p := &runsPage{
		req: req, size: cmp.Or(req.PageSize, defaultRuns), from: from, own: own,
		known: map[string]*schedule.Run{}, at: map[string]uint64{}, seen: map[string]bool{},
	}
	p.learn(own)
	return p
}

// learn adds runs of the record of a schedule.
func (p *runsPage) learn(runs []schedule.Run) {
	for i := range runs {
		p.known[runs[i].RequestID] = &runs[i]
	}
}

// begin is the time from which on events matter. The clocks of the process that starts and of the stream may differ.
func (p *runsPage) begin() time.Time {
	if p.req.From.IsZero() {
		return time.Time{}
	}
	return p.req.From.Add(-clockSkew)
}

// add adds a run with its start in the history, and reports whether there is room for another. It leaves out a run that is not wanted, and
// the repeat of a start. The record may be a moment behind, so a run has ended if either says so.
func (p *runsPage) add(run schedule.Run, start *events.Entry) (room bool) {
	if p.seen[run.RequestID] {
		return true
	}
	p.seen[run.RequestID] = true
	if own := p.known[run.RequestID]; own != nil && run.Status == "" {
		run = *own
	}
	if wanted(&run, p.req) {
		p.told, p.at[run.RequestID] = append(p.told, run), start.Sequence
	}
	return len(p.told) < p.size
}

// stop ends the page at a place in the history that has earlier runs, perhaps.
func (p *runsPage) stop(at runsPlace) { p.end, p.hasMore = at, true }

// reply makes a reply of limit bytes at most.
func (p *runsPage) reply(limit int) (RunsReply, error) {
	list := p.list()
	entries, err := encodeEach(list[:min(len(list), p.size)], func(r *schedule.Run) any { return r })
	if err != nil {
		return RunsReply{}, err
	}
	fits := listing.Fit(entries, limit-listing.ReplyOverhead)
	return RunsReply{Runs: listing.RawMessages(entries[:fits]), NextPageToken: p.next(list, fits)}, nil
}

// list returns what the page would have if it had room for all, the newest first.
func (p *runsPage) list() []schedule.Run {
	list := slices.Clone(p.told)
	for _, run := range p.own {
		if !p.seen[run.RequestID] && wanted(&run, p.req) && p.covers(&run) {
			list = append(list, run)
		}
	}
	slices.SortFunc(list, compareRuns)
	return list
}

// covers reports whether a run of the record belongs between the ends of the page.
func (p *runsPage) covers(run *schedule.Run) bool {
	return p.from.isBefore(run) && !(p.hasMore && p.end.isBefore(run))
}

func compareRuns(a, b schedule.Run) int {
	return cmp.Or(b.StartTime.Compare(a.StartTime), strings.Compare(a.RequestID, b.RequestID))
}

// next returns the token of the page after the first runs of a list. That page may repeat a run of this one, if clocks differ, but the two
// leave out none.
func (p *runsPage) next(list []schedule.Run, shown int) string {
	if shown == len(list) {
		if !p.hasMore {
			return ""
		}
		return encodeRunsToken(p.end.within(p.from))
	}
	next := p.end
	if !p.hasMore {
		next = runsPlace{before: 1} // before the first of all
	}
	if shown > 0 {
		last := &list[shown-1]
		if at := (runsPlace{time: last.StartTime, after: last.RequestID}); !p.hasMore || !last.StartTime.Before(p.end.time) {
			next.time, next.after = at.time, at.after
		}
	}
	for i := range list[shown:] {
		if at := p.at[list[shown+i].RequestID]; at >= next.before {
			next.before, next.searched, next.isGone = at+1, 0, false
		}
	}
	return encodeRunsToken(next.within(p.from))
}
