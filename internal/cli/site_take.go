package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/replication"
)

const (
	// handoverWithin is how long a handover may take until the streams are fenced.
	handoverWithin = time.Minute
	// takeoverPatience is how long a takeover is watched beyond that.
	takeoverPatience = 10 * time.Minute
)

func (a *app) siteHandoverCommand() *cobra.Command {
	within := handoverWithin
	cmd := &cobra.Command{
		Use:   "handover [flags]",
		Short: "Let the standby take over, without losing or doubling anything",
		Long: `Lets the standby take over, without losing or doubling anything. Run it at the active
site. Workers get no new runs, and those that they hold end; the roles stop; the
streams take nothing any more; and the standby, as soon as it has everything, goes
on. If the runs do not end within the time, the site goes on as before.`,
		Example: "  carillon site handover --context east\n  carillon site handover --within 10m",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if within <= 0 {
				return usagef("--within: %s is not more than 0s", within)
			}
			return a.takeOver(cmd.Context(), within, func(ctx context.Context, sites *replication.Sites, progress func(here, there *site.Record)) error {
				return sites.Handover(ctx, within, progress)
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.DurationVar(&within, "within", handoverWithin, "give up if runs in progress, and processes, have not ended after `DURATION`")
	})
	return cmd
}

func (a *app) siteFailoverCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "failover [flags]",
		Short: "Take over from a site that is lost",
		Long: `Takes over from a site that is lost. Run it at the standby. What the standby does not
have is lost, or kept at the other site until somebody looks at it: carillon site
status and the metric carillon_replication_lag_seconds say how much that is. Runs that were in
progress count as lost. While the other site is active and answers, the command
refuses; with --force, what it takes from then on is kept there, and not here.`,
		Example: "  carillon site failover --context west",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.takeOver(cmd.Context(), 0, func(ctx context.Context, sites *replication.Sites, progress func(here, there *site.Record)) error {
				return sites.Failover(ctx, force, progress)
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.BoolVar(&force, "force", false, "take over even if the other site is active and answers")
	})
	return cmd
}

// takeOver makes a takeover and shows how it goes on.
func (a *app) takeOver(
	ctx context.Context, within time.Duration, take func(context.Context, *replication.Sites, func(here, there *site.Record)) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, within+takeoverPatience)
	defer cancel()
	began := a.env.Now()
	return a.callSites(ctx, func(ctx context.Context, sites *replication.Sites) error {
		var failure error
		err := take(ctx, sites, func(here, there *site.Record) {
			other := here.Peer + ": does not answer"
			if there != nil {
				other = there.String()
			}
			if failure == nil {
				failure = a.say("%s; %s", here, other)
			}
		})
		if err != nil || failure != nil {
			return cmp.Or(err, failure)
		}
		return a.say("done, %s after the command", a.env.Now().Sub(began).Round(100*time.Millisecond))
	})
}

func (a *app) siteDivergedCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "diverged [flags]",
		Short: "List what this site had and the other one did not have when that took over",
		Long: `Lists the messages that this site had stored, and that the other one did not have when
it took over by force: changes, events of workflows, and completions. They take no effect
any more. They are in the stream of diverged messages until somebody removes it. With
-o json, one line of JSON each, with the data in base64.`,
		Example: "  carillon site diverged --context east\n  carillon site diverged -o json > diverged.json",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.callSites(cmd.Context(), func(ctx context.Context, sites *replication.Sites) error {
				all := []replication.Diverged{}
				err := sites.EachDiverged(ctx, 0, func(d *replication.Diverged) error {
					all = append(all, *d)
					return nil
				})
				if err != nil {
					return err
				}
				return a.print(output, all, func(w io.Writer) error { return writeDiverged(w, all) })
			})
		},
	}
	output.define(cmd)
	return cmd
}

func writeDiverged(w io.Writer, all []replication.Diverged) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "there are no diverged messages")
		return err
	}
	rows := [][]string{{"NUMBER", "TERM", "STORED", "STREAM", "SEQUENCE", "SUBJECT", "BYTES"}}
	for i := range all {
		d := &all[i]
		rows = append(rows, []string{
			strconv.FormatUint(d.Number, 10), strconv.FormatUint(d.Term, 10), d.Time.Format(time.RFC3339), d.Stream,
			strconv.FormatUint(d.Sequence, 10), render.Printable(d.Subject), strconv.Itoa(len(d.Data)),
		})
	}
	return render.Table(w, rows)
}
