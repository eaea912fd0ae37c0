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
	// backfillPoll is the pause between two looks at the progress of a backfill.
	backfillPoll = 500 * time.Millisecond
	// maxBlindPolls is how many looks in a row may learn nothing about a backfill: it may not be visible yet, or NATS may be away.
	maxBlindPolls = 20
	// clockSkew is how much the clocks of two machines may differ.
	clockSkew = time.Minute
)

var (
	// errVanished reports a backfill that is neither in progress nor in the event history. The history keeps events only for a time.
	errVanished = errors.New("the backfill is not in progress any more, and the event history does not say how it ended")
	// errLagging reports runs that are no longer in progress, and whose last events may not be stored yet.
	errLagging = errors.New("the event history does not say how all runs have ended")
	// errBackfillGone ends a wait for runs because their schedule was deleted.
	errBackfillGone = errors.New("the schedule has been deleted, so it is not known what becomes of the runs of the backfill")
)

// backfillWait waits for one backfill and its runs. It polls instead of listening, so it misses nothing while NATS is away. It is not safe
// for concurrent use.
type backfillWait struct {
	api   *client.Client
	reply schedule.BackfillReply
	// since is a time before the request.
	since time.Time
	meter *meter
	// over is the event that ended the backfill; it is nil until that is known.
	over *schedule.Event
	// fates is what the history said at the last look.
	fates backfillFates
}

// waitForBackfill shows the progress of a backfill until its runs have ended. The argument since is a time before the request.
func (a *app) waitForBackfill(
	ctx context.Context, api *client.Client, output outputFlag, reply schedule.BackfillReply, since time.Time,
) error {
	w := backfillWait{api: api, reply: reply, since: since, meter: newMeter(io.Discard, false)}
	if output.forPeople() {
		w.meter = newMeter(a.env.Stdout, isTerminal(a.env.Stdout))
	}
	defer w.meter.end()
	if err := w.wait(ctx); err != nil {
		return err
	}
	w.meter.end()
	if _, err := fmt.Fprintln(w.meter.out, w.fates.text(w.over.Count)); err != nil {
		return err
	}
	return w.fates.failure(w.over.Count)
}

// wait returns when all runs have ended, or when nothing more can be learned about them.
func (w *backfillWait) wait(ctx context.Context) error {
	ticker := time.NewTicker(backfillPoll)
	defer ticker.Stop()
	for blind := 0; ; {
		ended, err := w.look(ctx)
		switch {
		case ctx.Err() != nil:
			return errStopped
		case ended:
			return nil
		case err == nil:
			blind = 0
		case blind == maxBlindPolls && errors.Is(err, errLagging):
			return nil // the outcome says how many runs the history does not know
		case blind == maxBlindPolls || !passes(err):
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

// passes reports whether a later look may succeed despite the error.
func passes(err error) bool {
	return errors.Is(err, errVanished) || errors.Is(err, errLagging) || schedule.CodeOf(err) == schedule.CodeUnavailable
}

// look shows the progress of the backfill, and reports whether all of its runs have ended.
func (w *backfillWait) look(ctx context.Context) (ended bool, err error) {
	description, err := w.api.Describe(ctx, w.reply.ID)
	gone := schedule.CodeOf(err) == schedule.CodeNotFound
	if err != nil && !gone {
		return false, err
	}
	if progress, ok := backfillOf(&description, w.reply.BackfillID); ok {
		w.meter.show(progress, zoneOf(description.Spec))
		return false, nil
	}
	// The event is stored before the record of the backfill is removed.
	if err := w.learnEnd(ctx); err != nil {
		return false, err
	}
	if running := runsOf(&description, w.reply.BackfillID); running > 0 && w.over != nil {
		w.meter.rest(running, w.over.Count)
		return false, nil
	}
	return w.settle(ctx)
}

// learnEnd looks for the event that ended the backfill. It returns an error if the backfill was canceled.
func (w *backfillWait) learnEnd(ctx context.Context) error {
	if w.over != nil {
		return nil
	}
	page, err := w.api.History(ctx, schedule.HistoryRequest{
		ID:     w.reply.ID,
		Kinds:  []schedule.EventKind{schedule.EventBackfillCompleted, schedule.EventBackfillCanceled},
		Newest: true, PageSize: schedule.MaxBackfills,
	})
	if err != nil {
		return err
	}
	for i := range page.Events {
		event := &page.Events[i]
		switch {
		case event.Source != w.reply.BackfillID:
		case event.Kind == schedule.EventBackfillCanceled:
			return fmt.Errorf("the backfill was canceled%s after %s", by(event.Identity), plural(event.Count, "time"))
		default:
			w.over = event
		}
	}
	return nil
}

// settle reads the fates of the runs from the history. The event of a run may be stored a moment after the run has ended.
func (w *backfillWait) settle(ctx context.Context) (ended bool, err error) {
	w.fates = newBackfillFates(w.reply.BackfillID)
	for event, err := range w.api.Events(ctx, schedule.HistoryRequest{
		ID: w.reply.ID, Kinds: fateKinds, From: w.since, PageSize: schedule.MaxPageSize,
	}) {
		if err != nil {
			return false, err
		}
		w.fates.add(&event)
	}
	switch {
	case w.over != nil && w.fates.known() >= w.over.Count:
		return true, nil
	case w.fates.deleted:
		return false, errBackfillGone
	case w.over == nil:
		return false, errVanished
	}
	return false, errLagging
}

func backfillOf(d *schedule.Description, id string) (schedule.BackfillProgress, bool) {
	for _, progress := range d.Info.Backfills {
		if progress.BackfillID == id {
			return progress, true
		}
	}
	return schedule.BackfillProgress{}, false
}

// runsOf counts the runs in progress that a backfill has started.
func runsOf(d *schedule.Description, id string) int {
	count := 0
	for i := range d.Info.RunningWorkflows {
		if d.Info.RunningWorkflows[i].Source == id {
			count++
		}
	}
	return count
}

func by(identity string) string {
	if identity == "" {
		return ""
	}
	return " by " + identity
}
