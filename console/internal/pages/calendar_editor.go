package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/ical"
	"github.com/carillon-scheduler/carillon/schedule"
)

// calendarEditor is the page on which somebody writes a calendar, as YAML or from an iCalendar file.
type calendarEditor struct {
	// Exists says that the calendar is there already; then Name does not change.
	Exists      bool
	Name, Text  string
	Zone, Years string
	// Token is the version that they began with, and Request the ID of their request.
	Token, Request string
	Problem        *refusal.Refusal
	// Read says what the text has, or what has been read from a file; empty if that was not asked for.
	Read string
	// Current is what the calendar is now, if somebody else has changed it meanwhile.
	Current string
}

// calendarFile is what the text may have: as "carillon calendar create --file" takes it.
type calendarFile struct {
	schedule.UpdateCalendarRequest
	Namespace string          `json:"namespace,omitempty"`
	Info      json.RawMessage `json:"info,omitempty"`
}

// yearsRead is how many years are read of an iCalendar file if nobody says, and maxYears the most.
const yearsRead, maxYears = 5, 20

func (e *calendarEditor) page() *answer {
	if e.Exists {
		return &answer{view: "calendar-editor", title: "Edit " + e.Name, data: e}
	}
	return &answer{view: "calendar-editor", title: "New calendar", data: e}
}

func (p *Pages) newCalendar(*http.Request, *speaker.Speaker) (*answer, error) {
	e := &calendarEditor{
		Request: p.config.NewID(), Years: strconv.Itoa(yearsRead),
		Text: fmt.Sprintf("dates:\n  - %d-12-24/%[1]d-12-26\nwindows: []\n", p.config.Now().UTC().Year()),
	}
	return e.page(), nil
}

func (p *Pages) editCalendar(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, err := asks.DescribeCalendar(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	text, err := entriesText(&d.NamedCalendar)
	if err != nil {
		return nil, err
	}
	e := &calendarEditor{
		Exists: true, Name: d.Name, Text: text, Request: p.config.NewID(), Token: strconv.FormatUint(d.ConflictToken, 10), Years: strconv.Itoa(yearsRead),
	}
	return e.page(), nil
}

// entriesText returns the dates and windows of a calendar as YAML.
func entriesText(c *schedule.NamedCalendar) (string, error) {
	text, err := apitext.EncodeYAML(struct {
		Dates   []schedule.DateRange `json:"dates"`
		Windows []schedule.Blackout  `json:"windows"`
	}{c.Dates, c.Windows})
	return string(text), err
}

// writeCalendar creates or changes a calendar, reads an iCalendar file into the text, or says what the text has.
func (p *Pages) writeCalendar(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	if err := r.ParseMultipartForm(maxForm); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		return nil, schedule.Invalid("file", "cannot be read, or the form has more than %d bytes: %v", maxForm, err)
	}
	value := func(name string) string { return strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n") }
	e := &calendarEditor{
		Name: value("name"), Text: value("text"), Zone: strings.TrimSpace(value("zone")), Years: value("years"), Token: value("token"), Request: value("request"),
	}
	if name := r.PathValue("name"); name != "" {
		e.Exists, e.Name = true, name
	}
	var err error
	switch value("do") {
	case "read":
		err = p.importing(r.Context(), func() error { return e.read(r, p.config.Now()) })
	case "look":
		_, err = e.decode()
	default:
		var said string
		if said, err = e.write(r, asks); err == nil {
			return &answer{to: address(asks.Namespace(), "calendars", e.Name) + "?said=" + said}, nil
		}
		if err := e.showCurrent(r, asks, err); err != nil {
			return nil, err
		}
	}
	if err != nil {
		e.Problem = refusal.Of(err)
	}
	return e.page(), nil
}

// importing reads a file, while not too many others do: what its rules give may take a second of a processor.
func (p *Pages) importing(ctx context.Context, read func() error) error {
	select {
	case p.imports <- struct{}{}:
		defer func() { <-p.imports }()
		return read()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// decode returns the calendar that the text stands for.
func (e *calendarEditor) decode() (request schedule.UpdateCalendarRequest, err error) {
	var file calendarFile
	if err := apitext.DecodeYAML([]byte(e.Text), &file); err != nil {
		return request, err
	}
	request = file.UpdateCalendarRequest
	if e.Name != "" || e.Exists {
		request.Name = e.Name
	}
	if err := request.Validate(); err != nil {
		return request, err
	}
	e.Name, request.RequestID = request.Name, e.Request
	e.Read = plural(len(request.Dates), "date") + " and " + plural(len(request.Windows), "window")
	return request, nil
}

// write creates or changes the calendar.
func (e *calendarEditor) write(r *http.Request, asks *speaker.Speaker) (said string, err error) {
	request, err := e.decode()
	if err != nil {
		return "", err
	}
	if !e.Exists {
		_, err = asks.CreateCalendar(r.Context(), schedule.CreateCalendarRequest{NamedCalendar: request.NamedCalendar, RequestID: e.Request})
		return "calendar-created", err
	}
	if request.ConflictToken, err = hiddenNumber("token", e.Token); err != nil {
		return "", err
	}
	_, err = asks.UpdateCalendar(r.Context(), request)
	return "calendar-saved", err
}

// showCurrent adds what somebody else has made of the calendar meanwhile, if that is why it could not be written. Saving again replaces it.
func (e *calendarEditor) showCurrent(r *http.Request, asks *speaker.Speaker, refused error) error {
	var failure *schedule.Error
	if !e.Exists || !errors.As(refused, &failure) || failure.Field != "conflictToken" {
		return nil
	}
	d, err := asks.DescribeCalendar(r.Context(), e.Name)
	if err != nil {
		return err
	}
	e.Token = strconv.FormatUint(d.ConflictToken, 10)
	e.Current, err = entriesText(&d.NamedCalendar)
	return err
}

// read replaces the text by what an iCalendar file has.
func (e *calendarEditor) read(r *http.Request, now time.Time) error {
	years, err := strconv.Atoi(e.Years)
	if err != nil || years < 1 || years > maxYears {
		return schedule.Invalid("years", "%q is out of range: use 1 to %d", e.Years, maxYears)
	}
	from := time.Date(now.UTC().Year(), time.January, 1, 0, 0, 0, 0, time.UTC)
	options := ical.Options{From: from, To: from.AddDate(years, 0, 0)}
	if e.Zone != "" {
		if options.Zone, err = (schedule.Spec{TimeZone: e.Zone}).Location(); err != nil {
			return schedule.Prefix("zone", err)
		}
	}
	file, _, err := r.FormFile("file")
	if err != nil {
		return schedule.Invalid("file", "is missing: choose an iCalendar file (.ics)")
	}
	defer file.Close()
	contents, err := ical.Read(file, options)
	if err != nil {
		return schedule.Invalid("file", "%v", err)
	}
	e.Read = fmt.Sprintf("%s and %s, read from %s", plural(len(contents.Dates), "date"), plural(len(contents.Windows), "window"), plural(contents.Events, "event"))
	e.Text, err = entriesText(&schedule.NamedCalendar{Dates: contents.Dates, Windows: contents.Windows})
	return err
}
