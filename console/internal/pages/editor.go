package pages

import (
	"net/http"
	"strconv"
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
	// AsText says that the schedule is written as YAML, and AsCrontab that it is a line of a crontab. The addresses are those of the pages for each.
	AsText, AsCrontab                        bool
	FormAddress, TextAddress, CrontabAddress string
	// Overlaps and Zones are what the fields offer.
	Overlaps, Zones []string
	// Lost is what a line of a crontab has that the schedule has not.
	Lost []string
	// Preview is what the schedule means, and Problem what is wrong with it; nil if there is no such thing, or nobody has asked.
	Preview *preview
	Problem *refusal.Refusal
	// Changes are how the schedule would differ from what it is now; IsSame says that it would not.
	Changes []diffLine
	IsSame  bool
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

// decode returns the request that a page stands for.
func (e *editor) decode() (request schedule.CreateRequest, err error) {
	switch {
	case e.AsCrontab:
		return e.crontab()
	case !e.AsText:
		return e.request()
	case e.Exists:
		err = apitext.DecodeYAML([]byte(e.Text), &request.Schedule)
		request.ID = e.ID
		return request, err
	}
	return request, apitext.DecodeYAML([]byte(e.Text), &request)
}

// newSchedule shows the page for a new schedule.
func (p *Pages) newSchedule(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	e := newEditor(asks, r.URL.Query().Get("as"))
	e.Request = p.config.NewID()
	e.TaskQueue, e.Text = "default", "id: my-schedule\nspec:\n  cron: [30 2 * * *]\n  timeZone: UTC\naction:\n  type: log\n  taskQueue: default\n"
	return e.page("New schedule"), nil
}

// newEditor returns the page for a new schedule that is written in one of the ways.
func newEditor(asks *speaker.Speaker, as string) *editor {
	form := address(asks.Namespace(), "new-schedule")
	return &editor{
		AsText: as == "text", AsCrontab: as == "crontab", FormAddress: form, TextAddress: form + "?as=text", CrontabAddress: form + "?as=crontab",
		Overlaps: overlaps(), Zones: zones,
	}
}

func (e *editor) page(title string) *answer { return &answer{view: "editor", title: title, data: e} }

// create makes a new schedule, or shows what it would be.
func (p *Pages) create(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	e := newEditor(asks, r.URL.Query().Get("as"))
	e.draft = draftOf(r)
	request, err := e.decode()
	if err == nil && r.PostFormValue("do") == "create" {
		request.RequestID = e.Request
		if _, err = asks.Create(r.Context(), request); err == nil {
			return &answer{to: address(asks.Namespace(), "schedules", request.ID) + "?said=create"}, nil
		}
	}
	p.preview(r, asks, e, &request, err)
	return e.page("New schedule"), nil
}

// preview adds to a page what the schedule means, or what is wrong with it.
func (p *Pages) preview(r *http.Request, asks *speaker.Speaker, e *editor, request *schedule.CreateRequest, failed error) {
	var reply schedule.TimesReply
	err := failed
	if err == nil {
		reply, err = asks.Preview(r.Context(), schedule.PreviewRequest{Spec: request.Spec, ID: request.ID, Count: previewed})
	}
	if err != nil {
		e.Problem = refusal.Of(err)
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
func (p *Pages) edit(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, err := asks.Describe(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	text, err := apitext.EncodeYAML(d.Schedule)
	if err != nil {
		return nil, err
	}
	if len(text) > 2*mostText {
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition, "the schedule is too large for a page: use carillon schedule edit")
	}
	e := &editor{Exists: true, AsText: true, draft: draft{
		ID: d.ID, Text: string(text), Token: strconv.FormatUint(d.ConflictToken, 10), Request: p.config.NewID(),
	}}
	p.preview(r, asks, e, &schedule.CreateRequest{ID: d.ID, Schedule: d.Schedule}, nil)
	return e.page("Edit " + d.ID), nil
}

// save changes a schedule, or shows what it would be. If somebody else has changed it meanwhile, it shows what they have made of it.
func (p *Pages) save(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	e := &editor{Exists: true, AsText: true, draft: draftOf(r)}
	e.ID = r.PathValue("id")
	request, err := e.decode()
	token, unread := hiddenNumber("token", e.Token)
	if unread != nil {
		return nil, unread
	}
	if err == nil && r.PostFormValue("do") == "save" {
		_, err = asks.Update(r.Context(), schedule.UpdateRequest{ID: e.ID, Schedule: request.Schedule, ConflictToken: token, RequestID: e.Request})
		if err == nil {
			return &answer{to: address(asks.Namespace(), "schedules", e.ID) + "?said=save"}, nil
		}
	}
	p.preview(r, asks, e, &request, err)
	if e.Problem == nil {
		if err := e.addChanges(r, asks, &request.Schedule); err != nil {
			return nil, err
		}
	}
	if e.Problem != nil && e.Problem.Field == "conflictToken" {
		if err := p.showCurrent(r, asks, e); err != nil {
			return nil, err
		}
	}
	return e.page("Edit " + e.ID), nil
}

// showCurrent adds what a schedule is now, with its version: whoever saves again has seen it.
func (p *Pages) showCurrent(r *http.Request, asks *speaker.Speaker, e *editor) error {
	d, err := asks.Describe(r.Context(), e.ID)
	if err != nil {
		return err
	}
	text, err := apitext.EncodeYAML(d.Schedule)
	e.Current, e.Token, e.Request = cut(string(text), mostText), strconv.FormatUint(d.ConflictToken, 10), p.config.NewID()
	return err
}
