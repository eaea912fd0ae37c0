package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

func (a *app) createCommand() *cobra.Command {
	flags := createFlags{env: a.env}
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "create ID [flags]",
		Short: "Create a schedule",
		Long: `Creates a schedule. It is due at the union of all times given; without any it
only runs when triggered.`,
		Example: `  carillon schedule create tick --every 5s --type noop
  carillon schedule create report --cron "0 9 * * mon-fri" --time-zone Europe/Berlin \
      --type monthly_report --task-queue reports --input '{"format": "pdf"}' --overlap buffer_one
  carillon schedule create pay --calendar '{"dayOfMonth": "1", "hour": "6"}' --type pay --catchup-window 2h
  carillon schedule create once --at +10m --type noop
  carillon schedule create greet --every 1h --workflow Greet --task-queue greetings --input '["Ann"]'
  carillon schedule create --file schedule.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if flags.file != "" && len(args) == 0 {
				return nil // the file may name it
			}
			return exactly("ID")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := flags.build(cmd, append(args, "")[0])
			if err != nil {
				return err
			}
			return a.create(cmd.Context(), output, request)
		},
	}
	flags.define(cmd)
	output.define(cmd)
	return cmd
}

func (a *app) create(ctx context.Context, output outputFlag, request schedule.CreateRequest) error {
	if err := request.Validate(); err != nil {
		return err
	}
	return a.callAPI(ctx, request.ID, func(ctx context.Context, api *client.Client) error {
		created, err := api.Create(ctx, request)
		if err != nil {
			return err
		}
		return a.printPlanned(output, "created", created)
	})
}

// printDone prints what was done to a schedule.
func (a *app) printDone(output outputFlag, done string, d schedule.Description) error {
	return a.print(output, d, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s %s: %s%s\n", done, d.ID, render.Spec(d.Spec), a.nextText(d))
		return err
	})
}

// printPlanned prints what was done to a schedule, and warnings about its times and its action.
func (a *app) printPlanned(output outputFlag, done string, d schedule.Description) error {
	if err := a.printDone(output, done, d); err != nil || output.quiet {
		return err
	}
	return render.Warnings(a.env.Stderr, "", d.Info.Warnings)
}

// specWarnings returns warnings about the times of a spec. It does not know which times named calendars remove.
func (a *app) specWarnings(spec schedule.Spec) []schedule.Notice {
	var notices []schedule.Notice
	for _, warning := range prose.Warnings(spec, a.env.Now()) {
		notices = append(notices, warning.Notice())
	}
	return notices
}

// nextText says when a schedule is due next, if that is known yet. The stored next times may be older than a pause.
func (a *app) nextText(d schedule.Description) string {
	if d.State.Paused || len(d.Info.FutureActionTimes) == 0 {
		return ""
	}
	return ", next " + render.Relative(d.Info.FutureActionTimes[0], a.env.Now())
}
