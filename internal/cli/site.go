package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/replication"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) siteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Let an installation live at two sites, and move it between them",
		Long: `Lets an installation live at two sites: two NATS clusters, connected by leaf nodes, each
with a JetStream domain of its own. It is active at one of them; the other one has
mirrors of its streams and can take over. Each command talks to the NATS cluster
of the site that it is about. docs/sites.md says how to connect two clusters.`,
		Example: `  carillon site link west --context east
  carillon site link east --standby --context west
  carillon site status
  carillon site handover --context east
  carillon site failover --context west`,
	}
	makeParent(cmd)
	cmd.AddCommand(
		a.siteLinkCommand(), a.siteUnlinkCommand(), a.siteStatusCommand(), a.siteHandoverCommand(), a.siteFailoverCommand(),
		a.siteDivergedCommand(),
	)
	return cmd
}

// callSites connects to NATS and makes a call about the sites of the installation.
func (a *app) callSites(ctx context.Context, call func(context.Context, *replication.Sites) error) error {
	conn, js, err := a.connectOwner()
	if err != nil {
		return err
	}
	defer conn.Close()
	return call(ctx, replication.NewSites(js, a.global.names, a.env.Now))
}

func (a *app) siteLinkCommand() *cobra.Command {
	var standby bool
	cmd := &cobra.Command{
		Use:   "link SITE [flags]",
		Short: "Link this site with the one whose JetStream domain is SITE",
		Long: `Links this site with the one whose JetStream domain is SITE. Without --standby, there
is an installation here, and it stays active here. With --standby, this site must have
none with the same prefix, and becomes the standby of SITE, where the same command
without --standby must have come first. The mirrors are made by the processes with
the role replication.`,
		Example: `  carillon site link west --context east
  carillon site link east --standby --context west`,
		Args: exactly("SITE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callSites(cmd.Context(), func(ctx context.Context, sites *replication.Sites) error {
				link := sites.Link
				if standby {
					link = sites.Join
				}
				record, err := link(ctx, args[0])
				if err != nil {
					return err
				}
				return a.say("%s, linked with %s", record, record.Peer)
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.BoolVar(&standby, "standby", false, "be the standby of SITE")
	})
	return cmd
}

func (a *app) siteUnlinkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "unlink [flags]",
		Short: "Let the installation live at one site again",
		Long: `Lets the installation live at one site again. At the standby, it removes the mirrors;
at the active site, it only forgets the other one. Unlink the standby first.`,
		Example: "  carillon site unlink --context west\n  carillon site unlink --context east",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callSites(cmd.Context(), func(ctx context.Context, sites *replication.Sites) error {
				record, err := sites.Unlink(ctx)
				if err != nil {
					return err
				}
				return a.say("%s is no longer linked with %s", record.Site, record.Peer)
			})
		},
	}
}

func (a *app) siteStatusCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "status [flags]",
		Short: "Show where the installation is active, and how far the standby is",
		Long: `Shows the state of both sites, how many entries the standby lacks, and how many
diverged messages this site keeps.`,
		Example: "  carillon site status\n  carillon site status -o json",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callSites(cmd.Context(), func(ctx context.Context, sites *replication.Sites) error {
				look, err := sites.Look(ctx)
				if err != nil {
					return err
				}
				return a.print(output, look, func(w io.Writer) error { return writeLook(w, &look, a.env.Now()) })
			})
		},
	}
	output.define(cmd)
	return cmd
}

func writeLook(w io.Writer, look *replication.Look, now time.Time) error {
	if look.Here == nil {
		_, err := fmt.Fprintln(w, "the installation has only one site")
		return err
	}
	rows := [][]string{{"SITE", "STATE", "TERM", "SINCE", "NOTE"}, siteRow(look.Here, now)}
	if look.There != nil {
		rows = append(rows, siteRow(look.There, now))
	} else {
		rows = append(rows, []string{look.Here.Peer, "does not answer", "", "", ""})
	}
	if err := render.Table(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, strings.Join(lookText(look), "\n"))
	return err
}

func siteRow(record *site.Record, now time.Time) []string {
	note := record.Problem
	if record.Forced {
		note = strings.TrimPrefix(note+"; by force", "; ")
	}
	return []string{record.Site, string(record.State), strconv.FormatUint(record.Term, 10), render.Relative(record.Since, now), note}
}

// lookText says how far the standby is, and what is wrong.
func lookText(look *replication.Look) (lines []string) {
	behind := uint64(0)
	for _, entries := range look.Behind {
		behind += entries
	}
	switch {
	case len(look.Missing) > 0:
		lines = append(lines, "the standby has no mirror yet of "+strings.Join(look.Missing, ", "))
	case look.Behind == nil:
		lines = append(lines, "how far the standby is, is not known")
	case behind == 0 && !hadEverything(look):
		lines = append(lines, "the standby lacks no entry, and has yet to note it: until then, it is given no handover, and a failover needs --force")
	case behind == 0:
		lines = append(lines, "the standby has everything")
	default:
		lines = append(lines, fmt.Sprintf("the standby lacks %s", counted(behind, "entry", "entries")))
	}
	if len(look.Ahead) > 0 {
		lines = append(lines, "the active site has lost entries that the standby has, of "+strings.Join(look.Ahead, ", "))
	}
	if look.Diverged > 0 {
		lines = append(lines, fmt.Sprintf("%s here: carillon site diverged lists them", counted(look.Diverged, "diverged message", "diverged messages")))
	}
	return lines
}

// hadEverything reports whether the site that is the standby knows that it has had everything.
func hadEverything(look *replication.Look) bool {
	if look.Here.State == site.Standby {
		return look.Here.Complete
	}
	return look.There.Complete
}

func counted(n uint64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatUint(n, 10) + " " + many
}

// becomeStandby makes this site the standby of another one, unless it is linked already. It waits for the other one to answer, until ctx ends.
func (a *app) becomeStandby(ctx context.Context, log *slog.Logger, conn *roles.Connection, of string) error {
	if of == "" {
		return nil
	}
	js, err := jetstream.New(conn.Conn)
	if err != nil {
		return err
	}
	sites := replication.NewSites(js, a.global.names, a.env.Now)
	for told := false; ; _ = sleep.For(ctx, time.Second) {
		look, err := sites.Look(ctx)
		if err == nil && look.Here != nil {
			if look.Here.Peer != of {
				return usagef("--standby-of: this site is linked with %q already, not with %q", look.Here.Peer, of)
			}
			return nil
		}
		if err == nil {
			_, err = sites.Join(ctx, of)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case schedule.CodeOf(err) == schedule.CodeFailedPrecondition || errors.As(err, new(*usageError)):
			return err
		case !told:
			told = true
			log.WarnContext(ctx, "waiting for the other site", "site", of, "error", err)
		}
	}
}

// say writes a line.
func (a *app) say(format string, values ...any) error {
	_, err := fmt.Fprintf(a.env.Stdout, format+"\n", values...)
	return err
}
