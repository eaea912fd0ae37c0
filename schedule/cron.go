package schedule

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// CronExpression is a parsed cron expression. Either Calendars or Interval is set.
type CronExpression struct {
	// Calendars holds one calendar, or two if both day fields are restricted: a day matches if either calendar matches.
	Calendars []StructuredCalendar
	// Interval is the meaning of "@every".
	Interval *Interval
	// TimeZone is the name after CRON_TZ= or TZ=; empty if there is no prefix. "@every" does not use it.
	TimeZone string
	// Comment is the text after "#", without the blanks around it, at most 200 bytes.
	Comment string
}

// macros are the fixed names for common expressions, written as calendars. The time of day is midnight unless the calendar says otherwise.
var macros = map[string]Calendar{
	"@yearly":   {Month: "1", DayOfMonth: "1"},
	"@annually": {Month: "1", DayOfMonth: "1"},
	"@monthly":  {DayOfMonth: "1"},
	"@weekly":   {DayOfWeek: "0"},
	"@daily":    {},
	"@midnight": {},
	"@hourly":   {Hour: "*"},
}

// ParseCron reads a cron expression (docs/semantics.md §2). Five fields are minute, hour, day of month, month and day of week. Six fields
// add a year at the end; seven fields also add a second in front. Each field takes what the same field of a [Calendar] takes, except that
// it is never empty. The day fields also take "?", alone, for "*". The macros @yearly, @annually, @monthly, @weekly, @daily, @midnight and
// @hourly stand for expressions. "@every 90m/15m" is an interval with an optional phase, in the syntax of [time.ParseDuration]; days may
// stand in front ("2d", "1d12h").
//
// The expression may begin with a zone, "CRON_TZ=Europe/Berlin" or "TZ=…". An empty zone means none. An unknown zone is an error, even in
// front of @every. Fields are separated by spaces and tabs. Numbers and durations have no leading "+".
//
// A "#" begins a comment in three places: at the beginning, after a blank, and between a field "*" and a word ("* * * * *#often"). Anywhere
// else it belongs to the field: "1#2" is the second Monday; "fri#L", "mon-fri#2", "fri#x" and "2030#x" are rejected.
//
// A day field is restricted if it does not begin with "*" and is not "?". As in crontab(5), if both day fields are restricted, a day
// matches if either field does. Otherwise both must match: "*/2" in one and "mon" in the other mean Mondays on odd days.
//
// The parser of the fields is that of calendars, so both forms accept the same text and report the same errors. No other cron parser has
// this grammar: names by prefix, Sunday as 7, years.
//
// The error is an *Error without a path; its message names the field.
func ParseCron(text string) (CronExpression, error) {
	body, comment := cutComment(text)
	if err := validateComment(comment); err != nil {
		return CronExpression{}, atRoot(err)
	}
	cron, err := parseCron(text, body, comment)
	if at := strings.IndexByte(body, '#'); err != nil && at >= 0 && !isNth(body[:at], body[at+1:]) {
		e := Invalid("", "%s; a comment has a blank before its #", messageOf(err))
		return CronExpression{}, e
	}
	return cron, err
}

// messageOf returns the message of an *Error without a path.
func messageOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Message
	}
	return err.Error()
}

// parseCron reads the part of an expression before its comment.
func parseCron(text, body, comment string) (CronExpression, error) {
	zone, fields, err := cutZone(strings.FieldsFunc(strings.TrimSpace(body), isBlank))
	if err != nil {
		return CronExpression{}, err
	}
	cron := CronExpression{TimeZone: zone, Comment: comment}
	switch {
	case len(fields) == 0:
		return CronExpression{}, Invalid("", "%q has no fields: write an expression such as \"0 9 * * mon-fri\"",
			jsontext.Shorten(text))
	case fields[0] == "@every":
		cron.Interval, err = parseEvery(fields[1:])
	case strings.HasPrefix(fields[0], "@"):
		cron.Calendars, err = parseMacro(fields, comment)
	default:
		cron.Calendars, err = parseCronFields(fields, comment)
	}
	if err != nil {
		return CronExpression{}, err
	}
	return cron, nil
}

// BothDays returns the one calendar in which both day fields must match, as Temporal reads an expression that restricts both. For any other
// expression ok is false: it means the same to Temporal.
func (c CronExpression) BothDays() (both StructuredCalendar, ok bool) {
	if len(c.Calendars) != 2 {
		return StructuredCalendar{}, false
	}
	both = c.Calendars[0]
	byWeekday := c.Calendars[1]
	both.DayOfWeek, both.NthDayOfWeek, both.LastDayOfWeek = byWeekday.DayOfWeek, byWeekday.NthDayOfWeek, byWeekday.LastDayOfWeek
	return both, true
}

// CronFields returns the fields of an expression as they are written, without its zone and its comment. It returns none for an expression
// that begins with "@". It does not validate the fields.
func CronFields(text string) []string {
	body, _ := cutComment(text)
	fields := strings.FieldsFunc(strings.TrimSpace(body), isBlank)
	if len(fields) > 0 && (strings.HasPrefix(fields[0], "CRON_TZ=") || strings.HasPrefix(fields[0], "TZ=")) {
		fields = fields[1:]
	}
	if len(fields) > 0 && strings.HasPrefix(fields[0], "@") {
		return nil
	}
	return fields
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// cutComment splits text at the "#" that begins a comment. If the author may have meant the "#" as part of a field, it does not begin a
// comment: the rest of the field alone would run more often than the author meant.
func cutComment(text string) (body, comment string) {
	for i := range len(text) {
		if text[i] == '#' && (isBlankEnd(text[:i]) || isStarEnd(text[:i]) && isWord(text[i+1:])) {
			return text[:i], strings.TrimSpace(text[i+1:])
		}
	}
	return text, ""
}

const asciiSpace = " \t\n\v\f\r"

func isBlankEnd(text string) bool {
	return text == "" || strings.IndexByte(asciiSpace, text[len(text)-1]) >= 0
}

// isStarEnd reports whether text ends in a field that is exactly "*".
func isStarEnd(text string) bool {
	before, found := strings.CutSuffix(text, "*")
	return found && isBlankEnd(before)
}

// isWord reports whether text begins with a letter. A single L does not count: it means the last of something.
func isWord(text string) bool {
	word, _, _ := strings.Cut(strings.TrimRight(text, asciiSpace), " ")
	return word != "" && !strings.EqualFold(word, "L") && isLetter(rune(word[0]))
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// CronAsStored translates an expression from an earlier release, so that stored schedules keep their meaning. Earlier releases took every
// "#" for the beginning of a comment unless it stood between a weekday and a digit: "fri#L" meant every Friday. CronAsStored returns an
// expression that ParseCron reads with that meaning, and changed is true. An expression that ParseCron accepts, or that was never valid, is
// returned unchanged.
func CronAsStored(text string) (stored string, changed bool) {
	if !strings.Contains(text, "#") {
		return text, false
	}
	if _, err := ParseCron(text); err == nil {
		return text, false
	}
	for i := range len(text) {
		if text[i] == '#' && !isNth(text[:i], text[i+1:]) {
			stored = text[:i] + " " + text[i:]
			if _, err := ParseCron(stored); err == nil {
				return stored, true
			}
			return text, false
		}
	}
	return text, false
}

// AsStored returns the spec of a stored definition after it has applied CronAsStored to its cron expressions.
func (s Spec) AsStored() Spec {
	for i, text := range s.Cron {
		if stored, changed := CronAsStored(text); changed {
			s.Cron = slices.Clone(s.Cron)
			s.Cron[i] = stored
		}
	}
	return s
}

// isNth reports whether a "#" stands between a weekday and a single digit, and so belongs to a field. The weekday may be the end of a range
// or a step. Such a field is an error and not a comment, so that "mon-fri#2" never means "mon-fri".
func isNth(before, after string) bool {
	const ends = asciiSpace + ","
	if after == "" || after[0] < '0' || after[0] > '9' || len(after) > 1 && strings.IndexByte(ends, after[1]) < 0 {
		return false
	}
	start := len(before)
	for start > 0 && strings.IndexByte(ends+"-/", before[start-1]) < 0 {
		start--
	}
	return isWeekdayWord(before[start:])
}

// isWeekdayWord reports whether word is a digit from 0 to 7, or two letters or more.
func isWeekdayWord(word string) bool {
	if len(word) == 1 {
		return word[0] >= '0' && word[0] <= '7'
	}
	notLetter := func(r rune) bool { return !isLetter(r) }
	return word != "" && !strings.ContainsFunc(word, notLetter)
}

// cutZone takes a zone prefix off the fields and checks that the zone exists.
func cutZone(fields []string) (zone string, rest []string, err error) {
	if len(fields) == 0 {
		return "", fields, nil
	}
	zone, found := strings.CutPrefix(fields[0], "CRON_TZ=")
	if !found {
		zone, found = strings.CutPrefix(fields[0], "TZ=")
	}
	if !found {
		return "", fields, nil
	}
	_, err = LoadZone(zone)
	return zone, fields[1:], err
}

func parseMacro(fields []string, comment string) ([]StructuredCalendar, error) {
	calendar, known := macros[fields[0]]
	if !known {
		return nil, Invalid("", "%q is not known: use @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly "+
			"or @every", jsontext.Shorten(fields[0]))
	}
	if len(fields) > 1 {
		return nil, Invalid("", "%q follows %s: nothing but a comment may", jsontext.Shorten(fields[1]), fields[0])
	}
	return structuredAll(comment, calendar)
}

// parseCronFields reads 5, 6 or 7 fields.
func parseCronFields(fields []string, comment string) ([]StructuredCalendar, error) {
	second, year := "0", "*"
	switch len(fields) {
	case 5:
	case 6:
		fields, year = fields[:5], fields[5]
	case 7:
		second, fields, year = fields[0], fields[1:6], fields[6]
	default:
		return nil, Invalid("", "%q has %d fields: write 5 (minute hour day-of-month month day-of-week), 6 (and year) "+
			"or 7 (second in front)", jsontext.Shorten(strings.Join(fields, " ")), len(fields))
	}
	field := func(i int) CalendarField { return CalendarField(fields[i]) }
	calendar := Calendar{
		Second: CalendarField(second), Minute: field(0), Hour: field(1), DayOfMonth: unasked(field(2)), Month: field(3),
		DayOfWeek: unasked(field(4)), Year: CalendarField(year),
	}
	if !restricted(calendar.DayOfMonth) || !restricted(calendar.DayOfWeek) {
		return structuredAll(comment, calendar)
	}
	byDate, byWeekday := calendar, calendar
	byDate.DayOfWeek, byWeekday.DayOfMonth = "*", "*"
	return structuredAll(comment, byDate, byWeekday)
}

// unasked turns the "?" of a day field, which restricts nothing, into "*".
func unasked(field CalendarField) CalendarField {
	if field == "?" {
		return "*"
	}
	return field
}

// restricted says whether a day field restricts the days in the sense of crontab(5).
func restricted(field CalendarField) bool { return !strings.HasPrefix(string(field), "*") }

// structuredAll parses calendars that came from one expression.
func structuredAll(comment string, calendars ...Calendar) ([]StructuredCalendar, error) {
	all := make([]StructuredCalendar, 0, len(calendars))
	for _, calendar := range calendars {
		calendar.Comment = comment
		structured, err := calendar.Structured()
		if err != nil {
			return nil, atRoot(err)
		}
		all = append(all, structured)
	}
	return all, nil
}

// atRoot moves the path of an *Error into its message: the fields of an expression have names, but no paths.
func atRoot(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Field == "" {
		return err
	}
	return Invalid("", "%s %s", e.Field, e.Message)
}

// parseEvery reads the part after "@every".
func parseEvery(fields []string) (*Interval, error) {
	if len(fields) != 1 {
		return nil, Invalid("", "@every takes one value without blanks: write @every 90m, or @every 90m/15m for a phase")
	}
	everyText, phaseText, phased := strings.Cut(fields[0], "/")
	every, ok := parseLongDuration(everyText)
	if !ok {
		return nil, Invalid("", "%q is not a duration: write @every with a number and a unit, such as 90s, 36h or 7d",
			jsontext.Shorten(everyText))
	}
	interval := &Interval{Every: Duration(every)}
	if phased {
		phase, ok := parseLongDuration(phaseText)
		if !ok {
			return nil, Invalid("", "%q is not a duration: write the phase after the slash as a number and a unit",
				jsontext.Shorten(phaseText))
		}
		interval.Phase = Duration(phase)
	}
	return interval, atRoot(interval.Validate())
}

// parseLongDuration reads a duration that may begin with days, such as "5d" or "1d12h". A leading "+" is an error.
func parseLongDuration(text string) (time.Duration, bool) {
	if strings.HasPrefix(text, "+") {
		return 0, false
	}
	var days time.Duration
	if before, rest, found := strings.Cut(text, "d"); found {
		count, ok := parseNumber(before)
		if !ok || count > maxDays || strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
			return 0, false
		}
		days, text = time.Duration(count)*24*time.Hour, rest
		if text == "" {
			return days, true
		}
	}
	rest, err := time.ParseDuration(text)
	return days + rest, err == nil && days+rest >= rest
}

// maxDays is how many whole days fit in a time.Duration.
const maxDays = 106_751
