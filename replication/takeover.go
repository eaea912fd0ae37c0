package replication

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// watchEvery is how often a takeover is looked at by who has asked for it.
const watchEvery = 200 * time.Millisecond

// Handover asks this site to hand over to its standby, within a time, and waits until that is active or the handover was given up. progress is called with each new
// state of both sites; the second is nil while that does not answer. The error has CodeFailedPrecondition if the handover is not possible, and CodeUnavailable if it
// was given up: then this site is active as before.
func (s *Sites) Handover(ctx context.Context, within time.Duration, progress func(here, there *site.Record)) error {
	here, err := s.linked(ctx)
	if err != nil {
		return err
	}
	next, err := s.handover(ctx, here, within)
	if err == nil {
		err = s.change(ctx, here, next)
	}
	if err != nil {
		return err
	}
	return s.watch(ctx, progress, func(now, there *site.Record) (bool, error) {
		if now.State == site.Active && now.Term == here.Term {
			return false, schedule.Errorf(schedule.CodeUnavailable, "the handover was given up, and the site %q is active as before: %s", now.Site, now.Problem)
		}
		return there != nil && there.State == site.Active && there.Term > here.Term, nil
	})
}

// handover returns the record of a site that is to hand over. It refuses a standby that would not get what this site has: the streams would take nothing until that has come.
func (s *Sites) handover(ctx context.Context, here *site.Record, within time.Duration) (*site.Record, error) {
	look, err := s.Look(ctx)
	if err != nil {
		return nil, err
	}
	now := s.now()
	next, err := site.Handover(here, look.There, now.Add(within), now)
	switch {
	case err != nil:
		return nil, err
	case len(look.Ahead) > 0:
		return nil, site.Ahead(here, look.Ahead)
	case len(look.Missing) > 0:
		return nil, schedule.Errorf(schedule.CodeFailedPrecondition,
			"the site %q does not mirror %s now: wait until carillon site status says that the standby has everything", here.Peer, strings.Join(look.Missing, ", "))
	}
	return next, nil
}

// Failover makes this site the active one without the other, and waits until it is. It refuses, with CodeFailedPrecondition, while the other site answers, or if the mirrors of this one have
// never had everything, unless force is set.
func (s *Sites) Failover(ctx context.Context, force bool, progress func(here, there *site.Record)) error {
	here, err := s.linked(ctx)
	if err != nil {
		return err
	}
	there := s.there(ctx, here)
	next, err := site.Failover(here, there, s.now())
	if err == nil && !force {
		err = needsForce(here, there)
	}
	if err == nil {
		err = s.complete(ctx)
	}
	if err != nil {
		return err
	}
	if err := s.change(ctx, here, next); err != nil {
		return err
	}
	return s.watch(ctx, progress, func(now, _ *site.Record) (bool, error) {
		return now.State == site.Active && now.Term == next.Term, nil
	})
}

// needsForce refuses a failover that would lose more than it must.
func needsForce(here, there *site.Record) error {
	switch {
	case there != nil && there.Works():
		return schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is %s and answers: carillon site handover, there, loses nothing", there.Site, there.State)
	case there != nil:
		return schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q is %s and answers: a takeover that is under way loses nothing", there.Site, there.State)
	case here.State == site.Standby && !here.Complete:
		return schedule.Errorf(schedule.CodeFailedPrecondition, "this site has never had everything since it became a standby: --force takes over with what it has")
	}
	return nil
}

// complete refuses a site that does not have each stream, as a mirror or, if it is no standby, itself.
func (s *Sites) complete(ctx context.Context) error {
	facts, err := topology.Read(ctx, s.js, s.names)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return schedule.Errorf(schedule.CodeFailedPrecondition, "this site has no mirrors yet, so it cannot take over")
	}
	if err != nil {
		return err
	}
	for _, name := range s.names.MirroredStreams(facts.Shards) {
		_, err := s.js.Stream(ctx, name)
		switch {
		case errors.Is(err, jetstream.ErrStreamNotFound):
			return schedule.Errorf(schedule.CodeFailedPrecondition, "this site does not have the stream %s, so it cannot take over", name)
		case err != nil:
			return err
		}
	}
	return nil
}

// change stores the record that a person has asked for, in place of the one that was looked at.
func (s *Sites) change(ctx context.Context, here, next *site.Record) error {
	now, revision, err := s.store.Load(ctx)
	switch {
	case err != nil:
		return err
	case !isStill(here, now):
		return schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q changes just now: look again", here.Site)
	}
	if err = s.store.Save(ctx, next, revision, 0); errors.Is(err, site.ErrChanged) {
		err = schedule.Errorf(schedule.CodeFailedPrecondition, "the site %q changes just now: look again", here.Site)
	}
	return err
}

// watch looks at both sites until done says so, or ctx ends.
func (s *Sites) watch(ctx context.Context, progress func(here, there *site.Record), done func(here, there *site.Record) (bool, error)) error {
	var last string
	for {
		here, _, err := s.store.Load(ctx)
		if err == nil && here != nil {
			there := s.there(ctx, here)
			if text := fmt.Sprint(here, there); text != last {
				last = text
				progress(here, there)
			}
			if ended, err := done(here, there); ended || err != nil {
				return err
			}
		}
		if err := sleep.For(ctx, watchEvery); err != nil {
			return schedule.Errorf(schedule.CodeUnavailable, "the takeover goes on, but was not seen to end: carillon site status shows it; it needs a process with the role replication at each site")
		}
	}
}

// Diverged is a message that a site had when the other one took over without it.
type Diverged struct {
	subjects.DivergedFrom
	// Time is when it was stored.
	Time time.Time `json:"time"`
	// Number is its place among the diverged messages of this site.
	Number uint64 `json:"number"`
	Data   []byte `json:"data"`
}

// EachDiverged visits the diverged messages that this site keeps, in the order in which they were kept, from a number on. It returns the first error, of visit or of NATS.
func (s *Sites) EachDiverged(ctx context.Context, from uint64, visit func(*Diverged) error) error {
	stream := s.names.DivergedStream()
	for {
		m, err := bus.LeaderNext(ctx, s.js, stream, ">", max(from, 1))
		if errors.Is(err, bus.ErrNone) || bus.CodeOf(err) == jetstream.JSErrCodeStreamNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		d, err := s.diverged(&m)
		if err == nil {
			err = visit(d)
		}
		if err != nil {
			return err
		}
		from = m.Sequence + 1
	}
}

func (s *Sites) diverged(m *bus.Message) (*Diverged, error) {
	from, err := s.names.ParseDiverged(m.Subject)
	if err != nil {
		return nil, err
	}
	at, err := time.Parse(time.RFC3339Nano, m.Header.Get(headerDivergedTime))
	return &Diverged{DivergedFrom: from, Time: at, Number: m.Sequence, Data: m.Data}, err
}
