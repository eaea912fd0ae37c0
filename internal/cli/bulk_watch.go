package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// clockSlack is how far the clocks of frontends and NATS may differ without delaying an event: a look goes back this far before the newest
// event. The last look goes back ten times as far, before the start of the operation.
const clockSlack = 5 * time.Second

func (a *app) bulkWatchCommand() *cobra.Command {
	var output eventOutput
	cmd := &cobra.Command{
		Use:   "watch JOB [flags]",
		Short: "Show each schedule that a bulk operation deals with",
		Long: `Shows the event of each schedule that a bulk operation has dealt with, from the
first, and goes on until the operation is over. It fails if a schedule has. Schedules
where there was nothing to do have no event.`,
		Example: "  carillon bulk watch 3f0c9a3e-6d0b-5e57-9a8e-2f6b1c7d4e93",
		Args:    exactly("JOB"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				return a.watchBulk(ctx, api, output, args[0])
			})
		},
	}
	output.define(cmd)
	return cmd
}

// watchBulk prints the events of a bulk operation until it is over. It reads them from the event history, which still has all of them if
// this command starts late.
func (a *app) watchBulk(ctx context.Context, api *client.Client, output eventOutput, jobID string) error {
	printer := a.eventPrinter(a.env.Stdout, output, render.EventClock, true)
	report := bulkReport{api: api, jobID: jobID, printer: &printer, seen: map[string]bool{}}
	first := true
	operation, err := followBulk(ctx, api, jobID, func(now *schedule.BulkDescription) error {
		if first {
			first = false
			if err := printer.line(printer.lines.Header(a.env.Now())); err != nil {
				return err
			}
		}
		return report.goOn(ctx, now)
	})
	if err != nil {
		return err
	}
	if err := printer.line(string(operation.Status) + ": " + render.BulkProgress(&operation)); err != nil {
		return err
	}
	return bulkError(&operation)
}

// bulkReport prints the events of a bulk operation, each once.
type bulkReport struct {
	api     *client.Client
	jobID   string
	printer *eventPrinter
	seen    map[string]bool
	// newest is the time of the newest event so far.
	newest time.Time
}

// goOn prints the new events. Once the operation is over, no more will come, and goOn reads all events again.
func (r *bulkReport) goOn(ctx context.Context, operation *schedule.BulkDescription) error {
	from := operation.CreateTime.Add(-10 * clockSlack)
	if !operation.Ended() && !r.newest.IsZero() {
		from = r.newest.Add(-clockSlack)
	}
	for event, err := range r.api.Events(ctx, schedule.HistoryRequest{
		Kinds: bulkEvents(operation.Operation), From: from, PageSize: schedule.MaxPageSize,
	}) {
		switch {
		case err != nil:
			return err
		case event.RequestID != r.jobID || r.seen[event.ID]:
			continue
		}
		r.seen[event.ID] = true
		if event.Time.After(r.newest) {
			r.newest = event.Time
		}
		if err := r.printer.event(&event); err != nil {
			return err
		}
	}
	return nil
}

// bulkEvents are the kinds of event that a bulk operation leads to.
func bulkEvents(operation schedule.BulkOperation) []schedule.EventKind {
	kind := map[schedule.BulkOperation]schedule.EventKind{
		schedule.BulkPause: schedule.EventPaused, schedule.BulkUnpause: schedule.EventUnpaused,
		schedule.BulkTrigger: schedule.EventTriggered, schedule.BulkDelete: schedule.EventDeleted,
		schedule.BulkSetLabel: schedule.EventUpdated,
	}[operation]
	return []schedule.EventKind{kind, schedule.EventBulkFailed}
}
