package query

import (
	"slices"
	"strings"
)

// scheduleNames are Temporal's names of fields of schedules, and ours.
var scheduleNames = map[string]string{
	"ScheduleId":                     ID,
	"TemporalScheduleId":             ID,
	"TemporalSchedulePaused":         Paused,
	"SchedulePaused":                 Paused,
	"ScheduleNextActionTime":         NextTime,
	"TemporalScheduleNextActionTime": NextTime,
}

// ParseTemporal makes a query about schedules of a text as Temporal's clients write it: with their names and quotes. A name that neither they nor
// [Parse] know is a search attribute of the schedules themselves. The error is an [*Error], whose place is in this text.
func ParseTemporal(text string) (*Query, error) {
	return (&parser{scanner: scanner{text: text, temporal: true}}).parse()
}

// scheduleField reads the name of a field of a schedule, as Temporal's clients name it.
func (p *parser) scheduleField() (Field, error) {
	t := p.token
	name, known := scheduleNames[t.text]
	switch {
	case t.text == "":
		return Field{}, errorAt(t.at, "expected a name in the backquotes")
	case known:
		return Field{BuiltIn, name}, p.advance()
	case slices.Contains(BuiltIns(), t.text), hasSource(t.text):
		return p.ownField()
	}
	return Field{ScheduleAttribute, t.text}, p.advance()
}

// hasSource reports whether a name says where the value comes from, as in memo.owner.
func hasSource(name string) bool {
	source, _, ok := strings.Cut(name, ".")
	return ok && slices.Contains(sources, Source(source))
}
