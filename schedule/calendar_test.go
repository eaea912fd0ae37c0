package schedule

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
)

func TestCalendarStructured(t *testing.T) {
	t.Parallel()
	got, err := Calendar{
		Second: "5", Minute: "*/15,7", Hour: "9-17/2", DayOfMonth: "3/10", Month: "jan,SEPT-december", Year: "2030",
		DayOfWeek: "mon-fri,7", Comment: "c",
	}.Structured()
	require.NoError(t, err)
	require.Equal(t, StructuredCalendar{
		Second:     []Range{{Start: 5, End: 5}},
		Minute:     []Range{{Start: 0, End: 59, Step: 15}, {Start: 7, End: 7}},
		Hour:       []Range{{Start: 9, End: 17, Step: 2}},
		DayOfMonth: []Range{{Start: 3, End: 31, Step: 10}},
		Month:      []Range{{Start: 1, End: 1}, {Start: 9, End: 12}},
		Year:       []Range{{Start: 2030, End: 2030}},
		DayOfWeek:  []Range{{Start: 1, End: 5}, {Start: 0, End: 0}},
		Comment:    "c",
	}, got)
}

func TestCalendarDayParts(t *testing.T) {
	t.Parallel()
	got, err := Calendar{DayOfMonth: "1-3,L,l-3,LW,15w,31W", DayOfWeek: "mon,7#5,sunL,FRIDAY#2,5l"}.Structured()
	require.NoError(t, err)
	at := func(value int) Range { return Range{Start: value, End: value} }
	require.Equal(t, []Range{{Start: 1, End: 3}}, got.DayOfMonth)
	require.Equal(t, []Range{at(0), at(3)}, got.LastDayOfMonth)
	require.Equal(t, []Range{at(15), at(31)}, got.NearestWeekday)
	require.True(t, got.LastWeekday)
	require.Equal(t, []Range{at(1)}, got.DayOfWeek)
	require.Equal(t, []NthDayOfWeek{{DayOfWeek: 0, Nth: 5}, {DayOfWeek: 5, Nth: 2}}, got.NthDayOfWeek)
	require.Equal(t, []Range{at(0), at(5)}, got.LastDayOfWeek)

	got, err = Calendar{DayOfMonth: "L"}.Structured()
	require.NoError(t, err)
	require.Nil(t, got.DayOfMonth, "no day but the last one")
}

func TestCalendarDefaults(t *testing.T) {
	t.Parallel()
	empty, err := Calendar{}.Structured()
	require.NoError(t, err)
	explicit, err := Calendar{
		Second: "0", Minute: " 0 ", Hour: "0", DayOfMonth: "*", Month: "\t*", Year: "*", DayOfWeek: "*",
	}.Structured()
	require.NoError(t, err)
	require.Equal(t, explicit, empty)
	require.Nil(t, empty.Year, "no year means every year")
	require.Equal(t, []Range{{Start: 0, End: 6}}, empty.DayOfWeek)
}

func TestSundayAsSeven(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]Range{
		"7":     {{Start: 0, End: 0}},
		"7-7/3": {{Start: 0, End: 0}},
		"5-7":   {{Start: 5, End: 6}, {Start: 0, End: 0}},
		"1-7/2": {{Start: 1, End: 6, Step: 2}, {Start: 0, End: 0}},
		"2-7/2": {{Start: 2, End: 6, Step: 2}},
		"2/5":   {{Start: 2, End: 6, Step: 5}, {Start: 0, End: 0}},
		"*/7":   {{Start: 0, End: 6, Step: 7}},
		"su-sa": {{Start: 0, End: 6}},
	} {
		got, err := Calendar{DayOfWeek: CalendarField(text)}.Structured()
		require.NoError(t, err, text)
		require.Equal(t, want, got.DayOfWeek, text)
	}
}

func TestCalendarErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		give        Calendar
		field, want string
	}{
		{Calendar{Hour: "24"}, "hour", `"24" is out of range: use 0 to 23`},
		{Calendar{Hour: "22-2"}, "hour", `"22-2" ends before it starts: write the smaller value first, or two ranges`},
		{Calendar{Minute: "*/0"}, "minute", `"*/0" has no valid step: write a number from 1 to 2147483647 after the slash`},
		{Calendar{Minute: "+5"}, "minute", `"+5" is not accepted: use *, 0 to 59, ranges such as x-z, ` +
			`steps such as */y, and lists of those`},
		{Calendar{Month: "ja"}, "month", `"ja" is not accepted: use *, 1 to 12 or names such as jan, ` +
			`ranges such as x-z, steps such as */y, and lists of those`},
		{Calendar{DayOfWeek: "8"}, "dayOfWeek", `"8" is out of range: use 0 to 7`},
		{Calendar{Year: "1999"}, "year", `"1999" is out of range: use 2000 to 2100`},
		{Calendar{DayOfWeek: "?"}, "dayOfWeek", `"?" is not accepted: use *, 0 to 7 or names such as su, fri#2, friL, ` +
			`ranges such as x-z, steps such as */y, and lists of those`},
		{Calendar{DayOfMonth: "L-99"}, "dayOfMonth", `"L-99" is not accepted: write L, LW, or L-1 to L-30`},
		{Calendar{Comment: strings.Repeat("é", 101)}, "comment", "is 202 bytes long: at most 200 are accepted"},
	} {
		_, err := test.give.Structured()
		require.Equal(t, Invalid(test.field, "%s", test.want), err)
	}
}

func TestStructuredCalendarErrors(t *testing.T) {
	t.Parallel()
	good := Range{Start: 2000, End: 2100, Step: 3}
	require.NoError(t, StructuredCalendar{Year: []Range{good, {Start: 2050}}}.Validate())
	for field, give := range map[string]StructuredCalendar{
		"year[1].start":       {Year: []Range{good, {Start: 2101}}},
		"hour[0].end":         {Hour: []Range{{Start: 3, End: 24}}},
		"minute[0].step":      {Minute: []Range{{Step: -1}}},
		"minute[1].step":      {Minute: []Range{{}, {Start: 5, End: 6, Step: 1<<63 - 1}}},
		"dayOfWeek[0].start":  {DayOfWeek: []Range{{Start: 7}}},
		"dayOfMonth[0].start": {DayOfMonth: []Range{{Start: 0, End: 3}}},
		"second[0].end":       {Second: []Range{{Start: 3, End: -1}}},
		"month":               {Month: make([]Range, maxRanges+1)},
		"comment":             {Comment: strings.Repeat("c", 201)},

		"lastDayOfMonth[0].start":   {LastDayOfMonth: []Range{{Start: 31}}},
		"nearestWeekday[0].start":   {NearestWeekday: []Range{{}}},
		"lastDayOfWeek[0].end":      {LastDayOfWeek: []Range{{End: 7}}},
		"nthDayOfWeek[0].nth":       {NthDayOfWeek: []NthDayOfWeek{{DayOfWeek: 5}}},
		"nthDayOfWeek[1].dayOfWeek": {NthDayOfWeek: []NthDayOfWeek{{DayOfWeek: 5, Nth: 5}, {DayOfWeek: 7, Nth: 1}}},
	} {
		var e *Error
		require.ErrorAs(t, give.Validate(), &e, field)
		require.Equal(t, field, e.Field)
	}
}

// TestReadCalendarsAreValid: what the string form gives is within the bounds of the structured form.
func TestReadCalendarsAreValid(t *testing.T) {
	t.Parallel()
	item := rapid.StringMatching(`(\*|[0-9]{1,2}|[a-zA-Z]{2,4})(-([0-9]{1,2}|[a-z]{2,4}))?(/[0-9]{1,2})?|` +
		`L|LW|L-[0-9]{1,2}|[0-9]{1,2}[WL]|(fri|[0-9])(#[0-9]|L)`)
	rapid.Check(t, func(t *rapid.T) {
		text := CalendarField(strings.Join(rapid.SliceOfN(item, 1, 3).Draw(t, "items"), ","))
		for _, c := range []Calendar{
			{Second: text}, {Hour: text}, {DayOfMonth: text}, {Month: text}, {DayOfWeek: text}, {Year: text},
		} {
			if structured, err := c.Structured(); err == nil {
				require.NoError(t, structured.Validate(), text)
			}
		}
	})
}

func FuzzCalendar(f *testing.F) {
	for _, seed := range []string{"*", "5,7-9/2", "*/15", "mon-fri", "sun/2", "7-7", "2024/3", "99999999999", "-", "é-", "L", "L-3,LW", "15W",
		"fri#2", "7#5,sunL"} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, one, other string) {
		first, second := CalendarField(one), CalendarField(other)
		structured, err := Calendar{
			Second: first, Minute: second, Hour: first, DayOfMonth: second, Month: first, Year: second, DayOfWeek: first,
		}.Structured()
		if err == nil {
			require.NoError(t, structured.Validate())
			return
		}
		require.Equal(t, CodeInvalidArgument, CodeOf(err))
	})
}
