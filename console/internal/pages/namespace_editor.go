package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// namespaceEditor is the page on which somebody makes a namespace, or changes its description and limits.
type namespaceEditor struct {
	Exists            bool
	Name, Description string
	Limits            []limitField
	Token, Request    string
	Problem           *refusal.Refusal
}

// limitField is a field for a limit. Name is that of the API, Label is for people, and Without says what an empty field means.
type limitField struct{ Name, Label, Without, Value string }

// isText reports whether the value is text, and not a number.
func (f *limitField) isText() bool {
	return f.Name == "archive" || strings.HasSuffix(f.Name, "Retention")
}

// limitFields are the limits that there are.
var limitFields = []limitField{
	{"maxSchedules", "Schedules", "1,000,000", ""},
	{"maxPendingRuns", "Runs queued or in progress", "no limit", ""},
	{"requestsPerSecond", "Requests a second, over all frontends", "no limit", ""},
	{"requestBurst", "Requests at once", "as many as in a second", ""},
	{"actionsPerSecond", "Actions a second, over all schedules", "no limit", ""},
	{"maxScheduleBytes", "Bytes of a schedule with its input", "those of a message", ""},
	{"workflowRequestsPerSecond", "Requests of Temporal's clients a second, at each gateway", "10,000", ""},
	{"workflowListsPerSecond", "Lists of Temporal's clients a second, at each gateway", "500", ""},
	{"maxWorkflowPolls", "Polls that wait at each gateway", "10,000", ""},
	{"eventRetention", "Keep events for", "720h", ""},
	{"workflowRetention", "Keep ended executions for", "72h", ""},
	{"archive", "Archive ended executions in the bucket with the URL", "no archive", ""},
}

func (e *namespaceEditor) page() *answer {
	if e.Exists {
		return &answer{view: "namespace-editor", title: "Edit namespace " + e.Name, data: e}
	}
	return &answer{view: "namespace-editor", title: "New namespace", data: e}
}

func (p *Pages) newNamespace(*http.Request, *speaker.Speaker) (*answer, error) {
	return (&namespaceEditor{Request: p.config.NewID(), Limits: limitFields}).page(), nil
}

func (p *Pages) editNamespace(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, err := asks.DescribeNamespace(r.Context(), asks.Namespace())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(d.Limits)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, err
	}
	e := &namespaceEditor{
		Exists: true, Name: d.Name, Description: d.Description, Request: p.config.NewID(), Token: strconv.FormatUint(d.ConflictToken, 10),
	}
	for _, field := range limitFields {
		if value, set := values[field.Name]; set {
			field.Value = fmt.Sprint(value)
		}
		e.Limits = append(e.Limits, field)
	}
	return e.page(), nil
}

// editorOfNamespace reads the fields of the form.
func editorOfNamespace(r *http.Request) *namespaceEditor {
	e := &namespaceEditor{
		Name: strings.TrimSpace(r.PostFormValue("name")), Description: strings.TrimSpace(r.PostFormValue("description")),
		Token: r.PostFormValue("token"), Request: r.PostFormValue("request"),
	}
	for _, field := range limitFields {
		field.Value = strings.TrimSpace(r.PostFormValue(field.Name))
		e.Limits = append(e.Limits, field)
	}
	return e
}

// decode returns the limits that the fields stand for. What is wrong with a field is said as the API says it.
func (e *namespaceEditor) decode() (limits schedule.NamespaceLimits, err error) {
	values := map[string]any{}
	for _, field := range e.Limits {
		switch {
		case field.Value == "":
		case field.isText():
			values[field.Name] = field.Value
		default:
			if !json.Valid([]byte(field.Value)) {
				return limits, schedule.Invalid("limits."+field.Name, "%q is not a number", field.Value)
			}
			values[field.Name] = json.RawMessage(field.Value)
		}
	}
	text, err := json.Marshal(values)
	if err == nil {
		err = schedule.Prefix("limits", apitext.DecodeJSON(text, &limits))
	}
	return limits, err
}

// refused shows the page again, with what is wrong.
func (e *namespaceEditor) refused(err error) (*answer, error) {
	e.Problem = refusal.Of(err)
	return e.page(), nil
}

func (p *Pages) createNamespace(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	e := editorOfNamespace(r)
	limits, err := e.decode()
	if err == nil {
		_, err = asks.CreateNamespace(r.Context(), e.Name, schedule.CreateNamespaceRequest{Description: e.Description, Limits: limits, RequestID: e.Request})
	}
	if err != nil {
		return e.refused(err)
	}
	return &answer{to: address(e.Name, "namespace") + "?said=namespace-created"}, nil
}

func (p *Pages) saveNamespace(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	e := editorOfNamespace(r)
	e.Exists, e.Name = true, asks.Namespace()
	limits, err := e.decode()
	token, unread := hiddenNumber("token", e.Token)
	if unread != nil {
		return nil, unread
	}
	if err == nil {
		_, err = asks.UpdateNamespace(r.Context(), e.Name, schedule.UpdateNamespaceRequest{
			Description: e.Description, Limits: limits, ConflictToken: token, RequestID: e.Request,
		})
	}
	if err != nil {
		return e.refused(err)
	}
	return &answer{to: address(e.Name, "namespace") + "?said=namespace-saved"}, nil
}
