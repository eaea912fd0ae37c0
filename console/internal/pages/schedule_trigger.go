package pages

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// triggering is the page on which somebody asks for a run with another input, or under another policy.
type triggering struct {
	scheduleHead
	// Input is JSON, and Nominal the time at which the run counts as due.
	Input, Overlap, Note, Nominal, Request string
	Overlaps                               []string
	// IsLarge says that the input of the schedule is too long for a page.
	IsLarge bool
	Problem *refusal.Refusal
}

func overlaps() (words []string) {
	for _, policy := range schedule.OverlapPolicies() {
		words = append(words, string(policy))
	}
	return words
}

// triggerForm shows the page, with the input of the schedule.
func (p *Pages) triggerForm(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, zone, err := described(r, asks)
	if err != nil {
		return nil, err
	}
	t := &triggering{scheduleHead: headOf(d.Namespace, d.ID, zone.String(), ""), Overlaps: overlaps(), Request: p.config.NewID()}
	if t.Input = indented(d.Action.Input); len(t.Input) > mostText {
		t.Input, t.IsLarge = "", true
	}
	return t.page(), nil
}

func (t *triggering) page() *answer {
	return &answer{view: "trigger", title: "Trigger " + t.ID, data: t}
}

// indented returns JSON for people.
func indented(text json.RawMessage) string {
	if len(text) == 0 {
		return ""
	}
	pretty, err := json.MarshalIndent(text, "", "  ")
	if err != nil {
		return string(text)
	}
	return string(pretty)
}

// trigger asks for a run. If that cannot be, it shows the page with what was written and what is wrong.
func (p *Pages) trigger(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	id := r.PathValue("id")
	t := &triggering{
		Input: strings.TrimSpace(r.PostFormValue("input")), Overlap: r.PostFormValue("overlap"), Note: strings.TrimSpace(r.PostFormValue("note")),
		Nominal: r.PostFormValue("nominal"), Request: r.PostFormValue("request"), Overlaps: overlaps(),
	}
	request := schedule.TriggerRequest{ID: id, RequestID: t.Request, Trigger: schedule.Trigger{Overlap: schedule.OverlapPolicy(t.Overlap), Note: t.Note}}
	zone, err := time.UTC, error(nil)
	if t.Nominal != "" {
		if _, zone, err = described(r, asks); err != nil {
			return nil, err
		}
		request.NominalTime, err = timeField("nominalTime", t.Nominal, zone)
	}
	if err == nil && t.Input != "" {
		request.Input, err = inputField("input", t.Input)
	}
	if err == nil {
		_, err = asks.Trigger(r.Context(), request)
	}
	if err == nil {
		return &answer{to: address(asks.Namespace(), "schedules", id) + "?said=trigger"}, nil
	}
	refused := refusal.Of(err)
	if refused.Code != schedule.CodeInvalidArgument {
		return nil, err
	}
	t.scheduleHead, t.Problem = headOf(asks.Namespace(), id, zone.String(), ""), refused
	return t.page(), nil
}

// inputField reads JSON as somebody has written it into a field. The error says where it goes wrong.
func inputField(field, text string) (json.RawMessage, error) {
	var value any
	err := json.Unmarshal([]byte(text), &value)
	if err == nil {
		return json.RawMessage(text), nil
	}
	const how = `write a number, "text", {"field": "value"} or [1, 2]`
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) {
		line, column := readable.Place(text, min(max(int(wrong.Offset)-1, 0), len(text)))
		return nil, schedule.Invalid(field, "is not JSON: %v at line %d, character %d; %s", wrong, line, column, how)
	}
	return nil, schedule.Invalid(field, "is not JSON: %v; %s", err, how)
}
