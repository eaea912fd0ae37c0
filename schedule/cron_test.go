package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseCron(t *testing.T) {
	t.Parallel()
	got, err := ParseCron(" CRON_TZ=Europe/Berlin\t30 9  * * mon-fri 2030 # stand-up # daily ")
	require.NoError(t, err)
	want, err := Calendar{
		Minute: "30", Hour: "9", DayOfWeek: "1-5", Year: "2030", Comment: "stand-up # daily",
	}.Structured()
	require.NoError(t, err)
	require.Equal(t, CronExpression{
		Calendars: []StructuredCalendar{want}, TimeZone: "Europe/Berlin", Comment: "stand-up # daily",
	}, got)
}

func TestParseCronFields(t *testing.T) {
	t.Parallel()
	for text, calendar := range map[string]Calendar{
		"1 2 3 4 *":                   {Minute: "1", Hour: "2", DayOfMonth: "3", Month: "4"},
		"1 2 3 4 * 2050":              {Minute: "1", Hour: "2", DayOfMonth: "3", Month: "4", Year: "2050"},
		"9 1 2 3 4 * 2050":            {Second: "9", Minute: "1", Hour: "2", DayOfMonth: "3", Month: "4", Year: "2050"},
		"* * * * * * *":               {Second: "*", Minute: "*", Hour: "*"},
		"@yearly":                     {Month: "1", DayOfMonth: "1"},
		"@weekly":                     {DayOfWeek: "0"},
		"TZ= @hourly":                 {Hour: "*"},
		"0 0 * * *\n":                 {},
		"0 0 */2 * mon":               {DayOfMonth: "*/2", DayOfWeek: "mon"},
		"0 0 13 * */2":                {DayOfMonth: "13", DayOfWeek: "*/2"},
		"0 0 *,13 * fri #x":           {DayOfMonth: "*,13", DayOfWeek: "fri"},
		"0 0 * * *#daily # backup":    {},
		"0 0 1 * * #2 note":           {DayOfMonth: "1"},
		"0 0 * * 1#2":                 {DayOfWeek: "mon#2"},
		"0 0 ? * mon,FRI#1,5L\t#note": {DayOfWeek: "mon,5#1,fril"},
		"0 0 L,15w,l-3 * ?":           {DayOfMonth: "l,15W,L-3"},
		"0 0 LW * * 2030 #":           {DayOfMonth: "LW", Year: "2030"},
		"0 0 ? * ?":                   {},
	} {
		got, err := ParseCron(text)
		require.NoError(t, err, text)
		require.Len(t, got.Calendars, 1, text)
		calendar.Comment = got.Comment
		want, err := calendar.Structured()
		require.NoError(t, err)
		require.Equal(t, want, got.Calendars[0], text)
	}
}

// TestEitherDayField: Friday the 13th is written with a calendar; the cron expression means the 13th and every Friday.
func TestEitherDayField(t *testing.T) {
	t.Parallel()
	got, err := ParseCron("0 0 13 * fri")
	require.NoError(t, err)
	byDate, err := Calendar{DayOfMonth: "13"}.Structured()
	require.NoError(t, err)
	byWeekday, err := Calendar{DayOfWeek: "fri"}.Structured()
	require.NoError(t, err)
	require.Equal(t, []StructuredCalendar{byDate, byWeekday}, got.Calendars)
}

func TestParseEvery(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Interval{
		"@every 90m":                    {Every: Duration(90 * time.Minute)},
		"@every \t 1h/15m":              {Every: Duration(time.Hour), Phase: Duration(15 * time.Minute)},
		"@every 7d/36h":                 {Every: Duration(168 * time.Hour), Phase: Duration(36 * time.Hour)},
		"@every 1d12h # note":           {Every: Duration(36 * time.Hour)},
		"CRON_TZ=Asia/Tokyo @every 24h": {Every: Duration(24 * time.Hour)},
	} {
		got, err := ParseCron(text)
		require.NoError(t, err, text)
		require.Equal(t, &want, got.Interval, text)
		require.Empty(t, got.Calendars)
	}
}

func TestParseCronErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                        `"" has no fields`,
		"# nothing":               "has no fields",
		"0 0 * *":                 "has 4 fields",
		"0 24 * * *":              `hour "24" is out of range: use 0 to 23`,
		"? 0 * * *":               `minute "?" is not accepted`,
		"0 0 ?/2 * *":             `dayOfMonth "?" is not accepted`,
		"0 0 * * ?,1":             `dayOfWeek "?" is not accepted`,
		"0 0 * ? *":               `month "?" is not accepted`,
		"0 0 * * *  ?":            `year "?" is not accepted`,
		"0 0 * * L":               `dayOfWeek "L" is not accepted alone: name the day, such as friL`,
		"0 0 * * 1#6":             `dayOfWeek "1#6" is not accepted: write a number from 1 to 5 after #`,
		"0 0 * * fri#L":           `dayOfWeek "fri#L" is not accepted: write a number from 1 to 5 after #, or friL for the last`,
		"0 0 * * fri#-1":          `dayOfWeek "fri#-1" is not accepted`,
		"0 0 * * fri#x":           `a comment has a blank before its #`,
		"0 0 * * sun#12":          `dayOfWeek "sun#12" is not accepted`,
		"0 0 * * mon#1-2":         `dayOfWeek "mon#1-2" is not accepted`,
		"0 0 * * 1#2#3":           `dayOfWeek "1#2#3" is not accepted`,
		"0 0 * * *#2":             `dayOfWeek "*" is not accepted`,
		"0 0 *#L * *":             `dayOfMonth "*#L" is not accepted`,
		"0 0 */2#x * *":           `dayOfMonth "*/2#x"`,
		"@daily#x":                `"@daily#x" is not known`,
		"@every 1h#x":             `"1h#x" is not a duration`,
		"TZ=UTC#x 0 0 * * *":      `"UTC#x" is not a known time zone`,
		"0 0 * * mon-fri#2":       `dayOfWeek "mon-fri" is not accepted`,
		"0 0 * * */2#1":           `dayOfWeek "*/2" is not accepted`,
		"0 0 * * fribL":           `dayOfWeek "FRIB" is not accepted`,
		"0 0 1#2 * *":             `dayOfMonth "1#2" is not accepted: use *, 1 to 31, L, L-3, LW, 15W, ranges`,
		"0 0 * jan#2 *":           `month "jan#2" is not accepted`,
		"0 0 L-0 * *":             `dayOfMonth "L-0" is not accepted: write L, LW, or L-1 to L-30`,
		"0 0 L-31 * *":            `dayOfMonth "L-31" is not accepted`,
		"0 0 L3 * *":              `dayOfMonth "L3" is not accepted`,
		"0 0 1-15W * *":           `dayOfMonth "1-15W" is not accepted: write one day from 1 to 31 before W, or LW`,
		"0 0 32W * *":             `dayOfMonth "32W" is not accepted`,
		"0 0 W * *":               `dayOfMonth "W" is not accepted`,
		"0 0 * * " + manyItems:    `dayOfWeek has 129 items: at most 128 are accepted`,
		"@daily 5":                `"5" follows @daily`,
		"@Hourly":                 `"@Hourly" is not known`,
		"@everything 2h":          `"@everything" is not known`,
		"@every":                  "takes one value",
		"@every 1h / 5m":          "takes one value",
		"@every 6h/":              "write the phase after the slash",
		"@every +1h":              `"+1h" is not a duration`,
		"@every 1d-1h":            `"1d-1h" is not a duration`,
		"@every 106752d":          `"106752d" is not a duration`,
		"@every 106751d24h":       `"106751d24h" is not a duration`,
		"@every 1h/90m":           "phase 1h30m is out of range",
		"@every 1500ms":           "every 1.5s has a fraction of a second",
		"No/Such 0 0 * * *":       `minute "No" is not accepted`,
		"TZ=No/Such @every 1h":    `"No/Such" is not a known time zone`,
		"TZ=Local 0 0 * * *":      `"Local" depends on the host`,
		"0 0 * * * #" + longText:  "comment is 201 bytes long",
		"@every 1h #" + longText:  "comment is 201 bytes long",
		"@midnight #" + longText:  "comment is 201 bytes long",
		"TZ=UTC TZ=UTC 0 0 * * *": `is not accepted`,
	} {
		_, err := ParseCron(text)
		var e *Error
		require.ErrorAs(t, err, &e, text)
		require.Equal(t, CodeInvalidArgument, e.Code)
		require.Empty(t, e.Field, text)
		require.Contains(t, e.Message, want, text)
	}
}

var manyItems = strings.Repeat("1,", 128) + "1"

var longText = strings.Repeat("c", MaxCommentBytes+1)

func FuzzParseCron(f *testing.F) {
	for _, seed := range []string{
		"0 9 * * mon-fri", "*/5 * * * * # often", "CRON_TZ=Europe/Berlin @daily", "@every 1d12h/90m", "1 2 3 4 5 2030",
		"9 1 2 3 4 5 2030", "0 0 * * 1#2", "0 0 L-3,LW,15W * ?", "0 0 ? * friL,mon#1#2", "TZ=", "@", "#", "TZ=UTC\t@hourly#x", "@every 99999999999d",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		cron, err := ParseCron(text)
		if valid := (Spec{Cron: []string{text}}).Validate(); (valid == nil) != (err == nil) {
			t.Fatalf("ParseCron says %v, Validate %v", err, valid)
		}
		if err != nil {
			require.Equal(t, CodeInvalidArgument, CodeOf(err))
			return
		}
		require.Equal(t, cron.Interval == nil, len(cron.Calendars) > 0)
		for _, c := range cron.Calendars {
			require.NoError(t, c.Validate())
		}
		if cron.Interval != nil {
			require.NoError(t, cron.Interval.Validate())
		}
		require.LessOrEqual(t, len(cron.Comment), MaxCommentBytes)
	})
}
