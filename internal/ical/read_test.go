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

// years are those that the tests read.
var years = ical.Options{From: date(2026, 1, 1), To: date(2029, 1, 1)}

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// file is a calendar of some parts, each with the lines of a component.
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

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		"":                                     `has no events from 2026 to 2028`,
		"hello":                                `is not an iCalendar file: parsing calendar line 0`,
		file():                                 `has no events from 2026 to 2028`,
		file("BEGIN:VEVENT\n"):                 `is not an iCalendar file: failed to parse event: unbalanced end`,
		file(event("SUMMARY:x")):               `event "Holiday": has no DTSTART`,
		file(event("DTSTART:x")):               `event "Holiday": DTSTART: "x" is not a date or time`,
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
		file(event("DTSTART:20260102T000000Z", "EXRULE:FREQ=DAILY")):                             `event "Holiday": EXRULE is not supported: use EXDATE`,
		file(event("DTSTART:20260102T000000Z", "RDATE;VALUE=PERIOD:20260102T000000Z/PT1H")):      `event "Holiday": RDATE with VALUE=PERIOD is not supported: write its times as events`,
		file(event("DTSTART:20260102T000000Z", "EXDATE;VALUE=DATE:20260102")):                    `event "Holiday": one of DTSTART and EXDATE is a day, the other a time`,
		file(event("RECURRENCE-ID;RANGE=THISANDFUTURE:20260102T000000Z")):                        `event "Holiday": RECURRENCE-ID with RANGE, which changes all later times, is not supported`,
		file(event("DTSTART:20260101T000000Z", "DURATION:PT1H", "RRULE:FREQ=DAILY")):             `has 1096 dates and windows from 2026 to 2028, and a calendar at most 1000: read fewer years`,
		file(strings.Repeat(event("DTSTART;VALUE=DATE:20260101", "RRULE:FREQ=DAILY"), 50)):       `event "Holiday": more than 50000 times within these years: read fewer years`,
		file(event("DESCRIPTION:" + strings.Repeat("x", ical.MaxBytes))):                         `is larger than 8 MiB`,
	} {
		_, err := ical.Read(strings.NewReader(text), years)
		require.EqualError(t, err, message, fmt.Sprintf("%.300s", text))
	}
}

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
