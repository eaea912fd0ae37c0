package cli

import (
	"cmp"
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// completionTime bounds how long a person who presses the tab key waits.
	completionTime = time.Second
	// completions is the greatest number of IDs offered.
	completions = 100
)

// takesID matches the usage of a command whose first argument is the ID of an existing schedule.
var takesID = regexp.MustCompile(`^\S+ (ID|\[ID)`)

// takesRun matches the usage of a command whose second argument is a run of that schedule.
var takesRun = regexp.MustCompile(`^\S+ ID RUN`)

// completeIDs lets the shell complete the IDs of schedules.
func (a *app) completeIDs(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		a.completeIDs(child)
	}
	if takesID.MatchString(cmd.Use) && cmd.Name() != "create" {
		cmd.ValidArgsFunction = a.idsFor
	}
}

// idsFor completes the arguments of a command.
//
//  1. First argument: the schedules whose ID begins with the typed text, with their times as descriptions.
//  2. Second argument, if the command takes a run: the newest runs of that schedule.
//
// If the server is missing or slow, it offers nothing.
func (a *app) idsFor(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	offer := scheduleIDs
	switch {
	case len(args) == 1 && takesRun.MatchString(cmd.Use):
		offer = runIDs(args[0])
	case len(args) > 0:
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if a.applySettings(cmd, args) != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
	defer cancel()
	var ids []string
	err := a.callAPI(ctx, "", func(ctx context.Context, api *client.Client) (err error) {
		ids, err = offer(ctx, api, typed)
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func scheduleIDs(ctx context.Context, api *client.Client, typed string) ([]string, error) {
	page, err := api.List(ctx, schedule.ListRequest{PageSize: completions, Prefix: typed})
	var ids []string
	for i := range page.Schedules {
		ids = append(ids, page.Schedules[i].ID+"\t"+render.Spec(page.Schedules[i].Spec))
	}
	return ids, err
}

// runIDs returns a function that lists the newest runs of a schedule.
func runIDs(id string) func(context.Context, *client.Client, string) ([]string, error) {
	return func(ctx context.Context, api *client.Client, typed string) ([]string, error) {
		reply, err := api.Runs(ctx, schedule.RunsRequest{ID: id})
		var ids []string
		for i := range reply.Runs {
			if run := &reply.Runs[i]; strings.HasPrefix(run.WorkflowID, typed) {
				ids = append(ids, run.WorkflowID+"\t"+cmp.Or(string(run.Status), "running"))
			}
		}
		return ids, err
	}
}
