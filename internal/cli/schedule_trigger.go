package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/schedule"
)

// triggerFlags are the flags of schedule trigger.
type triggerFlags struct {
	request schedule.TriggerRequest
	wait    bool
	binder
}

func (a *app) triggerCommand() *cobra.Command {
	var output outputFlag
	var flags triggerFlags
	cmd := &cobra.Command{
		Use:   "trigger ID [flags]",
		Short: "Start one run of a schedule now",
		Long: `Starts one run of a schedule now, paused or not. The overlap policy decides what
happens when another run is in progress. With --wait it shows what becomes of the
run, and fails unless that completes.`,
		Example: `  carillon schedule trigger report
  carillon schedule trigger report --overlap allow_all --note "asked for by finance"
  carillon schedule trigger report --input '{"month": "2026-03"}' --wait`,
		Args: exactly("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			flags.request.ID = args[0]
			if err := flags.apply(); err != nil {
				return err
			}
			return a.trigger(cmd.Context(), output, &flags)
		},
	}
	flags.define(cmd, a.env)
	output.define(cmd)
	return cmd
}

func (f *triggerFlags) define(cmd *cobra.Command, env Env) {
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		f.flags = flags
		request := &f.request
		f.string("note", "`TEXT` for the event history", &request.Note)
		f.overlap(&request.Overlap, "`POLICY` for this run; that of the schedule if not given")
		flags.BoolVar(&f.wait, "wait", false, "wait until the run has ended, and print its result")
	})
	addFlags(cmd, "For this run alone", func(flags *pflag.FlagSet) {
		f.flags = flags
		request := &f.request
		f.input(env, &request.Input, "input in the place of that of the action")
		pairs(&f.binder, "header", "`NAME=TEXT` over the headers of the action; repeatable", &request.Headers, asText)
		parsed(&f.binder, "nominal-time", "`TIME` at which the run counts as due; now if not given", &request.NominalTime, timeParser(env.Now))
		pairs(&f.binder, "memo", "`NAME=JSON` over the memo of the action; repeatable", &request.Memo, parseJSON)
	})
}

func (a *app) trigger(ctx context.Context, output outputFlag, flags *triggerFlags) error {
	if err := flags.request.Validate(); err != nil {
		return err
	}
	return a.callAPI(ctx, flags.request.ID, func(ctx context.Context, api *client.Client) error {
		if flags.wait {
			return a.triggerAndWait(ctx, api, output, flags.request)
		}
		reply, err := api.Trigger(ctx, flags.request)
		if err != nil {
			return err
		}
		return a.print(output, reply, func(w io.Writer) error { return triggered(w, reply) })
	})
}

func triggered(w io.Writer, reply schedule.TriggerReply) error {
	_, err := fmt.Fprintf(w, "triggered %s as %s\n", reply.ID, reply.TriggerID)
	return err
}
