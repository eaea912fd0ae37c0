package pages

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// timesAtAnEnd is how many times a preview shows of the beginning and of the end of a range.
const timesAtAnEnd = 20

// backfilling is the page on which somebody asks for the runs of a range, and sees first which those are.
type backfilling struct {
	scheduleHead
	// Start and End are the range as it was written, in the zone of the schedule.
	Start, End, Overlap, Note, Request string
	Overlaps                           []string
	// Policy is what applies if no other one is chosen. Pending is how many triggers and backfills the schedule has already, of at most Most.
	Policy        string
	Pending, Most int
	Problem       *refusal.Refusal
	Range         *rangeTimes
}

// rangeTimes are the times of a range.
type rangeTimes struct {
	// Count is how many there are; IsMore says that there are more than that.
	Count  int
	IsMore bool
	// First and Last are those at its ends. Last is empty if First has all.
	First, Last []moment
	// Skipped is how many are left out between the two.
	Skipped int
}

func (p *Pages) newBackfilling(r *http.Request, asks *speaker.Speaker) (*backfilling, *time.Location, error) {
	d, zone, err := described(r, asks)
	if err != nil {
		return nil, nil, err
	}
	return &backfilling{
		scheduleHead: headOf(d.Namespace, d.ID, zone.String(), ""), Overlaps: overlaps(), Policy: string(d.Policies.Overlap.Or(schedule.OverlapSkip)),
		Pending: len(d.Info.Backfills), Most: schedule.MaxBackfills, Request: p.config.NewID(),
	}, zone, nil
}

func (b *backfilling) page() *answer {
	return &answer{view: "backfill", title: "Backfill " + b.ID, data: b}
}

// backfillForm shows the page. The range is that of the address, or else the last day.
func (p *Pages) backfillForm(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	b, zone, err := p.newBackfilling(r, asks)
	if err != nil {
		return nil, err
	}
	now := p.config.Now().In(zone).Truncate(time.Minute)
	b.Start = cmp.Or(r.URL.Query().Get("start"), now.AddDate(0, 0, -1).Format(localTime))
	b.End = cmp.Or(r.URL.Query().Get("end"), now.Format(localTime))
	return b.page(), nil
}

// backfill shows which runs a range would have, or starts them.
func (p *Pages) backfill(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	b, zone, err := p.newBackfilling(r, asks)
	if err != nil {
		return nil, err
	}
	b.Start, b.End, b.Overlap = r.PostFormValue("start"), r.PostFormValue("end"), r.PostFormValue("overlap")
	b.Note, b.Request = strings.TrimSpace(r.PostFormValue("note")), cmp.Or(r.PostFormValue("request"), b.Request)
	request := schedule.BackfillRequest{ID: b.ID, RequestID: b.Request}
	request.Overlap, request.Note = schedule.OverlapPolicy(b.Overlap), b.Note
	var err1, err2 error
	request.Start, err1 = neededTime("start", b.Start, zone)
	request.End, err2 = neededTime("end", b.End, zone)
	err = cmp.Or(err1, err2)
	if err == nil {
		err = request.Validate()
	}
	if err == nil && r.PostFormValue("do") == "start" {
		if _, err = asks.Backfill(r.Context(), request); err == nil {
			return &answer{to: b.Address + "?said=backfill"}, nil
		}
	}
	if err == nil {
		b.Range, err = timesOfRange(r, asks, b.ID, request.Start, request.End, p.config.Now(), zone)
	}
	if err != nil {
		b.Problem = refusal.Of(err)
	}
	return b.page(), nil
}

// timesOfRange returns the times of a range, at its beginning and at its end.
func timesOfRange(r *http.Request, asks *speaker.Speaker, id string, from, to, now time.Time, zone *time.Location) (*rangeTimes, error) {
	reply, err := asks.MatchingTimes(r.Context(), schedule.MatchingTimesRequest{ID: id, From: from, To: to})
	if err != nil {
		return nil, err
	}
	all := reply.Times
	shown := &rangeTimes{Count: len(all), IsMore: reply.More}
	shown.First = momentsOf(all[:min(len(all), timesAtAnEnd)], now, zone)
	last := all[len(shown.First):]
	if reply.More {
		if last, err = lastTimes(r, asks, id, all, to); err != nil {
			return nil, err
		}
	}
	shown.Last = momentsOf(last[max(0, len(last)-timesAtAnEnd):], now, zone)
	shown.Skipped = shown.Count - len(shown.First) - len(shown.Last)
	return shown, nil
}

// lastTimes returns times at the end of a range that has more than one answer holds: it asks for a part that is about long enough.
func lastTimes(r *http.Request, asks *speaker.Speaker, id string, first []schedule.DueTime, to time.Time) ([]schedule.DueTime, error) {
	begin, end := first[0].NominalTime, first[len(first)-1].NominalTime
	tail, err := asks.MatchingTimes(r.Context(), schedule.MatchingTimesRequest{ID: id, From: later(end, to.Add(-end.Sub(begin)/2)), To: to})
	if err != nil || tail.More {
		return nil, err
	}
	return tail.Times, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func momentsOf(times []schedule.DueTime, now time.Time, zone *time.Location) (moments []moment) {
	for _, due := range times {
		moments = append(moments, momentOf(due.NominalTime, now, zone))
	}
	return moments
}
