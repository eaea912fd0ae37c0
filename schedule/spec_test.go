package schedule

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpecValidate(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)
	require.NoError(t, Spec{}.Validate())
	require.NoError(t, Spec{
		Calendars:           []Calendar{{Hour: "9"}},
		StructuredCalendars: []StructuredCalendar{{Hour: []Range{{Start: 9}}}},
		Intervals:           []Interval{{Every: Duration(time.Hour), Phase: Duration(time.Minute)}},
		Cron:                []string{"CRON_TZ=Europe/Berlin 0 9 * * *", "0 10 * * *", "@every 1h"},
		At:                  []time.Time{noon},
		ExcludeCalendars:    []Calendar{{DayOfWeek: "sun"}},
		StartTime:           noon, EndTime: noon.Add(-time.Hour),
		Jitter:   Duration(time.Second),
		TimeZone: "Europe/Berlin",
	}.Validate())
}

func TestSpecErrors(t *testing.T) {
	t.Parallel()
	noon := time.Date(2030, 6, 1, 12, 0, 0, 0, time.UTC)
	for field, spec := range map[string]Spec{
		"calendars[2].hour":                            {Calendars: []Calendar{{}, {}, {Hour: "24"}}},
		"structuredCalendars[0].hour[1].start":         {StructuredCalendars: []StructuredCalendar{{Hour: []Range{{}, {Start: 24}}}}},
		"excludeCalendars[0].minute":                   {ExcludeCalendars: []Calendar{{Minute: "x"}}},
		"excludeStructuredCalendars[0].month[0].start": {ExcludeStructuredCalendars: []StructuredCalendar{{Month: []Range{{}}}}},
		"intervals[1].every":                           {Intervals: []Interval{{Every: Duration(time.Hour)}, {}}},
		"intervals[0].phase":                           {Intervals: []Interval{{Every: Duration(time.Hour), Phase: -1}}},
		"intervals":                                    {Intervals: make([]Interval, 101)},
		"cron[1]":                                      {Cron: []string{"0 0 * * *", "0 0 * *"}},
		"cron[2]":                                      {Cron: []string{"TZ=UTC 0 0 * * *", "@every 1h", "0 0 * * *"}},
		"cron[0]":                                      {Cron: []string{"TZ=UTC 0 0 * * *"}, TimeZone: "Etc/UTC"},
		"at[0]":                                        {At: []time.Time{noon.Add(1)}},
		"at[1]":                                        {At: []time.Time{noon, noon.AddDate(80, 0, 0)}},
		"jitter":                                       {Jitter: -1},
		"timeZone":                                     {TimeZone: "Mars/Olympus"},
		"timeZoneData":                                 {TimeZoneData: []byte("no zone")},
	} {
		var e *Error
		require.ErrorAs(t, spec.Validate(), &e, field)
		require.Equal(t, field, e.Field, e.Message)
		require.Equal(t, CodeInvalidArgument, e.Code)
	}
}

func TestLocation(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]Spec{
		"UTC":           {},
		"Europe/Berlin": {TimeZone: "Europe/Berlin"},
		"Asia/Tokyo":    {Cron: []string{"@every 1h", "TZ=Asia/Tokyo @daily"}},
		"Asia/Seoul":    {Cron: []string{"CRON_TZ= @daily"}, TimeZone: "Asia/Seoul"},
	} {
		loc, err := spec.Location()
		require.NoError(t, err)
		require.Equal(t, name, loc.String())
		again, err := spec.Location()
		require.NoError(t, err)
		require.Same(t, loc, again)
	}
	for _, name := range []string{"Local", "local", "localtime", "../UTC", "America/", " UTC"} {
		_, err := Spec{TimeZone: name}.Location()
		require.Error(t, err, name)
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	plain := errors.New("plain")
	wrapped := fmt.Errorf("wrapped: %w", Invalid("a", "m"))
	require.NoError(t, Prefix("spec", nil))
	require.Equal(t, plain, Prefix("spec", plain))
	require.Equal(t, wrapped, Prefix("spec", wrapped))
	inner := Invalid("b", "m")
	require.Equal(t, Invalid("a.b", "m"), Prefix("a", inner))
	require.Equal(t, Invalid("b", "m"), inner, "the error passed in stays as it is")
	require.Equal(t, Invalid("a[1].b", "m"), Prefix("a", Invalid("[1].b", "m")))
	require.Equal(t, Invalid("a", "m"), Prefix("a", Invalid("", "m")))
	require.Equal(t, Invalid("b", "m"), Prefix("", Invalid("b", "m")))
}

func TestCatchup(t *testing.T) {
	t.Parallel()
	for give, want := range map[time.Duration]time.Duration{
		0: 365 * 24 * time.Hour, time.Second: 10 * time.Second, 10 * time.Second: 10 * time.Second, time.Hour: time.Hour,
	} {
		require.Equal(t, want, Policies{CatchupWindow: Duration(give)}.Catchup())
	}
}
