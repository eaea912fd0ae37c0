package client

import (
	"context"
	"iter"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// identify gives a request the unique ID that makes its retries safe, unless the caller has set one.
func identify(requestID *string) {
	if *requestID == "" {
		*requestID = uuid.NewString()
	}
}

// Create creates a schedule and describes it. An empty RequestID is replaced by a unique one, which makes the retries of
// this call safe; a caller that wants its own retries to be safe sets it.
func (c *Client) Create(ctx context.Context, req schedule.CreateRequest) (schedule.Description, error) {
	identify(&req.RequestID)
	return do[schedule.Description](ctx, c, "create", req)
}

// Describe returns a schedule and what became of it. A change that was made a moment ago may not show yet; a schedule
// that was created does.
func (c *Client) Describe(ctx context.Context, id string) (schedule.Description, error) {
	return do[schedule.Description](ctx, c, "describe", schedule.IDRequest{ID: id})
}

// List returns one page. It may hold fewer schedules than asked for also when others follow: only an empty NextPageToken
// says that none do. See [Client.Schedules].
func (c *Client) List(ctx context.Context, req schedule.ListRequest) (schedule.ListReply, error) {
	return do[schedule.ListReply](ctx, c, "list", req)
}

// Schedules goes through the schedules that a request asks for, a page at a time. Those that are created or deleted meanwhile
// may or may not come; all others come once. An error is the last thing that comes.
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

// All goes through the schedules whose ID begins with prefix, ordered by ID, as [Client.Schedules] does.
func (c *Client) All(ctx context.Context, prefix string) iter.Seq2[schedule.Description, error] {
	return c.Schedules(ctx, schedule.ListRequest{Prefix: prefix})
}

// Delete deletes a schedule, whatever has become of it. Queued runs are withdrawn, and runs in progress go on; DeleteVersion
// has the choice.
func (c *Client) Delete(ctx context.Context, id string) error {
	return c.DeleteVersion(ctx, schedule.DeleteRequest{ID: id})
}

// DeleteVersion deletes a schedule unless it has been changed since the ConflictToken of the request was read; then the error
// is ErrFailedPrecondition; without a ConflictToken it deletes it whatever has become of it. Runs of the request says what
// becomes of its runs. An empty RequestID is replaced as by [Client.Create].
func (c *Client) DeleteVersion(ctx context.Context, req schedule.DeleteRequest) error {
	identify(&req.RequestID)
	_, err := do[schedule.Empty](ctx, c, "delete", req)
	return err
}

// Pause stops the automated actions of a schedule; one that is paused stays so. A note replaces the schedule's, an empty
// one leaves it.
func (c *Client) Pause(ctx context.Context, id, note string) error {
	return c.switchPaused(ctx, "pause", id, note)
}

// Unpause resumes the automated actions of a schedule. What was due while it was paused is not made up for. The note is
// as in Pause.
func (c *Client) Unpause(ctx context.Context, id, note string) error {
	return c.switchPaused(ctx, "unpause", id, note)
}

func (c *Client) switchPaused(ctx context.Context, verb, id, note string) error {
	req := schedule.NoteRequest{ID: id, Note: note, RequestID: uuid.NewString()}
	_, err := do[schedule.Empty](ctx, c, verb, req)
	return err
}

// Trigger starts one run now, paused or not. The reply names the trigger, which is the source of the run. An empty
// RequestID is replaced as in Create.
func (c *Client) Trigger(ctx context.Context, req schedule.TriggerRequest) (schedule.TriggerReply, error) {
	identify(&req.RequestID)
	return do[schedule.TriggerReply](ctx, c, "trigger", req)
}
