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
		if err := mayLook(ctx, asks); err != nil {
			return nil, err
		}
		facts, err := diagnosis.Gather(ctx, diagnosis.Config{Conn: asks.Conn, JS: asks.JS, Names: asks.Names, Now: p.config.Now})
		return facts, ofNATS(err)
	})
}

// lookWait is how long JetStream has to say who somebody is. NATS does not answer what somebody may not ask.
const lookWait = 1500 * time.Millisecond

// mayLook returns why a user cannot look at JetStream; nil if they can.
func mayLook(ctx context.Context, asks *speaker.Speaker) error {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	_, err := asks.JS.AccountInfo(ctx)
	if last := asks.Conn.LastError(); errors.Is(err, context.DeadlineExceeded) && errors.Is(last, nats.ErrPermissionViolation) {
		return schedule.Errorf(schedule.CodePermissionDenied, "you may not look at the installation: %v", last)
	}
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
