package pages

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// comingSchedules is how many schedules the page knows of those that are due in the next hour, the next ones first. Of so many of them it
	// asks for all times of the hour; of the others it knows the next ten.
	comingSchedules, comingWhole = 100, 40
	// comingAtOnce is how many requests for that are in progress at once.
	comingAtOnce = 4
)

// due is a time at which a schedule is due.
type due struct {
	id string
	at time.Time
}

// comingFacts are the times to come, in order.
type comingFacts struct {
	times []due
	// others counts the schedules that are due as well, but not among the times. isSample says that only some schedules were looked at.
	others   int
	isSample bool
	err      error
}

// comingView says what comes in the next hour.
type comingView struct {
	Problem  string
	Next     []dueRow
	Times    int
	Others   int
	IsSample bool
}

// dueRow is a time at which a schedule is due.
type dueRow struct {
	ID, Address string
	At          moment
}

func (p *Pages) coming(ctx context.Context, asks *speaker.Speaker) comingFacts {
	facts, err := ask(ctx, p.times, asks, func(ctx context.Context) (comingFacts, error) {
		from := p.config.Now()
		return lookAhead(ctx, asks, from, from.Add(nowSpan))
	})
	facts.err = err
	return facts
}

// lookAhead finds the times of the schedules of a namespace in a span.
func lookAhead(ctx context.Context, asks *speaker.Speaker, from, to time.Time) (facts comingFacts, err error) {
	where := "nextTime < '" + to.UTC().Format(time.RFC3339) + "'"
	found, err := asks.List(ctx, schedule.ListRequest{Query: where + " order by nextTime", PageSize: comingSchedules})
	if schedule.CodeOf(err) == schedule.CodeFailedPrecondition { // there is no search index
		facts.isSample = true
		found, err = asks.List(ctx, schedule.ListRequest{PageSize: comingSchedules})
	}
	if err != nil {
		return facts, err
	}
	if found.NextPageToken != "" && !facts.isSample {
		count, err := asks.CountMatching(ctx, schedule.CountRequest{Query: where})
		if err != nil {
			return facts, err
		}
		facts.others = max(count.Count-len(found.Schedules), 0)
	}
	facts.isSample = facts.isSample && found.NextPageToken != ""
	facts.times, err = timesIn(ctx, asks, found.Schedules, from, to)
	return facts, err
}

// timesIn returns the times of schedules in a span, in order.
func timesIn(ctx context.Context, asks *speaker.Speaker, schedules []schedule.Description, from, to time.Time) (all []due, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(comingAtOnce)
	whole := make([][]schedule.DueTime, len(schedules))
	asked := 0
	for i := range schedules {
		d := &schedules[i]
		if !isOften(d, to) || asked == comingWhole {
			continue
		}
		asked++
		group.Go(func() (err error) {
			whole[i], err = allTimes(ctx, asks, d.ID, from, to)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for i := range schedules {
		all = append(all, timesOf(&schedules[i], whole[i], to)...)
	}
	slices.SortStableFunc(all, func(a, b due) int { return a.at.Compare(b.at) })
	return all, nil
}

// allTimes returns the times of one schedule in a span, or the first of a schedule that is due more often than once in a second.
func allTimes(ctx context.Context, asks *speaker.Speaker, id string, from, to time.Time) (all []schedule.DueTime, err error) {
	for range int(to.Sub(from)/time.Second)/schedule.MaxPageSize + 1 {
		reply, err := asks.MatchingTimes(ctx, schedule.MatchingTimesRequest{ID: id, From: from, To: to})
		if schedule.CodeOf(err) == schedule.CodeNotFound {
			return nil, nil // it has been deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		all = append(all, reply.Times...)
		if !reply.More || len(reply.Times) == 0 {
			break
		}
		from = reply.Times[len(reply.Times)-1].NominalTime.Add(time.Nanosecond)
	}
	return all, nil
}

// isOften reports whether a schedule may have more times before an end than its description says: those of a schedule that catches up may be over.
func isOften(d *schedule.Description, to time.Time) bool {
	times := d.Info.FutureActionTimes
	return !d.State.Paused && len(times) > 0 && times[len(times)-1].Before(to)
}

// timesOf returns the times of one schedule before an end: those that were asked for, or those of its description.
func timesOf(d *schedule.Description, asked []schedule.DueTime, to time.Time) (times []due) {
	if d.State.Paused {
		return nil
	}
	for _, at := range asked {
		if !slices.ContainsFunc(d.Info.Skips, at.NominalTime.Equal) {
			times = append(times, due{d.ID, at.DueTime})
		}
	}
	if len(asked) > 0 {
		return times
	}
	for _, at := range d.Info.FutureActionTimes {
		if at.Before(to) {
			times = append(times, due{d.ID, at})
		}
	}
	return times
}

// comingOf returns what the page says about the times to come.
func comingOf(coming *comingFacts, namespace string, now time.Time) (view comingView) {
	if coming.err != nil {
		return comingView{Problem: lineOf(coming.err)}
	}
	view.Others, view.IsSample = coming.others, coming.isSample
	for _, d := range coming.times {
		if !d.at.After(now) {
			continue // it was found out a moment ago
		}
		view.Times++
		if len(view.Next) < fewRuns {
			view.Next = append(view.Next, dueRow{d.id, address(namespace, "schedules", d.id), momentOf(d.at, now, time.UTC)})
		}
	}
	return view
}
