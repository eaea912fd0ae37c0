package scheduleproto

import (
	"slices"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

// fieldNames are Temporal's names of fields of schedules in a query, and ours.
var fieldNames = map[string]string{
	"ScheduleId":             "id",
	"TemporalScheduleId":     "id",
	"TemporalSchedulePaused": "paused",
	"SchedulePaused":         "paused",
	"ScheduleNextActionTime": "nextTime",
}

// Query writes a query for schedules in the language of Carillon: with its names, and its quotes around strings. A name that is known to
// neither language is a search attribute of the schedules themselves. Query does not check the query.
func Query(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		n := len(text) - len(strings.TrimLeftFunc(text, inWord))
		switch {
		case n > 0:
			out.WriteString(word(text[:n]))
			text = text[n:]
		case strings.ContainsRune("'\"`", rune(text[0])):
			text = quoted(&out, text)
		default:
			out.WriteByte(text[0])
			text = text[1:]
		}
	}
	return out.String()
}

// fieldName returns Carillon's name of a field.
func fieldName(name string) string {
	if ours, known := fieldNames[name]; known {
		return ours
	}
	for _, source := range []query.Source{query.Memo, query.SearchAttribute, query.ScheduleMemo, query.ScheduleAttribute} {
		if strings.HasPrefix(name, string(source)+".") {
			return name
		}
	}
	if slices.Contains(query.BuiltIns(), name) {
		return name
	}
	return query.Field{Source: query.ScheduleAttribute, Name: name}.String()
}

func inWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r)
}

// word returns what Carillon writes for a word that stands in no quotes: a name, a keyword or a number.
func word(text string) string {
	if strings.ContainsRune("0123456789_.-", rune(text[0])) || query.IsKeyword(text) {
		return text
	}
	return fieldName(text)
}

// quoted writes what stands in quotes at the beginning of a text: a string, or in backquotes a name. It returns the rest of the text.
func quoted(out *strings.Builder, text string) (rest string) {
	quote := text[:1]
	end := strings.Index(text[1:], quote)
	switch {
	case end < 0: // the frontend says what is wrong
		out.WriteString(text)
		return ""
	case quote == "`":
		out.WriteString(fieldName(text[1 : 1+end]))
	case quote == "\"":
		out.WriteString("'" + strings.ReplaceAll(text[1:1+end], "'", "''") + "'")
	default:
		out.WriteString(text[:end+2]) // of a doubled quote, the other half begins the next string
	}
	return text[end+2:]
}
