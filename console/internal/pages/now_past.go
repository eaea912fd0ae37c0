package pages

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// nowSpan is how far the page looks back and ahead.
	nowSpan = time.Hour
	// pastRuns is how many of the newest runs of that time the page knows, pastPage how many it asks for at once, and fewRuns how many it lists.
	pastRuns = 5000
	// pastBytes bounds what is kept of them.
	pastPage  = 1000
	pastBytes = 8 << 20
	fewRuns   = 8
	// failureShown is how many characters of a failure it shows.
	failureShown = 200
)

// pastFacts are the newest runs of the last hour, the newest first. hasMore says that there are earlier ones.
type pastFacts struct {
	runs    []schedule.Run
	hasMore bool
	// bytes is about how much memory the runs take.
	bytes int
	// median and most are how late runs began that were due by themselves, and latest is the one that was the latest; nil if there is none.
	median, most time.Duration
	latest       *schedule.Run
	err          error
}

// pastView says what ran in the last hour.
type pastView struct {
	// Problem is why that is not known.
	Problem string
	// Runs counts them, and Since is set if there are more, all before that time.
	Runs  int
	Since moment
	// Failed, Running and Manual count some of them.
	Failed, Running int
	// Median and Most are how late runs began; empty if none was due by itself. Latest is the run that was the latest.
	Median, Most string
	Latest       runRow
	Newest       []runRow
	// Failures are those that failed in the same way, the newest first, and MoreFailures counts the other ways.
	Failures     []failureRow
	MoreFailures int
}

// failureRow is a way in which runs of a schedule failed: the newest of them, and how many there were.
type failureRow struct {
	runRow
	Count int
	way   way
}

func (p *Pages) past(ctx context.Context, asks *speaker.Speaker) pastFacts {
	facts, err := ask(ctx, p.runsPast, asks, func(ctx context.Context) (pastFacts, error) {
		return lookBack(ctx, asks, p.config.Now().Add(-nowSpan))
	})
	facts.err = err
	return facts
}

// lookBack finds the newest runs since a time. If there is no time for all of them, it returns those that it has.
func lookBack(ctx context.Context, asks *speaker.Speaker, from time.Time) (facts pastFacts, err error) {
	request := schedule.RunsRequest{From: from, PageSize: pastPage}
	for facts.hasMore = true; facts.hasMore && !facts.isFull(); {
		page, err := asks.Runs(ctx, request)
		if err != nil && len(facts.runs) > 0 && ctx.Err() != nil {
			break
		}
		if err != nil {
			return facts, err
		}
		request.PageToken, facts.hasMore = page.NextPageToken, page.NextPageToken != ""
		facts.add(page.Runs)
	}
	facts.sumUp()
	return facts, nil
}

// slim returns a run without what the page does not show, since it is kept for a while.
func slim(run schedule.Run) schedule.Run {
	run.Result = nil
	if run.Failure != nil {
		run.Failure = &schedule.Failure{Type: run.Failure.Type, Message: fmt.Sprintf("%.*s", failureShown, run.Failure.Message)}
	}
	return run
}

// add adds older runs, as long as there is room for them.
func (f *pastFacts) add(runs []schedule.Run) {
	for i := range runs {
		if f.isFull() {
			f.hasMore = true
			return
		}
		run := slim(runs[i])
		f.runs, f.bytes = append(f.runs, run), f.bytes+weigh(&run)
	}
}

func (f *pastFacts) isFull() bool { return len(f.runs) >= pastRuns || f.bytes >= pastBytes }

// bareRun is about how many bytes a run takes without its texts.
const bareRun = 512

// weigh returns about how many bytes a slim run takes.
func weigh(run *schedule.Run) int {
	size := bareRun + len(run.WorkflowID) + len(run.RunID) + len(run.RequestID) + len(run.ScheduleID) + len(run.Source) +
		len(run.TaskQueue) + len(run.Identity) + len(run.Worker)
	if run.Failure != nil {
		size += len(run.Failure.Type) + len(run.Failure.Message)
	}
	return size
}

// sumUp finds out how late the runs began.
func (f *pastFacts) sumUp() {
	var late []time.Duration
	for i := range f.runs {
		run := &f.runs[i]
		if run.Manual || run.DueTime.IsZero() {
			continue
		}
		by := max(run.StartTime.Sub(run.DueTime), 0)
		if f.latest == nil || by > f.most {
			f.latest, f.most = run, by
		}
		late = append(late, by)
	}
	if len(late) > 0 {
		slices.Sort(late)
		f.median = late[len(late)/2]
	}
}

// pastOf returns what the page says about the runs.
func pastOf(past *pastFacts, namespace string, now time.Time) (view pastView) {
	if past.err != nil {
		return pastView{Problem: lineOf(past.err)}
	}
	view.Runs = len(past.runs)
	ways := map[way]int{}
	for i := range past.runs {
		run := &past.runs[i]
		kind := kindOf(run)
		if i < fewRuns {
			view.Newest = append(view.Newest, runOf(run, namespace, now, time.UTC))
		}
		switch kindsOfBars[kind].kind {
		case "busy":
			view.Running++
		case "bad":
			view.Failed++
			ways[wayOf(run)]++
			if ways[wayOf(run)] == 1 && len(view.Failures) < fewRuns {
				view.Failures = append(view.Failures, failureRow{runRow: runOf(run, namespace, now, time.UTC), way: wayOf(run)})
			}
		}
	}
	for i := range view.Failures {
		view.Failures[i].Count = ways[view.Failures[i].way]
	}
	view.MoreFailures = len(ways) - len(view.Failures)
	if past.hasMore && view.Runs > 0 {
		view.Since = momentOf(past.runs[view.Runs-1].StartTime, now, time.UTC)
	}
	if past.latest != nil {
		view.Median, view.Most, view.Latest = shortly(past.median), shortly(past.most), runOf(past.latest, namespace, now, time.UTC)
	}
	return view
}

// way is how runs of a schedule failed.
type way struct {
	id      string
	status  schedule.Status
	message string
}

func wayOf(run *schedule.Run) way {
	if run.Failure == nil {
		return way{run.ScheduleID, run.Status, ""}
	}
	return way{run.ScheduleID, run.Status, run.Failure.Message}
}

// shortly returns a duration with about two digits that matter.
func shortly(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return rounded(d)
}

// executionsView counts executions of workflows.
type executionsView struct {
	// Problem is why they are not known.
	Problem string
	// Open are those that run, and Failed those that have failed or timed out in the last hour.
	Open, Failed int64
}

// executions counts the executions of the namespace.
func (p *Pages) executions(ctx context.Context, asks *speaker.Speaker) executionsView {
	view, err := ask(ctx, p.counts, asks, func(ctx context.Context) (view executionsView, err error) {
		since := p.config.Now().Add(-nowSpan).UTC().Format(time.RFC3339)
		for query, count := range map[string]*int64{
			"ExecutionStatus = 'Running'": &view.Open,
			"ExecutionStatus IN ('Failed', 'TimedOut') AND CloseTime > '" + since + "'": &view.Failed,
		} {
			reply, err := asks.Workflows.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: asks.Namespace(), Query: query})
			if err != nil {
				return view, err
			}
			*count = reply.GetCount()
		}
		return view, nil
	})
	if err != nil {
		return executionsView{Problem: lineOf(err)}
	}
	return view
}
