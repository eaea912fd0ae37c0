package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// namespaceDeleteFlags say how to delete a namespace.
type namespaceDeleteFlags struct {
	force, yes, wait bool
	runs             schedule.RunsPolicy
	output           outputFlag
	binder
}

func (a *app) namespaceDeleteCommand() *cobra.Command {
	var flags namespaceDeleteFlags
	cmd := &cobra.Command{
		Use:   "delete NAME [flags]",
		Short: "Delete a namespace",
		Long: `Deletes a namespace that has neither schedules nor executions of workflows, or with
--force one that has, and both with it. It takes no changes from now on; it is gone
some seconds later, or when its last schedule is. Runs that no worker has taken yet are withdrawn from their
task queue, and runs in progress go on; --runs-policy says otherwise.`,
		Example: `  carillon namespace delete trial
  carillon namespace delete trial --force --yes --wait`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.apply(); err != nil {
				return err
			}
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				return a.deleteNamespace(ctx, api, args[0], &flags)
			})
		},
	}
	addFlags(cmd, otherGroup, func(set *pflag.FlagSet) {
		flags.flags = set
		set.BoolVar(&flags.force, "force", false, "delete its schedules and executions as well")
		flags.binder.runs(&flags.runs, schedule.RunsWithdraw, schedule.RunsCancel, schedule.RunsTerminate)
		set.BoolVarP(&flags.yes, "yes", "y", false, "do not ask")
		set.BoolVar(&flags.wait, "wait", false, "wait until it is gone")
	})
	flags.output.define(cmd)
	return cmd
}

func (a *app) deleteNamespace(ctx context.Context, api *client.Client, name string, flags *namespaceDeleteFlags) error {
	d, err := api.DescribeNamespace(ctx, name)
	if err != nil {
		return err
	}
	request := schedule.DeleteNamespaceRequest{Force: flags.force, Runs: flags.runs}
	schedules := d.Info.Usage.Schedules
	if flags.force && !d.Deleting && !flags.yes {
		what := fmt.Sprintf("%s, its %s and all executions of its workflows", name, plural(schedules, "schedule"))
		if !a.canAsk() {
			return usagef("there is nobody to ask whether to delete %s: give --yes to go ahead", what)
		}
		if err := a.ask("Delete " + what + "?"); err != nil {
			return err
		}
	}
	if d, err = api.DeleteNamespace(ctx, name, request); err != nil {
		return explainDeletion(err, name)
	}
	if flags.wait {
		if err := awaitNamespaceGone(ctx, api, name); err != nil {
			return err
		}
	}
	return a.print(flags.output, d, func(w io.Writer) error {
		if flags.wait {
			_, err := fmt.Fprintf(w, "deleted %s\n", name)
			return err
		}
		_, err := fmt.Fprintf(w, "%s is being deleted, with %s: carillon namespace describe %s shows how many are left\n",
			name, plural(schedules, "schedule"), name)
		return err
	})
}

func explainDeletion(err error, name string) error {
	if fieldOf(err) == "force" {
		return withHint(err, "carillon namespace delete %s --force deletes them as well", name)
	}
	return err
}

// awaitNamespaceGone checks repeatedly until a namespace no longer exists.
func awaitNamespaceGone(ctx context.Context, api *client.Client, name string) error {
	const every = 500 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		_, err := api.DescribeNamespace(ctx, name)
		if schedule.CodeOf(err) == schedule.CodeNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return errStopped
		case <-tick.C:
		}
	}
}
