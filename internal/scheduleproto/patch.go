package scheduleproto

import (
	"strings"

	schedulepb "go.temporal.io/api/schedule/v1"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Patch reads a patch. The ID of the schedule is left to the caller.
func Patch(p *schedulepb.SchedulePatch) (r schedule.PatchRequest, err error) {
	if p.GetTimeSkippingConfig() != nil {
		return r, Unimplemented("patch.timeSkippingConfig")
	}
	if p.GetPause() != "" {
		r.Pause = &schedule.Note{Note: p.GetPause()}
	}
	if p.GetUnpause() != "" {
		r.Unpause = &schedule.Note{Note: p.GetUnpause()}
	}
	if r.Trigger, err = parseTrigger(p.GetTriggerImmediately()); err != nil {
		return r, schedule.Prefix("patch.triggerImmediately", err)
	}
	for i, backfill := range p.GetBackfillRequest() {
		one, err := parseBackfill(backfill)
		if err != nil {
			return r, schedule.Prefix(jsontext.Indexed("patch.backfillRequest", i), err)
		}
		r.Backfills = append(r.Backfills, one)
	}
	return r, nil
}

func parseTrigger(p *schedulepb.TriggerImmediatelyRequest) (*schedule.Trigger, error) {
	switch {
	case p == nil:
		return nil, nil
	case p.ScheduledTime != nil:
		return nil, Unimplemented("patch.triggerImmediately.scheduledTime")
	}
	overlap, err := parseOverlap(p.OverlapPolicy)
	return &schedule.Trigger{Overlap: overlap}, err
}

func parseBackfill(p *schedulepb.BackfillRequest) (r schedule.BackfillRange, err error) {
	if r.Start, err = parseTime("startTime", p.GetStartTime()); err != nil {
		return r, err
	}
	if r.End, err = parseTime("endTime", p.GetEndTime()); err != nil {
		return r, err
	}
	r.Overlap, err = parseOverlap(p.GetOverlapPolicy())
	return r, err
}

// fieldNames are Temporal's names of fields of schedules in a query, and ours.
var fieldNames = map[string]string{
	"ScheduleId":             "id",
	"TemporalSchedulePaused": "paused",
	"ScheduleNextActionTime": "nextTime",
}

// Query writes a query for schedules in the language of Carillon: with its names, and its quotes around strings. It does not check the query.
func Query(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		switch n := wordLength(text); {
		case n > 0:
			name, known := fieldNames[text[:n]]
			if !known {
				name = text[:n]
			}
			out.WriteString(name)
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

// wordLength returns how many bytes the name has with which a text begins.
func wordLength(text string) int {
	inWord := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.-", r)
	}
	if strings.ContainsRune("0123456789_.-", rune(text[0])) {
		return 0
	}
	return len(text) - len(strings.TrimLeftFunc(text, inWord))
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
		out.WriteString(Query(text[1 : 1+end]))
	case quote == "\"":
		out.WriteString("'" + strings.ReplaceAll(text[1:1+end], "'", "''") + "'")
	default:
		out.WriteString(text[:end+2]) // of a doubled quote, the other half begins the next string
	}
	return text[end+2:]
}
