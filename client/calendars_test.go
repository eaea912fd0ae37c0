package client_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestCalendars(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx := t.Context()
	created, err := c.CreateCalendar(ctx, schedule.CreateCalendarRequest{
		NamedCalendar: schedule.NamedCalendar{Name: "germany", Dates: []schedule.DateRange{"2030-12-25"}},
	})
	require.NoError(t, err)
	update := schedule.UpdateCalendarRequest{NamedCalendar: created.NamedCalendar, ConflictToken: created.ConflictToken}
	update.Dates = append(update.Dates, "2030-12-26")
	updated, err := c.UpdateCalendar(ctx, update)
	require.NoError(t, err)
	described, err := c.DescribeCalendar(ctx, "germany")
	require.NoError(t, err)
	assert.Equal(t, updated.NamedCalendar, described.NamedCalendar)
	_, err = c.UpdateCalendar(ctx, update)
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})

	for _, name := range []string{"a", "b"} {
		_, err := c.CreateCalendar(ctx, schedule.CreateCalendarRequest{NamedCalendar: schedule.NamedCalendar{Name: name}})
		require.NoError(t, err)
	}
	page, err := c.ListCalendars(ctx, schedule.ListRequest{PageSize: 2})
	require.NoError(t, err)
	assert.Len(t, page.Calendars, 2)
	var names []string
	for calendar, err := range c.AllCalendars(ctx, "") {
		require.NoError(t, err)
		names = append(names, calendar.Name)
	}
	assert.Equal(t, []string{"a", "b", "germany"}, names)
	require.NoError(t, c.DeleteCalendar(ctx, "germany"))
	assert.ErrorIs(t, c.DeleteCalendar(ctx, "germany"), &schedule.Error{Code: schedule.CodeNotFound}, "that is another request")
}
