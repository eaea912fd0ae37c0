package cli

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// clientTimeout bounds how long a client command waits for its connection.
const clientTimeout = 3 * time.Second

func (a *app) scheduleCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schedule",
		Short: "Create, show and control schedules",
		Long: `Creates, shows and controls schedules. Without --nats these commands talk to the
server that "carillon server" runs on this machine.`,
		Example: `  carillon schedule create tick --every 5s --type noop
  carillon schedule list
  carillon schedule pause tick --note "maintenance until Friday"`,
	}
	makeParent(cmd)
	cmd.AddCommand(
		a.createCommand(), a.updateCommand(), a.editCommand(), a.patchCommand(), a.describeCommand(), a.listCommand(),
		a.pauseCommand(), a.unpauseCommand(), a.triggerCommand(), a.deleteCommand(),
		a.backfillCommand(), a.cancelBackfillCommand(), a.skipCommand(), a.unskipCommand(),
		a.historyCommand(), a.watchCommand(), a.nextCommand(), a.countCommand(), a.auditCommand(),
		a.applyCommand(), a.diffCommand(), a.exportCommand(),
	)
	return cmd
}

// callAPI connects, makes a call and closes the connection.
func (a *app) callAPI(ctx context.Context, id string, call func(context.Context, *client.Client) error) error {
	conn, err := a.connectClient()
	if err != nil {
		return err
	}
	defer conn.Close()
	api, err := a.newClient(conn)
	if err != nil {
		return err
	}
	return a.explain(ctx, api, id, call(ctx, api))
}

func (a *app) newClient(conn *nats.Conn) (*client.Client, error) {
	return client.New(conn, client.Config{
		Namespace: a.global.namespace, Prefix: a.global.prefix, Identity: a.identity(), Refusals: &a.refusals,
	})
}

// fieldToken is the field name in an error about a schedule that has changed since it was described.
const fieldToken = "conflictToken"

// fieldOf returns the field that an API error names.
func fieldOf(err error) string {
	var refused *schedule.Error
	if !errors.As(err, &refused) {
		return ""
	}
	return refused.Field
}

func (a *app) describeCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "describe ID [flags]",
		Short: "Show a schedule, its next times and its recent actions",
		Example: `  carillon schedule describe tick
  carillon schedule describe tick -o json | jq .info.actionCount`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.callAPI(cmd.Context(), args[0], func(ctx context.Context, api *client.Client) error {
				d, err := api.Describe(ctx, args[0])
				if err != nil {
					return err
				}
				return a.print(output, d, func(w io.Writer) error { return render.Describe(w, &d, a.view()) })
			})
		},
	}
	output.define(cmd)
	return cmd
}
