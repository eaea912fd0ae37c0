package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestDateRange(t *testing.T) {
	t.Parallel()
	date := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for text, want := range map[schedule.DateRange][2]time.Time{
		"2026-12-25":            {date(12, 25), date(12, 25)},
		"2026-12-24/2026-12-26": {date(12, 24), date(12, 26)},
		"2026-02-28/2026-02-28": {date(2, 28), date(2, 28)},
	} {
		first, last, err := text.Bounds()
		require.NoError(t, err, text)
		require.Equal(t, want, [2]time.Time{first, last}, text)
	}
}

func TestDateRangeErrors(t *testing.T) {
	t.Parallel()
	const notDate = " is not a date: use one such as 2026-12-25, or a range such as 2026-12-24/2026-12-26"
	for text, want := range map[schedule.DateRange]string{
		"":                      `""` + notDate,
		"2026-02-29":            `"2026-02-29"` + notDate,
		"2026-2-9":              `"2026-2-9"` + notDate,
		" 2026-12-25":           `" 2026-12-25"` + notDate,
		"2026-12-25/":           `""` + notDate,
		"2026-12-25T00:00:00Z":  `"2026-12-25T00:00:00Z"` + notDate,
		"2026-12-25/2026-12-24": `"2026-12-25/2026-12-24" ends before it starts: write the earlier date first`,
		"1999-12-31":            `"1999-12-31" is out of range: use the years 2000 to 2100`,
		"2026-12-25/2101-01-01": `"2101-01-01" is out of range: use the years 2000 to 2100`,
	} {
		scheduletest.RequireInvalid(t, text.Validate(), want)
	}
}

func TestBlackoutErrors(t *testing.T) {
	t.Parallel()
	require.NoError(t, schedule.Blackout{From: scheduletest.Whole(1), To: scheduletest.Whole(1).Add(1)}.Validate())
	scheduletest.RequireInvalid(t, schedule.Blackout{To: scheduletest.Whole(1)}.Validate(), "from: is missing: use a time in RFC 3339")
	scheduletest.RequireInvalid(t, schedule.Blackout{From: scheduletest.Whole(1)}.Validate(), "to: is missing: use a time in RFC 3339")
	scheduletest.RequireInvalid(t, schedule.Blackout{From: scheduletest.Whole(2), To: scheduletest.Whole(1)}.Validate(), "to: 2026-03-01T01:30:15Z is not after from "+
		"(2026-03-01T02:30:15Z): use a later time, it is the first one that is not blacked out")
}

func TestNamedCalendars(t *testing.T) {
	t.Parallel()
	spec := schedule.Spec{ExcludeCalendarsNamed: []string{"germany", "berlin"}}
	named := map[string]schedule.NamedCalendar{"germany": {Name: "germany"}, "berlin": {Name: "berlin"}}
	require.NoError(t, spec.ValidateWith(named))
	require.NoError(t, spec.Validate(), "that is for the frontend to find out")
	scheduletest.RequireInvalid(t, spec.ValidateWith(nil), `excludeCalendarsNamed[0]: named calendar "germany" does not exist: the namespace has none`)

	spec.ExcludeCalendarsNamed[1] = "Berlln"
	scheduletest.RequireInvalid(t, spec.ValidateWith(named),
		`excludeCalendarsNamed[1]: named calendar "Berlln" does not exist: did you mean berlin?`)
	spec.ExcludeCalendarsNamed[1] = "x"
	scheduletest.RequireInvalid(t, spec.ValidateWith(named),
		`excludeCalendarsNamed[1]: named calendar "x" does not exist: use one of berlin, germany`)
	for i := range 20 {
		named[fmt.Sprintf("office-%02d", i)] = schedule.NamedCalendar{}
	}
	require.ErrorContains(t, spec.ValidateWith(named), "germany, office-00, office-01, office-02, office-03, office-04, "+
		"office-05, office-06, office-07 or another of the 22")

	named["x"] = schedule.NamedCalendar{Name: "x", Dates: []schedule.DateRange{"2026-01-01", "soon"}}
	require.ErrorContains(t, spec.ValidateWith(named), `excludeCalendarsNamed[1].dates[1]: "soon" is not a date`)
	named["x"] = schedule.NamedCalendar{}
	scheduletest.RequireInvalid(t, spec.ValidateWith(named), "excludeCalendarsNamed[1].name: is empty: use 1 to 255 bytes of text")
	named["x"] = schedule.NamedCalendar{Name: "x", Dates: make([]schedule.DateRange, 1), Windows: make([]schedule.Blackout, 1000)}
	scheduletest.RequireInvalid(t, spec.ValidateWith(named), "excludeCalendarsNamed[1]: has 1001 dates and windows: at most 1000 are accepted")
	spec.ExcludeCalendarsNamed = make([]string, 11)
	scheduletest.RequireInvalid(t, spec.ValidateWith(named), "excludeCalendarsNamed: has 11 entries: at most 10 are accepted")
	scheduletest.RequireInvalid(t, spec.Validate(), "excludeCalendarsNamed: has 11 entries: at most 10 are accepted")
	spec.ExcludeCalendarsNamed = []string{""}
	scheduletest.RequireInvalid(t, spec.Validate(), "excludeCalendarsNamed[0]: is empty: use 1 to 255 bytes of text")
}

func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	for field, spec := range map[string]schedule.Spec{
		"excludeDates": {ExcludeDates: make([]schedule.DateRange, 101)}, "blackouts": {Blackouts: make([]schedule.Blackout, 101)},
	} {
		scheduletest.RequireInvalid(t, spec.Validate(), field+": has 101 entries: at most 100 are accepted")
	}
}

func FuzzDateRange(f *testing.F) {
	for _, seed := range []string{"2026-12-25", "2026-12-24/2026-12-26", "2000-02-29/2100-12-31", "/", "2026-02-30", "-1-1-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, last, err := schedule.DateRange(text).Bounds()
		if err != nil {
			require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
			return
		}
		require.False(t, last.Before(first))
		printed := first.Format(time.DateOnly)
		if len(text) > len(printed) {
			printed += "/" + last.Format(time.DateOnly)
		}
		require.Equal(t, text, printed, "there is one way to write a range")
	})
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"90s", "1h30m", "250ms", "-1.5h", "0", "1", "2562047h47m16.854775807s", "1us", "1µs", "+5m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := schedule.ParseDuration(text)
		if err != nil {
			return
		}
		again, err := schedule.ParseDuration(d.String())
		require.NoError(t, err, d.String())
		require.Equal(t, d, again)
	})
}

// FuzzTime reads one-off times and bounds, as the only entry of a JSON document.
func FuzzTime(f *testing.F) {
	for _, seed := range []string{
		"2026-03-01T09:00:00Z", "2026-03-01T09:00:00.5+02:00", "9999-12-31T23:59:59-01:00", "2016-12-31T23:59:60Z", "0000-01-01T00:00:00+23:59",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted, err := apitext.EncodeJSON(text)
		require.NoError(t, err)
		var first, again schedule.Blackout
		if err := apitext.DecodeJSON([]byte(`{"from":`+string(quoted)+`}`), &first); err != nil {
			require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
			return
		}
		printed, err := apitext.EncodeJSON(first)
		require.NoError(t, err)
		require.NoError(t, apitext.DecodeJSON(printed, &again), "%s", printed)
		require.Equal(t, first, again)
	})
}
