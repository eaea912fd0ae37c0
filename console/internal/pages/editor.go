package pages

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// previewed is how many times a preview shows.
const previewed = 10

// editor is the page on which somebody writes a schedule, in the fields of a form or as YAML.
type editor struct {
	draft
	// Exists says that the schedule is there already; then ID does not change.
	Exists bool
	// AsText says that the schedule is written as YAML. FormAddress and TextAddress are the pages for both.
	AsText                   bool
	FormAddress, TextAddress string
	// Preview is what the schedule means, and Problem what is wrong with it; nil if there is no such thing, or nobody has asked.
	Preview *preview
	Problem *refusal.Refusal
	// Current is what the schedule is now, if somebody else has changed it meanwhile.
	Current string
}

// preview says what a spec means.
type preview struct {
	Words    []string
	Warnings []schedule.Notice
	Times    []moment
	Zone     string
}

// draft is what somebody has written.
type draft struct {
	ID, Cron, Every, TimeZone, Type, TaskQueue, Input, Notes string
	Paused                                                   bool
	// Text is the schedule as YAML.
	Text string
	// Token is the version that they began with, and Request the ID of their request, so that sending a form twice makes one schedule.
	Token, Request string
}

func draftOf(r *http.Request) draft {
	value := func(name string) string { return strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n") }
	return draft{
		ID: value("id"), Cron: value("cron"), Every: value("every"), TimeZone: value("timeZone"), Type: value("type"), TaskQueue: value("taskQueue"),
		Input: value("input"), Notes: value("notes"), Paused: value("paused") != "", Text: value("text"), Token: value("token"), Request: value("request"),
	}
}

// formSpec is what the form knows of a spec.
type formSpec struct {
	Cron      []string       `json:"cron,omitempty"`
	Intervals []formInterval `json:"intervals,omitempty"`
	TimeZone  string         `json:"timeZone,omitempty"`
}

type formInterval struct {
	Every string `json:"every"`
}

type formAction struct {
	Type      string          `json:"type"`
	TaskQueue string          `json:"taskQueue"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type formSchedule struct {
	ID     string         `json:"id"`
	Spec   formSpec       `json:"spec"`
	Action formAction     `json:"action"`
	State  schedule.State `json:"state"`
}

// request returns the request that the fields of the form stand for. What is wrong with a field is said as the API says it.
func (d *draft) request() (request schedule.CreateRequest, err error) {
	form := formSchedule{
		ID: d.ID, Spec: formSpec{TimeZone: d.TimeZone}, Action: formAction{Type: d.Type, TaskQueue: d.TaskQueue},
		State: schedule.State{Paused: d.Paused, Notes: d.Notes},
	}
	for line := range strings.SplitSeq(d.Cron, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			form.Spec.Cron = append(form.Spec.Cron, line)
		}
	}
	if d.Every != "" {
		form.Spec.Intervals = []formInterval{{strings.TrimSpace(d.Every)}}
	}
	if input := strings.TrimSpace(d.Input); input != "" {
		if !json.Valid([]byte(input)) {
			return request, schedule.Invalid("action.input", `is not JSON: write a number, "text", {"field": "value"} or [1, 2]`)
		}
		form.Action.Input = json.RawMessage(input)
	}
	text, err := json.Marshal(form)
	if err == nil {
		err = apitext.DecodeJSON(text, &request)
	}
	return request, err
}

// decode returns the request that a page stands for.
func (e *editor) decode() (request schedule.CreateRequest, err error) {
	if !e.AsText {
		return e.request()
	}
	if e.Exists {
		err = apitext.DecodeYAML([]byte(e.Text), &request.Schedule)
		request.ID = e.ID
		return request, err
	}
	return request, apitext.DecodeYAML([]byte(e.Text), &request)
}

// newSchedule shows the page for a new schedule.
func (p *Pages) newSchedule(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	e := newEditor(speaker, r.URL.Query().Get("as") == "text")
	e.Request = p.config.NewID()
	e.TaskQueue, e.Text = "default", "id: my-schedule\nspec:\n  cron: [30 2 * * *]\n  timeZone: UTC\naction:\n  type: log\n  taskQueue: default\n"
	return e.page("New schedule"), nil
}

func newEditor(speaker *speaker.Speaker, asText bool) *editor {
	form := address(speaker.Namespace(), "new-schedule")
	return &editor{AsText: asText, FormAddress: form, TextAddress: form + "?as=text"}
}

func (e *editor) page(title string) *answer { return &answer{view: "editor", title: title, data: e} }

// create makes a new schedule, or shows what it would be.
func (p *Pages) create(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	e := newEditor(speaker, r.URL.Query().Get("as") == "text")
	e.draft = draftOf(r)
	request, err := e.decode()
	if err == nil && r.PostFormValue("do") == "create" {
		request.RequestID = e.Request
		if _, err = speaker.Create(r.Context(), request); err == nil {
			return &answer{to: address(speaker.Namespace(), "schedules", request.ID) + "?said=create"}, nil
		}
	}
	p.preview(r, speaker, e, &request, err)
	return e.page("New schedule"), nil
}

// preview adds to a page what the schedule means, or what is wrong with it.
func (p *Pages) preview(r *http.Request, speaker *speaker.Speaker, e *editor, request *schedule.CreateRequest, failed error) {
	var reply schedule.TimesReply
	err := failed
	if err == nil {
		reply, err = speaker.Preview(r.Context(), schedule.PreviewRequest{Spec: request.Spec, ID: request.ID, Count: previewed})
	}
	if err != nil {
		refused := refusal.Of(err)
		e.Problem = &refused
		return
	}
	zone, err := request.Spec.Location()
	if err != nil {
		zone = time.UTC
	}
	e.Preview = &preview{Words: reply.Words, Warnings: reply.Warnings, Zone: zone.String()}
	now := p.config.Now()
	for _, due := range reply.Times {
		e.Preview.Times = append(e.Preview.Times, momentOf(due.NominalTime, now, zone))
	}
}

// edit shows the page on which a schedule can be changed.
func (p *Pages) edit(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	d, err := speaker.Describe(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	text, err := apitext.EncodeYAML(d.Schedule)
	if err != nil {
		return nil, err
	}
	e := &editor{Exists: true, AsText: true, draft: draft{
		ID: d.ID, Text: string(text), Token: strconv.FormatUint(d.ConflictToken, 10), Request: p.config.NewID(),
	}}
	p.preview(r, speaker, e, &schedule.CreateRequest{ID: d.ID, Schedule: d.Schedule}, nil)
	return e.page("Edit " + d.ID), nil
}

// save changes a schedule, or shows what it would be. If somebody else has changed it meanwhile, it shows what they have made of it.
func (p *Pages) save(r *http.Request, speaker *speaker.Speaker) (*answer, error) {
	e := &editor{Exists: true, AsText: true, draft: draftOf(r)}
	e.ID = r.PathValue("id")
	request, err := e.decode()
	token, parsed := strconv.ParseUint(e.Token, 10, 64)
	if parsed != nil {
		return nil, schedule.Invalid("token", "is %q: open the page anew", e.Token)
	}
	if err == nil && r.PostFormValue("do") == "save" {
		_, err = speaker.Update(r.Context(), schedule.UpdateRequest{ID: e.ID, Schedule: request.Schedule, ConflictToken: token, RequestID: e.Request})
		if err == nil {
			return &answer{to: address(speaker.Namespace(), "schedules", e.ID) + "?said=save"}, nil
		}
	}
	p.preview(r, speaker, e, &request, err)
	if e.Problem != nil && e.Problem.Field == "conflictToken" {
		if err := p.showCurrent(r, speaker, e); err != nil {
			return nil, err
		}
	}
	return e.page("Edit " + e.ID), nil
}

// showCurrent adds what a schedule is now, with its version: whoever saves again has seen it.
func (p *Pages) showCurrent(r *http.Request, speaker *speaker.Speaker, e *editor) error {
	d, err := speaker.Describe(r.Context(), e.ID)
	if err != nil {
		return err
	}
	text, err := apitext.EncodeYAML(d.Schedule)
	e.Current, e.Token, e.Request = string(text), strconv.FormatUint(d.ConflictToken, 10), p.config.NewID()
	return err
}
