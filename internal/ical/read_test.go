package ical_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/ical"
	"github.com/carillon-scheduler/carillon/schedule"
)

// years are the years that the tests read.
var years = ical.Options{From: date(2026, 1, 1), To: date(2029, 1, 1)}

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// file is a calendar made of parts, each with the lines of a component.
func file(parts ...string) string {
	text := "BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:test\n" + strings.Join(parts, "") + "END:VCALENDAR\n"
	return strings.ReplaceAll(text, "\n", "\r\n")
}

func event(lines ...string) string {
	return "BEGIN:VEVENT\nUID:u1\nSUMMARY:Holiday\n" + strings.Join(lines, "\n") + "\nEND:VEVENT\n"
}

func window(from, to string) schedule.Blackout {
	b := schedule.Blackout{}
	b.From, _ = time.Parse(time.RFC3339, from)
	b.To, _ = time.Parse(time.RFC3339, to)
	return b
}

func TestReadDates(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		parts []string
		dates []schedule.DateRange
	}{
		"a day":           {[]string{event("DTSTART;VALUE=DATE:20261225")}, []schedule.DateRange{"2026-12-25"}},
		"with its end":    {[]string{event("DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261226")}, []schedule.DateRange{"2026-12-25"}},
		"an end as start": {[]string{event("DTSTART;VALUE=DATE:20261225", "DTEND;VALUE=DATE:20261225")}, []schedule.DateRange{"2026-12-25"}},
		"several days":    {[]string{event("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261227")}, []schedule.DateRange{"2026-12-24/2026-12-26"}},
		"by duration":     {[]string{event("DTSTART;VALUE=DATE:20261224", "DURATION:P1W")}, []schedule.DateRange{"2026-12-24/2026-12-30"}},
		"every year": {
			[]string{event("DTSTART;VALUE=DATE:19900501", "RRULE:FREQ=YEARLY")},
			[]schedule.DateRange{"2026-05-01", "2027-05-01", "2028-05-01"},
		},
		"fourth Thursday": {
			[]string{event("DTSTART;VALUE=DATE:20201126", "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH")},
			[]schedule.DateRange{"2026-11-26", "2027-11-25", "2028-11-23"},
		},
		"until and exceptions": {
			[]string{event("DTSTART;VALUE=DATE:20260501", "RRULE:FREQ=MONTHLY;UNTIL=20260901", "EXDATE;VALUE=DATE:20260601,20260801")},
			[]schedule.DateRange{"2026-05-01", "2026-07-01", "2026-09-01"},
		},
		"further dates": {
			[]string{event("DTSTART;VALUE=DATE:20260406", "RDATE;VALUE=DATE:20270329,20280417", "RDATE;VALUE=DATE:20400402")},
			[]schedule.DateRange{"2026-04-06", "2027-03-29", "2028-04-17"},
		},
		"canceled ones, and tasks": {
			[]string{
				event("DTSTART;VALUE=DATE:20260101", "STATUS:CANCELLED"), event("DTSTART;VALUE=DATE:20260106", "TRANSP:TRANSPARENT"),
				"BEGIN:VTODO\nUID:u2\nDUE:20260301T000000Z\nEND:VTODO\n",
			},
			[]schedule.DateRange{"2026-01-06"},
		},
		"one moved, one canceled": {
			[]string{
				event("DTSTART;VALUE=DATE:20260110", "RRULE:FREQ=MONTHLY;COUNT=4"),
				event("RECURRENCE-ID;VALUE=DATE:20260210", "DTSTART;VALUE=DATE:20260212"),
				event("RECURRENCE-ID;VALUE=DATE:20260310", "DTSTART;VALUE=DATE:20260310", "STATUS:CANCELLED"),
			},
			[]schedule.DateRange{"2026-01-10", "2026-02-12", "2026-04-10"},
		},
		"what meets is one": {
			[]string{
				event("DTSTART;VALUE=DATE:20261226"), event("DTSTART;VALUE=DATE:20261224", "DTEND;VALUE=DATE:20261226"),
				event("DTSTART;VALUE=DATE:20261224"), event("DTSTART;VALUE=DATE:20261228"),
			},
			[]schedule.DateRange{"2026-12-24/2026-12-26", "2026-12-28"},
		},
		"beyond the years": {
			[]string{
				event("DTSTART;VALUE=DATE:20251225", "DTEND;VALUE=DATE:20260103"), event("DTSTART;VALUE=DATE:20281230", "DURATION:P9D"),
				event("DTSTART;VALUE=DATE:20290101"), event("DTSTART;VALUE=DATE:20251231"),
			},
			[]schedule.DateRange{"2026-01-01/2026-01-02", "2028-12-30/2028-12-31"},
		},
	} {
		contents, err := ical.Read(strings.NewReader(file(test.parts...)), years)
		require.NoError(t, err, name)
		require.Equal(t, test.dates, contents.Dates, name)
		require.Empty(t, contents.Windows, name)
	}
}

func TestReadWindows(t *testing.T) {
	t.Parallel()
	outlook := "BEGIN:VTIMEZONE\nTZID:Our Office\nX-LIC-LOCATION:Europe/Berlin\nBEGIN:STANDARD\nDTSTART:19701025T030000\n" +
		"TZOFFSETFROM:+0200\nTZOFFSETTO:+0100\nEND:STANDARD\nBEGIN:DAYLIGHT\nDTSTART:19700329T020000\nTZOFFSETFROM:+0100\n" +
		"TZOFFSETTO:+0200\nEND:DAYLIGHT\nEND:VTIMEZONE\n"
	fixed := "BEGIN:VTIMEZONE\nTZID:India\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETFROM:+0530\nTZOFFSETTO:+0530\n" +
		"END:STANDARD\nEND:VTIMEZONE\n"
	noon := window("2026-07-01T10:00:00Z", "2026-07-01T12:30:00Z")
	for name, test := range map[string]struct {
		parts   []string
		windows []schedule.Blackout
	}{
		"UTC":       {[]string{event("DTSTART:20260701T100000Z", "DTEND:20260701T123000Z")}, []schedule.Blackout{noon}},
		"a zone":    {[]string{event("DTSTART;TZID=Europe/Berlin:20260701T120000", "DURATION:PT2H30M")}, []schedule.Blackout{noon}},
		"prefixed":  {[]string{event("DTSTART;TZID=/mozilla.org/2007_1/Europe/Berlin:20260701T120000", "DURATION:PT150M")}, []schedule.Blackout{noon}},
		"described": {[]string{outlook, event("DTSTART;TZID=Our Office:20260701T120000", "DURATION:PT2H30M")}, []schedule.Blackout{noon}},
		"Windows":   {[]string{event("DTSTART;TZID=W. Europe Standard Time:20260701T120000", "DURATION:PT2H30M")}, []schedule.Blackout{noon}},
		"an offset": {[]string{fixed, event("DTSTART;TZID=India:20260701T153000", "DURATION:PT2H30M")}, []schedule.Blackout{noon}},
		"floating":  {[]string{event("DTSTART:20260701T120000", "DTEND:20260701T143000")}, []schedule.Blackout{noon}},
		"over a change of the clock": {
			[]string{event("DTSTART;TZID=Europe/Berlin:20260323T220000", "DURATION:PT1H", "RRULE:FREQ=WEEKLY;COUNT=2")},
			[]schedule.Blackout{
				window("2026-03-23T21:00:00Z", "2026-03-23T22:00:00Z"), window("2026-03-30T20:00:00Z", "2026-03-30T21:00:00Z"),
			},
		},
		"without length": {[]string{event("DTSTART:20260701T100000Z", "DURATION:PT2H30M"), event("DTSTART:20260801T100000Z")}, []schedule.Blackout{noon}},
	} {
		options := years
		options.Zone, _ = schedule.LoadZone("Europe/Berlin")
		contents, err := ical.Read(strings.NewReader(file(test.parts...)), options)
		require.NoError(t, err, name)
		require.Equal(t, test.windows, contents.Windows, name)
		require.Empty(t, contents.Dates, name)
	}
}

// TestReadClockChanges: of two times the first counts, and in a gap the offset before it applies. The same holds for times of a
// rule.
func TestReadClockChanges(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		zone, start, rule string
		from              []string
	}{
		"repeated":          {"Europe/Berlin", "20261025T023000", "", []string{"2026-10-25T00:30:00Z"}},
		"before it":         {"Europe/Berlin", "20261025T015959", "", []string{"2026-10-24T23:59:59Z"}},
		"after it":          {"Europe/Berlin", "20261025T030000", "", []string{"2026-10-25T02:00:00Z"}},
		"in a gap":          {"Europe/Berlin", "20260329T023000", "", []string{"2026-03-29T01:30:00Z"}},
		"begin of a gap":    {"Europe/Berlin", "20260329T020000", "", []string{"2026-03-29T01:00:00Z"}},
		"end of a gap":      {"Europe/Berlin", "20260329T030000", "", []string{"2026-03-29T01:00:00Z"}},
		"west":              {"America/New_York", "20261101T013000", "", []string{"2026-11-01T05:30:00Z"}},
		"gap in the west":   {"America/New_York", "20260308T023000", "", []string{"2026-03-08T07:30:00Z"}},
		"half an hour":      {"Australia/Lord_Howe", "20260405T014500", "", []string{"2026-04-04T14:45:00Z"}},
		"midnight":          {"America/Santiago", "20260906T003000", "", []string{"2026-09-06T04:30:00Z"}},
		"a rule":            {"Europe/Berlin", "20261024T023000", "FREQ=DAILY;COUNT=3", []string{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}},
		"a rule over a gap": {"Europe/Berlin", "20260328T023000", "FREQ=DAILY;COUNT=3", []string{"2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"}},
		"a rule with an end": {
			"Europe/Berlin", "20261024T023000", "FREQ=DAILY;UNTIL=20261025T003000Z", []string{"2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z"},
		},
		"a rule with a local end": {"Europe/Berlin", "20261024T023000", "FREQ=DAILY;UNTIL=20261025T022959", []string{"2026-10-24T00:30:00Z"}},
	} {
		text := file(event("DTSTART;TZID="+test.zone+":"+test.start, "DURATION:PT1M", "RRULE:"+test.rule))
		contents, err := ical.Read(strings.NewReader(text), years)
		require.NoError(t, err, name)
		var from []string
		for _, window := range contents.Windows {
			from = append(from, window.From.Format(time.RFC3339))
		}
		require.Equal(t, test.from, from, name)
	}
}

// TestReadVersions: of several versions of an event the newest counts, and none if it was canceled later. The order does not
// matter, nor which calendar of the file they are in.
func TestReadVersions(t *testing.T) {
	t.Parallel()
	day := func(date string, more ...string) string { return event(append(more, "DTSTART;VALUE=DATE:"+date)...) }
	canceling := func(parts ...string) string {
		return strings.Replace(file(parts...), "PRODID:test", "PRODID:test\r\nMETHOD:CANCEL", 1)
	}
	const daily = "RRULE:FREQ=DAILY;COUNT=3"
	other := strings.Replace(day("20260101"), "UID:u1", "UID:u2", 1)
	for name, test := range map[string]struct {
		text  string
		dates []schedule.DateRange
	}{
		"newer last":           {file(day("20261224", "SEQUENCE:0"), day("20261228", "SEQUENCE:1")), []schedule.DateRange{"2026-12-28"}},
		"newer first":          {file(day("20261228", "SEQUENCE:10"), day("20261224", "SEQUENCE:9")), []schedule.DateRange{"2026-12-28"}},
		"one without a number": {file(day("20261224"), day("20261228", "SEQUENCE:1")), []schedule.DateRange{"2026-12-28"}},
		"canceled later":       {file(day("20261224"), day("20261224", "SEQUENCE:1", "STATUS:CANCELLED"), other), []schedule.DateRange{"2026-01-01"}},
		"canceled before":      {file(day("20261224", "SEQUENCE:2"), day("20261224", "SEQUENCE:1", "STATUS:CANCELLED")), []schedule.DateRange{"2026-12-24"}},
		"canceled with times":  {file(day("20260110", daily), day("20260120", "RECURRENCE-ID;VALUE=DATE:20260111"), day("20260110", "SEQUENCE:1", "STATUS:CANCELLED"), other), []schedule.DateRange{"2026-01-01"}},
		"by method":            {file(day("20261224"), other) + canceling(day("20261224")), []schedule.DateRange{"2026-01-01"}},
		"by method, one time": {
			file(day("20260110", daily)) + canceling(day("20260111", "RECURRENCE-ID;VALUE=DATE:20260111")), []schedule.DateRange{"2026-01-10", "2026-01-12"},
		},
		"a moved time, moved on": {
			file(day("20260110", daily), day("20260115", "RECURRENCE-ID;VALUE=DATE:20260111"), day("20260117", "SEQUENCE:1", "RECURRENCE-ID;VALUE=DATE:20260111")),
			[]schedule.DateRange{"2026-01-10", "2026-01-12", "2026-01-17"},
		},
		"two calendars": {file(day("20261224")) + file(other), []schedule.DateRange{"2026-01-01", "2026-12-24"}},
	} {
		contents, err := ical.Read(strings.NewReader(test.text), years)
		require.NoError(t, err, name)
		require.Equal(t, test.dates, contents.Dates, name)
	}
}

// TestReadSpelling: case does not matter in names and words of iCalendar. Empty properties and folded lines do not matter either.
func TestReadSpelling(t *testing.T) {
	t.Parallel()
	for name, lines := range map[string]string{
		"lower case": "begin:vcalendar\nversion:2.0\nprodid:x\nbegin:vevent\nuid:a\nDtStart;value=date:20261225\nrrule:freq=yearly;count=2\nend:vevent\nend:vcalendar\n",
		"empty":      "DTSTART;VALUE=DATE:20261225\nRRULE:FREQ=YEARLY;COUNT=2;\nRRULE:\nRDATE:\nEXDATE;VALUE=DATE:\nSTATUS:\nDTEND:\nRECURRENCE-ID:\nSEQUENCE:",
		"folded":     "DTST\n ART;VALU\n\tE=DATE:2026\n 1225\nRRULE:FREQ=YEARLY;CO\n UNT=2",
		"parameters": "DTSTART;X-A=\"b:c;d\";VALUE=date;X-E=:20261225\nrrule:freq=yearly;count=2\nstatus:confirmed",
		"blank":      "DTSTART;VALUE=DATE:20261225\n\n\nRRULE: FREQ=YEARLY;COUNT=2 ",
	} {
		if !strings.HasPrefix(lines, "begin") {
			lines = file(event(lines))
		}
		contents, err := ical.Read(strings.NewReader(lines), years)
		require.NoError(t, err, name)
		require.Equal(t, []schedule.DateRange{"2026-12-25", "2027-12-25"}, contents.Dates, name)
	}
	contents, err := ical.Read(strings.NewReader(file(event("DTSTART;VALUE=DATE:20261225"), strings.ToLower(event("dtstart;value=date:20261227", "status:cancelled")))), years)
	require.NoError(t, err)
	require.Equal(t, []schedule.DateRange{"2026-12-25"}, contents.Dates)
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"":                                     `is not an iCalendar file: has no calendar in it`,
		"hello":                                `is not an iCalendar file: line 1 has no colon`,
		"X:y":                                  `is not an iCalendar file: line 1 stands outside of a calendar`,
		"END:VCALENDAR":                        `is not an iCalendar file: line 1 stands outside of a calendar`,
		"BEGIN:VCALENDAR\n\nPRODID:\n x\n":     `is not an iCalendar file: ends too early: a VCALENDAR has no end`,
		"BEGIN:VCALENDAR\nBEGIN:VEVENT":        `is not an iCalendar file: ends too early: a VEVENT has no end`,
		file() + "BEGIN:VCALENDAR":             `is not an iCalendar file: ends too early: a VCALENDAR has no end`,
		file():                                 `has no events from 2026 to 2028`,
		file("BEGIN:VEVENT\n"):                 `is not an iCalendar file: line 5 ends a VCALENDAR, where a VEVENT is open`,
		file(event("SUMMARY:x")):               `event "Holiday": has no DTSTART`,
		file(event("DTSTART:x")):               `event "Holiday": DTSTART: "X" is not a date or time`,
		file(event("DTSTART:20260701T120000")): `event "Holiday": DTSTART: 20260701T120000 has no time zone: say which one is meant (--zone)`,
		file(event("DTSTART;TZID=Mars:20260701T120000")):                                         `event "Holiday": time zone "Mars" is not one of the IANA database: replace it by one in the file, such as Europe/Berlin`,
		file(event("DTSTART;VALUE=DATE:20261301")):                                               `event "Holiday": DTSTART: "20261301" is not a date or time`,
		file(event("DTSTART;VALUE=DATE:20260102", "DTEND;VALUE=DATE:20260101")):                  `event "Holiday": ends before it begins`,
		file(event("DTSTART;VALUE=DATE:20260102", "DTEND:20260103T000000Z")):                     `event "Holiday": one of DTSTART and DTEND is a day, the other a time`,
		file(event("DTSTART;VALUE=DATE:20260102", "DURATION:PT3H")):                              `event "Holiday": begins on a day, and ends at a time`,
		file(event("DTSTART;VALUE=DATE:20260102", "DURATION:P")):                                 `event "Holiday": "P" is not a duration`,
		file(event("DTSTART:20260102T000000Z", "RRULE:FREQ=HOURLY")):                             `event "Holiday": RRULE: FREQ=HOURLY repeats more often than a day: it is for schedules, not for calendars`,
		file(event("DTSTART:20260102T000000Z", "RRULE:FREQ=DAILY;INTERVAL=9223372036854775807")): `event "Holiday": RRULE: INTERVAL=9223372036854775807 is out of range: use 1 to 1000`,
		file(event("DTSTART;VALUE=DATE:00010101", "RRULE:FREQ=YEARLY")):                          `event "Holiday": begins in the year 1: use 1800 or later`,
		file(event("DTSTART:20260102T000000Z", "RRULE:FREQ=YEARLY;BYEASTER=400")):                `event "Holiday": RRULE: BYEASTER is out of range: use -80 to 80 days`,
		file(event("DTSTART:20260102T000000Z", "RRULE:OFTEN")):                                   `event "Holiday": RRULE: wrong format`,
		file(event("DTSTART;VALUE=DATE:20260102", "RRULE:FREQ=DAILY;UNTIL=20260105T000000Z")):    `event "Holiday": RRULE: UNTIL=20260105T000000Z is a time, and DTSTART a day`,
		file(event("DTSTART:20260102T000000Z", "RRULE:FREQ=DAILY;UNTIL=20260105")):               `event "Holiday": RRULE: UNTIL=20260105 is a day, and DTSTART a time`,
		file(event("DTSTART;VALUE=DATE:20260102", "SEQUENCE:x")):                                 `event "Holiday": SEQUENCE: "X" is not a number`,
		file(event("DTSTART:")): `event "Holiday": DTSTART: "" is not a date or time`,
		file(event("DTSTART;VALUE=DATE:20260102", "RRULE:FREQ=DAILY"), event("RECURRENCE-ID:20260103T000000Z", "DTSTART;VALUE=DATE:20260104")):    `event "Holiday": one of DTSTART and RECURRENCE-ID is a day, the other a time`,
		file(event("DTSTART:20260102T000000Z", "EXRULE:FREQ=DAILY")):                                                                              `event "Holiday": EXRULE is not supported: use EXDATE`,
		file(event("DTSTART:20260102T000000Z", "RDATE;VALUE=PERIOD:20260102T000000Z/PT1H")):                                                       `event "Holiday": RDATE with VALUE=PERIOD is not supported: write its times as events`,
		file(event("DTSTART:20260102T000000Z", "EXDATE;VALUE=DATE:20260102")):                                                                     `event "Holiday": one of DTSTART and EXDATE is a day, the other a time`,
		file(event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260102T000000Z")):                                                                         `event "Holiday": RECURRENCE-ID with RANGE, which changes all later times, is not supported`,
		file(event("DTSTART:20260101T000000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY")):                                                              `has 1096 dates and windows from 2026 to 2028, and a calendar at most 1000: read fewer years`,
		file(strings.Repeat(event("DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=DAILY"), 50)):                                                        `event "Holiday": more than 50000 times within these years: read fewer years`,
		file(strings.Repeat(event("DTSTART:18000101T000000Z", "RRULE:FREQ=DAILY;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11;UNTIL=20200101T000000Z"), 3000)): `event "Holiday": RRULE: ` + tooLong,
		file(strings.Repeat(event("DTSTART:20260101T000000Z", "RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30"), 3000)):                                `event "Holiday": RRULE: ` + tooLong,
		file(event("DTSTART:20260101T000000Z", "RRULE:FREQ=YEARLY;BYHOUR=0,1,2,3,4;BYMINUTE=0,1,2,3,4;BYSECOND=0,1,2,3,4")):                       `event "Holiday": RRULE: BYHOUR, BYMINUTE and BYSECOND give 125 times a day: use 100 at most`,
		file(event("DESCRIPTION:" + strings.Repeat("x", ical.MaxBytes))):                                                                          `is larger than 8 MiB`,
	} {
		_, err := ical.Read(strings.NewReader(text), years)
		require.EqualError(t, err, message, fmt.Sprintf("%.300s", text))
	}
}

const tooLong = "the rules of this file give too many times since they began: leave events of the past out, or read a part of the file"

func FuzzRead(f *testing.F) {
	f.Add(file(event("DTSTART;VALUE=DATE:19900501", "RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH", "EXDATE;VALUE=DATE:20260601")))
	f.Add(file(event("DTSTART;TZID=Europe/Berlin:20260323T220000", "DURATION:PT1H", "RRULE:FREQ=WEEKLY;COUNT=2")))
	f.Add(file("BEGIN:VTIMEZONE\nTZID:India\nBEGIN:STANDARD\nDTSTART:19700101T000000\nTZOFFSETTO:+0530\nEND:STANDARD\nEND:VTIMEZONE\n",
		event("DTSTART;TZID=India:20260701T153000", "RECURRENCE-ID:20260701T153000Z", "RDATE:20260702T153000Z")))
	f.Fuzz(func(t *testing.T, text string) {
		options := years
		options.Zone = time.UTC
		contents, err := ical.Read(strings.NewReader(text), options)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		c := schedule.NamedCalendar{Name: "x", Dates: contents.Dates, Windows: contents.Windows}
		require.NoError(t, c.Validate())
		require.NotZero(t, contents.Events)
	})
}
