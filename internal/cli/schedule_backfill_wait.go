package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// backfillPoll is how often the progress of a backfill is looked at.
	backfillPoll = 500 * time.Millisecond
	// maxBlindPolls is how often in a row nothing may be learnt about a backfill: it may not show yet, or NATS may be away.
	maxBlindPolls = 20
)

// errVanished is about a backfill that is neither in progress nor in the event history, which keeps events for a time.
var errVanished = errors.New("the backfill is not in progress any more, and the event history does not say how it ended")

// waitForBackfill shows the progress of a backfill until it is over. It asks instead of listening, so that nothing can be
// missed while NATS is away.
func (a *app) waitForBackfill(ctx context.Context, api *client.Client, output outputFlag, reply schedule.BackfillReply) error {
	meter := newMeter(io.Discard, false)
	if output.forPeople() {
		meter = newMeter(a.env.Stdout, isTerminal(a.env.Stdout))
	}
	defer meter.end()
	ticker := time.NewTicker(backfillPoll)
	defer ticker.Stop()
	for blind := 0; ; {
		over, err := lookAtBackfill(ctx, api, reply, meter)
		switch {
		case ctx.Err() != nil:
			return errStopped
		case over != nil:
			meter.end()
			return meter.over(over)
		case err == nil:
			blind = 0
		case blind == maxBlindPolls || !errors.Is(err, errVanished) && schedule.CodeOf(err) != schedule.CodeUnavailable:
			return err
		default:
			blind++
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// lookAtBackfill shows how far a backfill has come, or returns the event that ended it.
func lookAtBackfill(
	ctx context.Context, api *client.Client, reply schedule.BackfillReply, meter *meter,
) (*schedule.Event, error) {
	description, err := api.Describe(ctx, reply.ID)
	if err != nil {
		return nil, err
	}
	if progress, ok := backfillOf(&description, reply.BackfillID); ok {
		meter.show(progress, zoneOf(description.Spec))
		return nil, nil
	}
	// The event comes before the record of the backfill goes.
	return endOfBackfill(ctx, api, reply)
}

func backfillOf(d *schedule.Description, id string) (schedule.BackfillProgress, bool) {
	for _, progress := range d.Info.Backfills {
		if progress.BackfillID == id {
			return progress, true
		}
	}
	return schedule.BackfillProgress{}, false
}

// endOfBackfill returns the event that ended a backfill, or errVanished.
func endOfBackfill(ctx context.Context, api *client.Client, reply schedule.BackfillReply) (*schedule.Event, error) {
	page, err := api.History(ctx, schedule.HistoryRequest{
		ID:     reply.ID,
		Kinds:  []schedule.EventKind{schedule.EventBackfillCompleted, schedule.EventBackfillCanceled},
		Newest: true, PageSize: schedule.MaxBackfills,
	})
	if err != nil {
		return nil, err
	}
	for i := range page.Events {
		if page.Events[i].Source == reply.BackfillID {
			return &page.Events[i], nil
		}
	}
	return nil, errVanished
}

// over says how a backfill ended.
func (m *meter) over(event *schedule.Event) error {
	if event.Kind == schedule.EventBackfillCanceled {
		return fmt.Errorf("the backfill was canceled%s after %s", by(event.Identity), plural(event.Count, "time"))
	}
	_, err := fmt.Fprintf(m.out, "all started: %s; carillon run list shows how they end\n", plural(event.Count, "time"))
	return err
}

func by(identity string) string {
	if identity == "" {
		return ""
	}
	return " by " + identity
}
