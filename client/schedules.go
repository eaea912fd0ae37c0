package client

import (
	"context"
	"iter"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// identify gives a request a unique ID unless the caller has set one. The ID makes retries of the request safe.
func identify(requestID *string) {
	if *requestID == "" {
		*requestID = uuid.NewString()
	}
}

// Create creates a schedule and describes it. An empty RequestID is replaced by a unique one, which makes the retries of this call safe. A
// caller that repeats the call sets its own RequestID to make that safe as well.
func (c *Client) Create(ctx context.Context, req schedule.CreateRequest) (schedule.Description, error) {
	identify(&req.RequestID)
	return do[schedule.Description](ctx, c, "create", req)
}

// Describe returns a schedule and what became of it. It always finds a schedule that has been created, but a very recent change may not
// show yet.
func (c *Client) Describe(ctx context.Context, id string) (schedule.Description, error) {
	return do[schedule.Description](ctx, c, "describe", schedule.IDRequest{ID: id})
}

// List returns one page. A page may hold fewer schedules than asked for even if more follow; only an empty NextPageToken means that it is
// the last page. See [Client.Schedules].
func (c *Client) List(ctx context.Context, req schedule.ListRequest) (schedule.ListReply, error) {
	return do[schedule.ListReply](ctx, c, "list", req)
}

// Schedules iterates over the schedules that a request selects. It reads a page at a time. Schedules that are created or deleted meanwhile
// may or may not come; every other schedule comes once. An error ends the iteration.
func (c *Client) Schedules(ctx context.Context, req schedule.ListRequest) iter.Seq2[schedule.Description, error] {
	return func(yield func(schedule.Description, error) bool) {
		for {
			page, err := c.List(ctx, req)
			if err != nil {
				yield(schedule.Description{}, err)
				return
			}
			for _, description := range page.Schedules {
				if !yield(description, nil) {
					return
				}
			}
			if page.NextPageToken == "" {
				return
			}
			req.PageToken = page.NextPageToken
		}
	}
}

// All iterates over the schedules whose ID begins with prefix, ordered by ID. It works like [Client.Schedules].
func (c *Client) All(ctx context.Context, prefix string) iter.Seq2[schedule.Description, error] {
	return c.Schedules(ctx, schedule.ListRequest{Prefix: prefix})
}

// Delete deletes a schedule, even if it has changed. Queued runs are withdrawn; runs in progress continue. Use DeleteVersion to choose
// otherwise.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.DeleteVersion(ctx, schedule.DeleteRequest{ID: id})
}

// DeleteVersion deletes a schedule unless it has changed since the ConflictToken of the request was read; then the error is
// ErrFailedPrecondition. Without a ConflictToken, it deletes any version. The Runs field of the request says what becomes of the runs. An
// empty RequestID is replaced as by [Client.Create].
func (c *Client) DeleteVersion(ctx context.Context, req schedule.DeleteRequest) error {
	identify(&req.RequestID)
	_, err := do[schedule.Empty](ctx, c, "delete", req)
	return err
}

// Pause stops the automated actions of a schedule. A schedule that is paused already stays paused. A note replaces the schedule's note; an
// empty note leaves it.
func (c *Client) Pause(ctx context.Context, id, note string) error {
	return c.switchPaused(ctx, "pause", id, note)
}

// Unpause resumes the automated actions of a schedule. Actions that were due while it was paused do not start later. The note works as in
// Pause.
func (c *Client) Unpause(ctx context.Context, id, note string) error {
	return c.switchPaused(ctx, "unpause", id, note)
}

func (c *Client) switchPaused(ctx context.Context, verb, id, note string) error {
	req := schedule.NoteRequest{ID: id, Note: note, RequestID: uuid.NewString()}
	_, err := do[schedule.Empty](ctx, c, verb, req)
	return err
}

// Trigger starts one run now, even if the schedule is paused. The reply names the trigger, which is the source of the run. An empty
// RequestID is replaced as in Create.
func (c *Client) Trigger(ctx context.Context, req schedule.TriggerRequest) (schedule.TriggerReply, error) {
	identify(&req.RequestID)
	return do[schedule.TriggerReply](ctx, c, "trigger", req)
}
