package client

import (
	"context"
	"iter"

	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// doCalendar makes a request about named calendars; see call.
func doCalendar[Reply any](ctx context.Context, c *Client, verb string, request any) (Reply, error) {
	return call[Reply](ctx, c, c.names.API(c.namespace, subjects.ThingCalendar, verb), request)
}

// CreateCalendar creates a named calendar and describes it. An empty RequestID is replaced by a unique one, which makes the
// retries of this call safe.
func (c *Client) CreateCalendar(
	ctx context.Context, req schedule.CreateCalendarRequest,
) (schedule.CalendarDescription, error) {
	identify(&req.RequestID)
	return doCalendar[schedule.CalendarDescription](ctx, c, "create", req)
}

// UpdateCalendar replaces what a named calendar holds, and describes it. The schedules that use it go by it a little later,
// as DescribeCalendar tells. An empty RequestID is replaced as in CreateCalendar.
func (c *Client) UpdateCalendar(
	ctx context.Context, req schedule.UpdateCalendarRequest,
) (schedule.CalendarDescription, error) {
	identify(&req.RequestID)
	return doCalendar[schedule.CalendarDescription](ctx, c, "update", req)
}

// DescribeCalendar returns a named calendar and what became of it.
func (c *Client) DescribeCalendar(ctx context.Context, name string) (schedule.CalendarDescription, error) {
	return doCalendar[schedule.CalendarDescription](ctx, c, "describe", schedule.CalendarRequest{Name: name})
}

// ListCalendars returns one page. It may hold fewer calendars than asked for also when others follow: only an empty
// NextPageToken says that none do. See [Client.AllCalendars].
func (c *Client) ListCalendars(ctx context.Context, req schedule.ListRequest) (schedule.ListCalendarsReply, error) {
	return doCalendar[schedule.ListCalendarsReply](ctx, c, "list", req)
}

// AllCalendars goes through the named calendars whose name begins with prefix, ordered by name, as [Client.All] does through
// schedules.
func (c *Client) AllCalendars(ctx context.Context, prefix string) iter.Seq2[schedule.CalendarSummary, error] {
	return func(yield func(schedule.CalendarSummary, error) bool) {
		req := schedule.ListRequest{Prefix: prefix}
		for {
			page, err := c.ListCalendars(ctx, req)
			if err != nil {
				yield(schedule.CalendarSummary{}, err)
				return
			}
			for _, calendar := range page.Calendars {
				if !yield(calendar, nil) {
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

// DeleteCalendar deletes a named calendar, which no schedule may use.
func (c *Client) DeleteCalendar(ctx context.Context, name string) error {
	req := schedule.DeleteCalendarRequest{Name: name, RequestID: uuid.NewString()}
	_, err := doCalendar[schedule.Empty](ctx, c, "delete", req)
	return err
}
