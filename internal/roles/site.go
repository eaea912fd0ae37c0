package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

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
		here := siteOf{log: log, health: health, js: js, store: site.NewStore(js, names), run: run}
		return here.follow(ctx)
	}}
}

// siteOf is what the roles of a process know of their site.
type siteOf struct {
	log    *slog.Logger
	health *probe.Health
	js     jetstream.JetStream
	store  site.Store
	run    RunAtSite
	// told is what the log has last said about the site.
	told string
	// held is what the roles were last found to wait for.
	held string
	// sure means that the site is not known to have been out of sight since the other one was asked.
	sure bool
}

func (s *siteOf) follow(ctx context.Context) error {
	s.health.AllWait("JetStream to answer")
	if err := topology.Await(ctx, s.js); err != nil {
		return err
	}
	for ctx.Err() == nil {
		record, _, err := s.store.Await(ctx)
		if err != nil {
			break
		}
		if s.held = s.waits(ctx, record); s.held != "" {
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
			s.health.Again("the roles to begin again")
		case errors.Is(err, topology.ErrElsewhere), errors.Is(err, errNoMirrors):
			s.health.Again("the site to be active or a standby: " + err.Error())
			_ = sleep.For(ctx, lookAtSite)
		default:
			return err
		}
	}
	return nil
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

// askTimeout is how long a site that begins to work waits for an answer of the other one. NATS servers that have just begun need some seconds to connect.
const askTimeout = 10 * time.Second

// displaced asks the other site of an active one what it has done, unless that is known.
func (s *siteOf) displaced(ctx context.Context, own *site.Record) string {
	if s.sure || own == nil {
		s.sure = true
		return ""
	}
	if s.held == "" {
		s.health.AllWait("the site " + own.Peer + " to say whether it has taken over")
	}
	asked, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	peer, err := s.store.Ask(asked, own.Peer)
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "the other site does not say whether it has taken over: the installation goes on here", "site", own.Site, "other", own.Peer)
	}
	if text := own.Displaced(peer); text != "" {
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
		err := s.store.Follow(ctx, record, func(record *site.Record) {
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
	s.sure = !errors.Is(cause, site.ErrAway)
	// A start that was broken off says anything. A role that is late can do no harm: the streams take nothing from it.
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
