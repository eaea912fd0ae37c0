package cli

import (
	"context"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) namespaceFreezeCommand() *cobra.Command {
	var request schedule.FreezeNamespaceRequest
	var settings binder
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "freeze NAME --reason TEXT [flags]",
		Short: "Stop the automatic actions of a namespace",
		Long: `Stops the automatic actions of all schedules of a namespace, as if each were paused.
Runs in progress go on, and what people trigger and backfill starts all the same.
What is due meanwhile is not made up for.`,
		Example: `  carillon namespace freeze billing --reason "year-end closing" --for 2h
  carillon namespace freeze billing --reason "see ticket 4711"`,
		Args: exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settings.apply(); err != nil {
				return err
			}
			if request.Reason == "" {
				return withHint(usagef("--reason is missing: say why nothing is to start"), "usage: %s", cmd.UseLine())
			}
			if err := request.Validate(); err != nil {
				return err
			}
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				d, err := api.FreezeNamespace(ctx, args[0], request)
				if err != nil {
					return explainNamespace(err, args[0])
				}
				return a.printNamespace(output, &d)
			})
		},
	}
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		settings.flags = flags
		settings.string("reason", "`TEXT` that says why", &request.Reason)
		settings.duration("for", "end the freeze after `DURATION`, such as 2h", &request.For)
		parsed(&settings, "until", "end the freeze at `TIME`", &request.Until, timeParser(a.env.Now))
	})
	output.define(cmd)
	return cmd
}

func (a *app) namespaceUnfreezeCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "unfreeze NAME [flags]",
		Short: "Let the automatic actions of a namespace go on",
		Long: `Lets the automatic actions of a namespace go on. What was due while it was frozen is
not made up for.`,
		Example: "  carillon namespace unfreeze billing",
		Args:    exactly("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), "", func(ctx context.Context, api *client.Client) error {
				d, err := api.UnfreezeNamespace(ctx, args[0])
				if err != nil {
					return explainNamespace(err, args[0])
				}
				return a.printNamespace(output, &d)
			})
		},
	}
	output.define(cmd)
	return cmd
}
