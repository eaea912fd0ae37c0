package schedule

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// Structured parses the fields of c into the form that the specification processor uses (docs/semantics.md §2). Year "*" and the empty year
// become no ranges, which match every year. Sunday written as 7 becomes 0. The error, if any, is an *Error about the first bad field; its
// path is the name of the field, such as "hour".
//
// Numbers are plain digits: a sign is an error, and so is a step that does not fit in 31 bits. Blanks around a field are ignored; blanks
// within a field are an error.
func (c Calendar) Structured() (StructuredCalendar, error) {
	structured := StructuredCalendar{Comment: c.Comment}
	if err := validateComment(c.Comment); err != nil {
		return StructuredCalendar{}, err
	}
	texts := c.texts()
	for i, ranges := range structured.fields() {
		parsed, err := calendarFields[i].parse(string(texts[i]), &structured)
		if err != nil {
			return StructuredCalendar{}, err
		}
		*ranges = parsed
	}
	if year := strings.TrimSpace(string(c.Year)); year == "" || year == "*" {
		structured.Year = nil // every year, also before MinYear
	}
	return structured, nil
}

// Validate reports the first range that lies outside the bounds of its field, or a comment that is too long, as an *Error with a path such
// as "hour[1].start". The bounds: second and minute 0-59, hour 0-23, day of month 1-31, month 1-12, year 2000-2100, day of week 0-6 (0 is
// Sunday). For the other fields see [StructuredCalendar]. End 0 is accepted in every field: it is not above Start.
func (c StructuredCalendar) Validate() error {
	if err := validateComment(c.Comment); err != nil {
		return err
	}
	for i, ranges := range c.fields() {
		field := &calendarFields[i]
		if err := validateEach(field.name, *ranges, maxRanges, field.check); err != nil {
			return err
		}
	}
	return c.validateDayParts()
}

// maxRanges bounds the ranges of one structured field.
const maxRanges = 2 * 128

func validateComment(comment string) error {
	if len(comment) > MaxCommentBytes {
		return Invalid("comment", "is %d bytes long: at most %d are accepted", len(comment), MaxCommentBytes)
	}
	return nil
}

// texts returns the fields in the order of calendarFields.
func (c *Calendar) texts() [fieldCount]CalendarField {
	return [fieldCount]CalendarField{
		fieldSecond: c.Second, fieldMinute: c.Minute, fieldHour: c.Hour, fieldDayOfMonth: c.DayOfMonth,
		fieldMonth: c.Month, fieldYear: c.Year, fieldDayOfWeek: c.DayOfWeek,
	}
}

// fields returns the fields in the order of calendarFields.
func (c *StructuredCalendar) fields() [fieldCount]*[]Range {
	return [fieldCount]*[]Range{
		fieldSecond: &c.Second, fieldMinute: &c.Minute, fieldHour: &c.Hour, fieldDayOfMonth: &c.DayOfMonth,
		fieldMonth: &c.Month, fieldYear: &c.Year, fieldDayOfWeek: &c.DayOfWeek,
	}
}

// CalendarField is one field of a [Calendar], such as "9", "mon-fri" or "*/15". In JSON and YAML it is a string. A single value may also be
// a whole number: "hour: 9" needs no quotes.
type CalendarField string

// UnmarshalJSON reads a string or a whole number.
func (f *CalendarField) UnmarshalJSON(data []byte) error {
	var number uint16
	if json.Unmarshal(data, &number) == nil {
		*f = CalendarField(data)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("must be a whole number or a string such as \"9-17\", not %s", jsontext.Describe(data))
	}
	*f = CalendarField(text)
	return nil
}
