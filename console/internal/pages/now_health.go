package pages

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/diagnosis"
	"github.com/carillon-scheduler/carillon/schedule"
)

// healthView is how the installation is.
type healthView struct {
	State state
	// Problems are the checks that are not ok, and Checks are all.
	Problems, Checks []checkRow
	// DeadLetters counts the messages that could not be processed.
	DeadLetters uint64
}

// checkRow is one check, what was found, and what to do about it.
type checkRow struct {
	Name, Detail, Next string
	State              state
}

// kinds are the colours of the statuses of checks.
var kinds = map[diagnosis.Status]string{diagnosis.OK: "good", diagnosis.Warning: "warn", diagnosis.Failed: "bad"}

// errNoLook says that a user may not look at the installation itself.
var errNoLook = schedule.Errorf(schedule.CodePermissionDenied,
	"your account has no JetStream, so how the installation is cannot be looked at")

// health returns the facts about the installation, a few seconds old at most.
func (p *Pages) health(ctx context.Context, asks *speaker.Speaker) (*diagnosis.Facts, error) {
	installation, err := asks.In(p.config.Namespace) // all namespaces share the facts
	if err != nil {
		return nil, err
	}
	return ask(ctx, p.facts, installation, func(ctx context.Context) (*diagnosis.Facts, error) {
		var facts *diagnosis.Facts
		err := asks.AskJetStream(ctx, func(ctx context.Context, js jetstream.JetStream) error {
			err := answers(ctx, js)
			if err == nil {
				facts, err = diagnosis.Gather(ctx, diagnosis.Config{Conn: asks.Conn, JS: js, Names: asks.Names, Now: p.config.Now})
			}
			return err
		})
		return facts, ofNATS(err)
	})
}

// streamWait is how long JetStream has to answer at all.
const streamWait = 1500 * time.Millisecond

// answers returns why JetStream does not answer; nil if it does. Pages with many requests ask first, so that they do not wait for each of them.
func answers(ctx context.Context, js jetstream.JetStream) error {
	ctx, cancel := context.WithTimeout(ctx, streamWait)
	defer cancel()
	_, err := js.AccountInfo(ctx)
	return ofNATS(err)
}

var (
	errAway     = schedule.Errorf(schedule.CodeUnavailable, "NATS is away: there is no connection")
	errNoAnswer = schedule.Errorf(schedule.CodeUnavailable, "JetStream does not answer in time; it does not answer users without the right to ask it either")
)

// ofNATS returns what an error of a request to JetStream means for people.
func ofNATS(err error) error {
	var failure *schedule.Error
	switch {
	case err == nil, errors.As(err, &failure):
		return err
	case errors.Is(err, jetstream.ErrJetStreamNotEnabled), errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
		return errNoLook
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, nats.ErrNoResponders):
		return errNoAnswer
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrConnectionReconnecting):
		return errAway
	}
	return schedule.Errorf(schedule.CodeUnavailable, "%v", err)
}

// healthOf judges facts as "carillon cluster health" does.
func healthOf(f *diagnosis.Facts) *healthView {
	checks := diagnosis.Checks(f)
	view := &healthView{}
	for i := range checks {
		row := checkOf(&checks[i])
		view.Checks = append(view.Checks, row)
		if checks[i].Status != diagnosis.OK {
			view.Problems = append(view.Problems, row)
		}
	}
	for i := range f.Streams {
		if strings.HasSuffix(f.Streams[i].Name, "_DLQ") {
			view.DeadLetters += f.Streams[i].Messages
		}
	}
	switch worst := diagnosis.Worst(checks); worst {
	case diagnosis.OK:
		view.State = state{"all is well", kinds[worst]}
	case diagnosis.Warning:
		view.State = state{plural(len(view.Problems), "warning"), kinds[worst]}
	default:
		view.State = state{plural(len(view.Problems), "problem"), kinds[worst]}
	}
	return view
}

func checkOf(c *diagnosis.Check) checkRow {
	return checkRow{c.Name, c.Detail, c.Next, state{string(c.Status), kinds[c.Status]}}
}
