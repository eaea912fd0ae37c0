package pages

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/api/common/v1"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/schedule"
)

// actForm is a page with one form, which asks for one thing. What somebody has typed stays there until it has been done.
type actForm struct {
	// Title says what is asked for, Of is what it is about, with its address, and Intro says what will happen.
	Title, Of, Back, Intro string
	Fields                 []actField
	// Button is the text of the button. Request is the ID of the request, so that sending a form twice asks for one thing.
	Button, Request string
	// Problem is what is wrong, beside what the fields say; nil if nothing is.
	Problem *refusal.Refusal
	// Notes are what somebody should know before, such as that there is no worker.
	Notes []string
	// Result is what came back; nil if nothing has.
	Result *actResult
	// Preview is what the form is about, before it begins; nil if there is no such thing.
	Preview *batchPreview
	// IsSent says that somebody has sent the form, and IsOver that what it asked for has come to an end, so that sending it again asks for another thing.
	IsSent, IsOver bool
}

// actResult is what came back from a request that changes nothing.
type actResult struct {
	Title string
	Text  string
}

// actField is a field of a form.
type actField struct {
	Name, Label, Value, Hint string
	// Kind is the element: empty for a line of text, json for a text of several lines, choice and radio for Choices.
	Kind     string
	Choices  []actChoice
	Required bool
	// Mistake says what is wrong with the value; empty if nothing is.
	Mistake string
}

// actChoice is a value that somebody can choose.
type actChoice struct{ Value, Label string }

// fill puts what was sent into the fields.
func (f *actForm) fill(r *http.Request) {
	for i := range f.Fields {
		f.Fields[i].Value = strings.ReplaceAll(r.PostFormValue(f.Fields[i].Name), "\r\n", "\n")
	}
	if request := r.PostFormValue("request"); request != "" {
		f.Request = request
	}
}

// value returns what is in a field, without space around it.
func (f *actForm) value(name string) string {
	i := slices.IndexFunc(f.Fields, func(field actField) bool { return field.Name == name })
	if i < 0 {
		return ""
	}
	return strings.TrimSpace(f.Fields[i].Value)
}

// hiddenNumber reads a number that a page has put into a hidden field.
func hiddenNumber(field, text string) (uint64, error) {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, schedule.Invalid(field, "is %q: open the page anew", text)
	}
	return number, nil
}

// set puts a text into a field.
func (f *actForm) set(name, value string) {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			f.Fields[i].Value = value
		}
	}
}

// mistake notes what is wrong with a field.
func (f *actForm) mistake(name, text string) {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			f.Fields[i].Mistake = text
		}
	}
}

// arguments reads the values of a field. It returns false if they are no JSON, and says so at the field.
func (f *actForm) arguments(name string) (values *common.Payloads, ok bool) {
	values, err := readable.Arguments(f.value(name))
	if err != nil {
		f.mistake(name, err.Error())
	}
	return values, err == nil
}

// isComplete reports whether all fields that are required have a value, and says at the others that they are.
func (f *actForm) isComplete() bool {
	complete := true
	for i := range f.Fields {
		if f.Fields[i].Required && strings.TrimSpace(f.Fields[i].Value) == "" {
			f.Fields[i].Mistake, complete = "is required", false
		}
	}
	return complete
}

// refuse notes an error of a request.
func (f *actForm) refuse(err error) {
	f.Problem = refusal.Of(err)
}

// IsHidden reports whether there is nothing that the form could be about.
func (f *actForm) IsHidden() bool { return f.Preview != nil && len(f.Preview.Rows) == 0 }

// page returns the form as a page.
func (f *actForm) page() *answer { return &answer{view: "act", title: f.Title + " " + f.Of, data: f} }
