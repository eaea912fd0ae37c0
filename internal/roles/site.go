package roles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
	"github.com/carillon-scheduler/carillon/replication"
	"github.com/carillon-scheduler/carillon/subjects"
)

// lookAtSite is how long a process waits between two looks whether its site is active.
const lookAtSite = time.Second

// siteRoles is the name of the role that runs others. What they say is clear without it.
const siteRoles = "the roles of the site"

// RunAtSite runs the roles of a process at a site until its context ends. elsewhere says where the installation is active, if not here: then only
// roles of [AtStandby] may run, with [Options.Elsewhere].
type RunAtSite func(ctx context.Context, elsewhere *site.Elsewhere) error

// AtSite returns a role that calls run while the installation is active at the site of a connection, or has no other site, and while the site is its
// standby. When one of these ends, it ends the context of run, waits for it to return, and calls it again for what the site is by then. Before it
// calls run for an active site at first, or after NATS was away for long, it asks the other site whether that has taken over; one that does not
// answer has not. The role ends as run does otherwise. Health says meanwhile what the roles wait for, and which of them do not run at a standby.
func AtSite(log *slog.Logger, health *probe.Health, conn *Connection, names subjects.Names, run RunAtSite) Role {
	return Role{Name: siteRoles, Run: func(ctx context.Context) error {
		js, err := jetstream.New(conn.Conn)
		if err != nil {
			return fmt.Errorf("connect to JetStream: %w", err)
		}
		here := siteOf{
			log: log, often: flood.Limit(log), health: health, conn: conn, js: js, store: site.NewStore(js, names), run: run,
			now: time.Now, //permit:time.Now the shell of a process
		}
		return here.follow(ctx)
	}}
}

// siteOf is what the roles of a process know of their site.
type siteOf struct {
	log    *slog.Logger
	often  *slog.Logger // for what may fail again and again
	health *probe.Health
	conn   *Connection
	js     jetstream.JetStream
	store  site.Store
	run    RunAtSite
	now    func() time.Time
	// told is what the log has last said about the site.
	told string
	// held is what the roles were last found to wait for.
	held string
	// sure means that the other site was asked, and that this one was not out of sight since heard.
	sure  bool
	heard time.Time
}

func (s *siteOf) follow(ctx context.Context) error {
	s.health.AllNeed(s.answer)
	if err := topology.Await(ctx, s.js); err != nil {
		return err
	}
	for ctx.Err() == nil {
		record, _, err := s.store.Await(ctx, func(err error) { s.often.WarnContext(ctx, "the record of the site is read again", "error", err) })
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		s.hear()
		s.held = s.waits(ctx, record)
		if ctx.Err() != nil {
			break
		}
		if s.held != "" {
			s.health.Again(s.held)
			_ = sleep.For(ctx, lookAtSite)
			continue
		}
		elsewhere := record.Elsewhere()
		if elsewhere != nil {
			s.health.Rest("the installation is active at the site "+elsewhere.Active, readers...)
		}
		switch err := s.whileFits(ctx, record, elsewhere); {
		case errors.Is(err, errChanged):
			s.health.Again("")
			s.health.AllNeed(s.answer)
		case errors.Is(err, topology.ErrElsewhere), errors.Is(err, errNoMirrors):
			s.health.Again("the site to be active or a standby: " + err.Error())
			_ = sleep.For(ctx, lookAtSite)
		default:
			return err
		}
	}
	return nil
}

// answer says what the roles need before they know what their site is.
func (s *siteOf) answer() string { return cmp.Or(s.conn.Waits(), "JetStream to answer") }

// hear takes note of when the record of the site was read. If that was too long ago, the other site must be asked again.
func (s *siteOf) hear() {
	now := s.now().Round(0)
	s.sure = s.sure && now.Sub(s.heard) <= site.AwayAfter
	s.heard = now
}

// waits says what the roles wait for at a site before they may begin; empty if they may.
func (s *siteOf) waits(ctx context.Context, record *site.Record) string {
	if record.Works() {
		return s.displaced(ctx, record)
	}
	if text := record.String(); text != s.told {
		s.told = text
		s.log.InfoContext(ctx, "the installation is not active at this site", "site", record.Site, "state", record.State, "term", record.Term)
	}
	if s.sure = true; record.Elsewhere() != nil {
		return ""
	}
	return fmt.Sprintf("the site %s to be active or a standby: it is %s", record.Site, record.State)
}

// askFor is how long a site that begins to work waits for an answer of the other one. NATS servers that have just begun need some seconds to connect.
const askFor = 10 * time.Second

// displaced asks the other site of an active one what it has done, unless that is known. What it has said stands while it does not answer.
func (s *siteOf) displaced(ctx context.Context, own *site.Record) string {
	if s.sure || own == nil {
		s.sure = true
		return ""
	}
	if s.held == "" {
		s.health.AllWait("the site " + own.Peer + " to say whether it has taken over")
	}
	asked, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	peer, err := s.store.Ask(asked, own.Peer)
	switch text := own.Displaced(peer); {
	case ctx.Err() != nil:
		return ""
	case err != nil && s.held != "":
		s.often.WarnContext(ctx, "the other site does not answer any longer: what it has said stands", "site", own.Site, "other", own.Peer, "error", err)
		return s.held
	case err != nil:
		s.log.WarnContext(ctx, "the other site does not say whether it has taken over: the installation goes on here", "site", own.Site, "other", own.Peer, "error", err)
	case text != "":
		return "the site " + own.Peer + ", which " + text
	}
	s.sure = true
	return ""
}

// errChanged is why the roles of a process stop although the process does not.
var errChanged = errors.New("the site has another state")

// whileFits calls run, and ends its context when the site is no longer what run was called for, or has been out of sight for too long. Then it
// returns errChanged, whatever run says.
func (s *siteOf) whileFits(ctx context.Context, record *site.Record, elsewhere *site.Elsewhere) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var following sync.WaitGroup
	following.Go(func() {
		err := s.store.Follow(ctx, record, s.now, func(record *site.Record) {
			if !fits(record, elsewhere) {
				end(errChanged)
			}
		})
		if err != nil {
			end(fmt.Errorf("%w: %w", errChanged, err))
		}
	})
	err := s.run(ctx, elsewhere)
	cause := context.Cause(ctx)
	end(nil)
	following.Wait()
	if !errors.Is(cause, errChanged) {
		return err
	}
	if s.sure = !errors.Is(cause, site.ErrAway); s.sure {
		s.heard = s.now().Round(0)
	}
	// A start that was broken off says anything. A role that is late does little harm: when the site has changed, the streams take nothing from it.
	if err != nil && !errors.Is(err, context.Canceled) {
		s.log.WarnContext(ctx, "the roles have not stopped in order for another state of the site", "error", err)
	}
	return errChanged
}

// Replication returns the role that keeps the two sites of an installation together. It needs no installation, and does nothing while there is only one site.
func Replication(conn *Connection, names subjects.Names, log *slog.Logger, version string) (Role, error) {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return Role{}, fmt.Errorf("connect to JetStream: %w", err)
	}
	service, err := replication.New(replication.Config{JS: js, Names: names, Logger: log})
	if err != nil {
		return Role{}, err
	}
	announce := func(ctx context.Context) error {
		self := presence.Self(version, zonedata.Current(), subjects.RoleReplication)
		return presence.Announce(ctx, conn.Conn, names, func() presence.Process { return self })
	}
	return Role{
		Name: subjects.RoleReplication, Run: together(service.Run, announce), Checks: probe.Checks{Waits: service.Waits},
	}, nil
}
