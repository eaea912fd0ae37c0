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

// UpdateCalendar replaces the entries of a named calendar and describes it. The schedules that use it adopt the change a little later;
// DescribeCalendar shows the progress. An empty RequestID is replaced as in CreateCalendar.
func (c *Client) UpdateCalendar(
	ctx context.Context, req schedule.UpdateCalendarRequest,
) (schedule.CalendarDescription, error) {
	identify(&req.RequestID)
	return doCalendar[schedule.CalendarDescription](ctx, c, "update", req)
}

// CalendarsOf returns the named calendars that a described schedule uses, by name. The error is CodeUnavailable if the schedule does not go by the newest
// version of one of them yet, and otherwise as that of DescribeCalendar.
func (c *Client) CalendarsOf(ctx context.Context, d *schedule.Description) (map[string]schedule.NamedCalendar, error) {
	calendars := map[string]schedule.NamedCalendar{}
	for _, use := range d.Info.Calendars {
		calendar, err := c.DescribeCalendar(ctx, use.Name)
		if err != nil {
			return nil, err
		}
		if calendar.ConflictToken != use.ConflictToken {
			return nil, schedule.Errorf(schedule.CodeUnavailable,
				"%s does not go by the newest version of calendar %s yet: try again in a moment", d.ID, use.Name)
		}
		calendars[use.Name] = calendar.NamedCalendar
	}
	return calendars, nil
}

// DescribeCalendar returns a named calendar and its history.
func (c *Client) DescribeCalendar(ctx context.Context, name string) (schedule.CalendarDescription, error) {
	return doCalendar[schedule.CalendarDescription](ctx, c, "describe", schedule.CalendarRequest{Name: name})
}

// ListCalendars returns one page. A page may hold fewer calendars than asked for even if more follow; only an empty NextPageToken means
// that it is the last page. See [Client.AllCalendars].
func (c *Client) ListCalendars(ctx context.Context, req schedule.ListRequest) (schedule.ListCalendarsReply, error) {
	return doCalendar[schedule.ListCalendarsReply](ctx, c, "list", req)
}

// AllCalendars iterates over the named calendars whose name begins with prefix, ordered by name. It works like [Client.All].
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

// DeleteCalendar deletes a named calendar. It fails if a schedule uses the calendar.
func (c *Client) DeleteCalendar(ctx context.Context, name string) error {
	req := schedule.DeleteCalendarRequest{Name: name, RequestID: uuid.NewString()}
	_, err := doCalendar[schedule.Empty](ctx, c, "delete", req)
	return err
}
