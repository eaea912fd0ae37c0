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
	// pastRuns is how many of the newest runs of that time the page knows, and fewRuns how many it lists.
	pastRuns = 500
	fewRuns  = 8
)

// pastFacts are the newest runs of the last hour, the newest first.
type pastFacts struct {
	runs []schedule.Run
	err  error
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
	Failures     []runRow
}

func (p *Pages) past(ctx context.Context, asks *speaker.Speaker) pastFacts {
	reply, err := ask(ctx, p.runsPast, asks, func(ctx context.Context) (schedule.RunsReply, error) {
		return asks.Runs(ctx, schedule.RunsRequest{From: p.config.Now().Add(-nowSpan), PageSize: pastRuns})
	})
	return pastFacts{reply.Runs, err}
}

// pastOf returns what the page says about the runs.
func pastOf(past *pastFacts, namespace string, now time.Time) (view pastView) {
	if past.err != nil {
		return pastView{Problem: lineOf(past.err)}
	}
	var late []time.Duration
	var latest *schedule.Run
	for i := range past.runs {
		run := &past.runs[i]
		row := runOf(run, namespace, now, time.UTC)
		view.Runs++
		switch row.Outcome.Kind {
		case "busy":
			view.Running++
		case "bad":
			view.Failed++
			if len(view.Failures) < fewRuns {
				view.Failures = append(view.Failures, row)
			}
		}
		if len(view.Newest) < fewRuns {
			view.Newest = append(view.Newest, row)
		}
		if run.Manual || run.DueTime.IsZero() {
			continue
		}
		late = append(late, max(run.StartTime.Sub(run.DueTime), 0))
		if latest == nil || run.StartTime.Sub(run.DueTime) > latest.StartTime.Sub(latest.DueTime) {
			latest = run
		}
	}
	if view.Runs >= pastRuns {
		view.Since = momentOf(past.runs[view.Runs-1].StartTime, now, time.UTC)
	}
	if len(late) > 0 {
		slices.Sort(late)
		view.Median, view.Most = shortly(late[len(late)/2]), shortly(late[len(late)-1])
		view.Latest = runOf(latest, namespace, now, time.UTC)
	}
	return view
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
