package pages

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// lettersShown is how many dead letters the list has, the newest first.
	lettersShown = 100
	// lettersAtOnce is how many one request handles, and lettersTime bounds it. Failures are listed up to failuresShown.
	lettersAtOnce, failuresShown = 1000, 10
	lettersTime                  = 10 * time.Second
)

// letterChoice is the filter of the list.
type letterChoice struct{ Pool, Namespace, Schedule, Workflow string }

// letterList is the page with the dead letters of the installation.
type letterList struct {
	letterChoice
	// Pools are those that there are.
	Pools []string
	Rows  []letterRow
	// Count is how many the filter chooses, and More how many of them the page leaves out.
	Count, More int
	// Filter is the filter as a query of an address.
	Filter string
}

// letterRow is a dead letter in a list.
type letterRow struct {
	Number, Address, Pool, Reason string
	// About is the schedule or workflow that it is about, and AboutAddress its page; both may be empty.
	About, AboutAddress string
	At                  moment
	Deliveries          uint64
	Size                int
}

func (p *Pages) addLetters() {
	const letters = Base + "{namespace}/dead-letters"
	p.page("GET "+letters, ofLetters(p.letters))
	p.page("GET "+letters+"/all", ofLetters(p.confirmLetters))
	p.page("POST "+letters+"/all", ofLetters(p.handleLetters))
	p.page("GET "+letters+"/{number}", ofLetters(p.letter))
	p.page("POST "+letters+"/{number}/replay", ofLetters(p.replayLetter))
	p.page("POST "+letters+"/{number}/delete", ofLetters(p.deleteLetter))
}

// letterMaker is a maker that handles dead letters, by a reader that acts in the name of whoever asks.
type letterMaker func(*http.Request, *speaker.Speaker, *deadletter.Reader) (*answer, error)

// ofLetters makes a page about dead letters. What NATS does not let the user ask refuses the page at once.
func ofLetters(make letterMaker) maker {
	return func(r *http.Request, asks *speaker.Speaker) (made *answer, err error) {
		err = asks.AskJetStream(r.Context(), func(ctx context.Context, js jetstream.JetStream) error {
			if err := answers(ctx, js); err != nil {
				return err
			}
			made, err = make(r.WithContext(ctx), asks, deadletter.NewReader(js, asks.Names).As(asks.Identity))
			return err
		})
		return made, err
	}
}

func choiceOf(r *http.Request) letterChoice {
	value := func(name string) string { return strings.TrimSpace(r.FormValue(name)) }
	return letterChoice{value("pool"), value("in"), value("schedule"), value("workflow")}
}

// filter returns the filter that a choice stands for. A schedule or a workflow is one of the namespace of the page, unless another one is named.
// Otherwise, letters of no known namespace are among them.
func (c *letterChoice) filter(namespace string) deadletter.Filter {
	filter := deadletter.Filter{Pool: c.Pool, Namespace: c.Namespace, ScheduleID: c.Schedule, WorkflowID: c.Workflow}
	if c.Schedule+c.Workflow != "" {
		filter.Namespace = cmp.Or(c.Namespace, namespace)
	}
	return filter
}

// query returns the choice as the query of an address.
func (c *letterChoice) query() string {
	return queryOf("pool", c.Pool, "in", c.Namespace, "schedule", c.Schedule, "workflow", c.Workflow)
}

// list returns the letters that a choice selects, the newest first.
func (c *letterChoice) list(ctx context.Context, reader *deadletter.Reader, namespace string) ([]deadletter.Letter, error) {
	ctx, cancel := context.WithTimeout(ctx, lettersTime)
	defer cancel()
	if pools := pools(); c.Pool != "" && !slices.Contains(pools, c.Pool) {
		return nil, schedule.Invalid("pool", "%q is not one of %s", c.Pool, strings.Join(pools, ", "))
	}
	letters, err := reader.List(ctx, c.filter(namespace))
	slices.Reverse(letters)
	return letters, ofNATS(err)
}

// pools are the possible givers of letters.
func pools() []string { return append(subjects.Pools(), deadletter.Worker) }

// letters shows the dead letters that a filter chooses.
func (p *Pages) letters(r *http.Request, asks *speaker.Speaker, reader *deadletter.Reader) (*answer, error) {
	list := &letterList{letterChoice: choiceOf(r), Pools: pools()}
	found, err := list.list(r.Context(), reader, asks.Namespace())
	if err != nil {
		return nil, err
	}
	list.Count, list.More, list.Filter = len(found), max(len(found)-lettersShown, 0), strings.TrimPrefix(list.query(), "?")
	now := p.config.Now()
	for i := range found[:len(found)-list.More] {
		list.Rows = append(list.Rows, letterOf(&found[i], asks.Namespace(), now))
	}
	return &answer{view: "letters", title: "Dead letters", data: list}, nil
}

func letterOf(l *deadletter.Letter, namespace string, now time.Time) letterRow {
	row := letterRow{
		Number: l.Number.String(), Address: address(namespace, "dead-letters", l.Number.String()), Pool: l.Pool, Reason: l.Reason,
		At: momentOf(l.Time, now, time.UTC), Deliveries: l.Deliveries, Size: l.Size,
	}
	if l.TaskQueue != "" {
		row.Pool += " (" + l.Namespace + "/" + l.TaskQueue + ")"
	}
	switch {
	case l.ScheduleID != "":
		row.About, row.AboutAddress = l.Namespace+"/"+l.ScheduleID, address(l.Namespace, "schedules", l.ScheduleID)
	case l.WorkflowID != "":
		row.About = l.Namespace + "/" + l.WorkflowID
	}
	return row
}
