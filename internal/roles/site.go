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
// standby. When one of these ends, it ends the context of run, waits for it to return, and calls it again for what the site is by then. The role ends
// as run does otherwise. Health says meanwhile what the roles wait for, and which of them do not run at a standby.
func AtSite(log *slog.Logger, health *probe.Health, conn *Connection, names subjects.Names, run RunAtSite) Role {
	return Role{Name: siteRoles, Run: func(ctx context.Context) error { return atSite(ctx, log, health, conn, names, run) }}
}

func atSite(ctx context.Context, log *slog.Logger, health *probe.Health, conn *Connection, names subjects.Names, run RunAtSite) error {
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return fmt.Errorf("connect to JetStream: %w", err)
	}
	store, told := site.NewStore(js, names), ""
	for ctx.Err() == nil {
		// What cannot be read yet does not matter: run refuses to touch the streams of another site.
		record, _, err := store.Load(ctx)
		elsewhere := record.Elsewhere()
		if err == nil && !record.Works() {
			if text := record.String(); text != told {
				told = text
				log.InfoContext(ctx, "the installation is not active at this site", "site", record.Site, "state", record.State, "term", record.Term)
			}
			health.Again(fmt.Sprintf("the site %s to be active or a standby: it is %s", record.Site, record.State))
			if elsewhere == nil {
				_ = sleep.For(ctx, lookAtSite)
				continue
			}
			health.Rest("the installation is active at the site "+elsewhere.Active, readers...)
		}
		switch err := whileFits(ctx, log, store, elsewhere, run); {
		case errors.Is(err, errChanged):
			health.Again("the roles to begin again")
		case errors.Is(err, topology.ErrElsewhere), errors.Is(err, errNoMirrors):
			health.Again("the site to be active or a standby: " + err.Error())
			_ = sleep.For(ctx, lookAtSite)
		default:
			return err
		}
	}
	return nil
}

// errChanged is why the roles of a process stop although the process does not.
var errChanged = errors.New("the site has another state")

// whileFits calls run, and ends its context when the site is no longer what run was called for. Then it returns errChanged, whatever run says.
func whileFits(ctx context.Context, log *slog.Logger, store site.Store, elsewhere *site.Elsewhere, run RunAtSite) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var following sync.WaitGroup
	following.Go(func() {
		store.Follow(ctx, func(record *site.Record) {
			if !fits(record, elsewhere) {
				end(errChanged)
			}
		})
	})
	err := run(ctx, elsewhere)
	cause := context.Cause(ctx)
	end(nil)
	following.Wait()
	if !errors.Is(cause, errChanged) {
		return err
	}
	// A start that was broken off says anything. A role that is late can do no harm: the streams take nothing from it.
	if err != nil && !errors.Is(err, context.Canceled) {
		log.WarnContext(ctx, "the roles have not stopped in order for another state of the site", "error", err)
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
