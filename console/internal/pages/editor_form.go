package pages

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// zones are some of the time zones that people use, to choose from. Every other name of the database may be written as well.
var zones = []string{
	"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Lagos", "Africa/Nairobi", "America/Argentina/Buenos_Aires", "America/Bogota", "America/Chicago",
	"America/Denver", "America/Halifax", "America/Los_Angeles", "America/Mexico_City", "America/New_York", "America/Sao_Paulo", "America/Toronto",
	"Asia/Bangkok", "Asia/Dhaka", "Asia/Dubai", "Asia/Hong_Kong", "Asia/Jakarta", "Asia/Karachi", "Asia/Kolkata", "Asia/Manila", "Asia/Seoul", "Asia/Shanghai",
	"Asia/Singapore", "Asia/Tehran", "Asia/Tokyo", "Australia/Perth", "Australia/Sydney", "Europe/Amsterdam", "Europe/Athens", "Europe/Berlin", "Europe/Istanbul",
	"Europe/Kyiv", "Europe/Lisbon", "Europe/London", "Europe/Madrid", "Europe/Moscow", "Europe/Paris", "Europe/Rome", "Europe/Stockholm", "Europe/Warsaw",
	"Europe/Zurich", "Pacific/Auckland", "Pacific/Honolulu",
}

// draft is what somebody has written.
type draft struct {
	ID, Cron, Every, At, TimeZone, Jitter string
	// The fields of a calendar.
	Hour, Minute, DayOfWeek, DayOfMonth, Month string
	Type, TaskQueue, Input                     string
	Overlap, CatchupWindow, Notes              string
	Paused                                     bool
	// Text is the schedule as YAML, and Line that of a crontab.
	Text, Line string
	// Token is the version that they began with, and Request the ID of their request, so that sending a form twice makes one schedule.
	Token, Request string
}

func draftOf(r *http.Request) draft {
	value := func(name string) string { return strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n") }
	return draft{
		ID: value("id"), Cron: value("cron"), Every: value("every"), At: value("at"), TimeZone: value("timeZone"), Jitter: value("jitter"),
		Hour: value("hour"), Minute: value("minute"), DayOfWeek: value("dayOfWeek"), DayOfMonth: value("dayOfMonth"), Month: value("month"),
		Type: value("type"), TaskQueue: value("taskQueue"), Input: value("input"),
		Overlap: value("overlap"), CatchupWindow: value("catchupWindow"), Notes: value("notes"), Paused: value("paused") != "",
		Text: value("text"), Line: value("line"), Token: value("token"), Request: value("request"),
	}
}

// formSpec is what the form knows of a spec.
type formSpec struct {
	Calendars []formCalendar `json:"calendars,omitempty"`
	Cron      []string       `json:"cron,omitempty"`
	Intervals []formInterval `json:"intervals,omitempty"`
	At        []string       `json:"at,omitempty"`
	Jitter    string         `json:"jitter,omitempty"`
	TimeZone  string         `json:"timeZone,omitempty"`
}

type formCalendar struct {
	Minute     string `json:"minute,omitempty"`
	Hour       string `json:"hour,omitempty"`
	DayOfMonth string `json:"dayOfMonth,omitempty"`
	Month      string `json:"month,omitempty"`
	DayOfWeek  string `json:"dayOfWeek,omitempty"`
}

type formInterval struct {
	Every string `json:"every"`
}

type formAction struct {
	Type      string          `json:"type"`
	TaskQueue string          `json:"taskQueue"`
	Input     json.RawMessage `json:"input,omitempty"`
}

type formPolicies struct {
	Overlap       string `json:"overlap,omitempty"`
	CatchupWindow string `json:"catchupWindow,omitempty"`
}

type formSchedule struct {
	ID       string         `json:"id"`
	Spec     formSpec       `json:"spec"`
	Action   formAction     `json:"action"`
	Policies formPolicies   `json:"policies"`
	State    schedule.State `json:"state"`
}

// request returns the request that the fields of the form stand for. What is wrong with a field is said as the API says it.
func (d *draft) request() (request schedule.CreateRequest, err error) {
	form := formSchedule{
		ID: d.ID, Action: formAction{Type: d.Type, TaskQueue: d.TaskQueue}, Policies: formPolicies{d.Overlap, strings.TrimSpace(d.CatchupWindow)},
		State: schedule.State{Paused: d.Paused, Notes: d.Notes},
	}
	if form.Spec, err = d.spec(); err != nil {
		return request, err
	}
	if input := strings.TrimSpace(d.Input); input != "" {
		if form.Action.Input, err = inputField("action.input", input); err != nil {
			return request, err
		}
	}
	text, err := json.Marshal(form)
	if err == nil {
		err = apitext.DecodeJSON(text, &request)
	}
	return request, err
}

// spec returns when the schedule is due: the union of all that is written.
func (d *draft) spec() (spec formSpec, err error) {
	spec = formSpec{TimeZone: strings.TrimSpace(d.TimeZone), Jitter: strings.TrimSpace(d.Jitter)}
	for line := range strings.SplitSeq(d.Cron, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			spec.Cron = append(spec.Cron, line)
		}
	}
	if d.Every != "" {
		spec.Intervals = []formInterval{{strings.TrimSpace(d.Every)}}
	}
	calendar := formCalendar{Minute: d.Minute, Hour: d.Hour, DayOfMonth: d.DayOfMonth, Month: d.Month, DayOfWeek: d.DayOfWeek}
	if calendar != (formCalendar{}) {
		spec.Calendars = []formCalendar{calendar}
	}
	zone, err := schedule.Spec{TimeZone: spec.TimeZone}.Location()
	if err != nil {
		return spec, schedule.Prefix("spec", err)
	}
	at, err := timeField("spec.at", d.At, zone)
	if err == nil && !at.IsZero() {
		spec.At = []string{at.Format(time.RFC3339)}
	}
	return spec, err
}
