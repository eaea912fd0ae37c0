package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
)

// The headings of the commands in the help.
const (
	groupAll = "all"
	groupOne = "one"
	groupUse = "use"
)

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "carillon",
		Short: "A distributed, durable scheduler on NATS JetStream",
		Long: `Carillon starts actions on calendars, intervals and cron expressions, exactly as
many times as they are due, across crashes. NATS JetStream is its only
dependency, and "carillon server" brings its own.`,
		Example: `  carillon server --demo                 everything in one process, with examples
  carillon schedule create tick --every 5s --type noop
  carillon schedule describe tick
  carillon worker --nats nats://n1:4222  one more worker for an existing cluster`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: a.applySettings,
	}
	root.SetIn(a.env.Stdin)
	root.SetOut(a.env.Stdout)
	root.SetErr(a.env.Stderr)
	root.AddGroup(
		&cobra.Group{ID: groupAll, Title: "Run everything:"},
		&cobra.Group{ID: groupOne, Title: "Run one role on an existing NATS cluster:"},
		&cobra.Group{ID: groupUse, Title: "Use:"},
	)
	root.SetCompletionCommandGroupID(groupUse)
	a.global.define(root)
	root.AddCommand(inGroup(groupAll, a.serverCommand())...)
	root.AddCommand(inGroup(groupOne, a.roleCommands()...)...)
	root.AddCommand(inGroup(groupUse,
		a.scheduleCommand(), a.calendarCommand(), a.bulkCommand(), a.runCommand(), a.workflowCommand(), a.specCommand(), a.namespaceCommand(),
		a.versionCommand(),
	)...)
	root.AddCommand(inGroup(groupUse, a.archiveCommand(), a.importCommand(), a.dlqCommand())...)
	root.AddCommand(append(a.chaosHelpers(), inGroup(groupUse, a.chaosCommand())...)...)
	root.AddCommand(inGroup(groupUse, a.clusterCommand(), a.siteCommand())...)
	root.AddCommand(append([]*cobra.Command{a.benchHelper(), a.benchWorker()}, inGroup(groupUse, a.benchCommand())...)...)
	root.AddCommand(exitCodesTopic())
	makeParent(root)
	a.completeIDs(root)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(printHelp)
	markRunErrors(root)
	return root
}

// applySettings completes the flags from the environment and the configuration file, before any command runs.
func (a *app) applySettings(cmd *cobra.Command, _ []string) error {
	if err := flagconf.Apply(cmd, flagconf.Sources{LookupEnv: a.env.LookupEnv, ReadFile: a.env.ReadFile}); err != nil {
		return err
	}
	a.global.settle(cmd.Flags())
	a.env.Color = a.env.Color && !a.global.noColor
	if err := a.global.check(); err != nil {
		return err
	}
	return a.useZones()
}

func inGroup(id string, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.GroupID = id
	}
	return commands
}

// makeParent defines what a command that only groups others does. On its own it prints its help. For an unknown subcommand it returns an
// error.
func makeParent(cmd *cobra.Command) {
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var known []string
		for _, child := range cmd.Commands() {
			if child.IsAvailableCommand() {
				known = append(known, child.Name())
			}
		}
		err := fmt.Errorf("unknown command %q%s", args[0], flagconf.Suggest(args[0], known, ""))
		return withHint(err, "%s --help lists the commands", cmd.CommandPath())
	}
}

// exactly returns a check that a command gets the positional arguments with the given names; its Use line names them too.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return withHint(fmt.Errorf("%s is missing", names[len(args)]), "usage: %s", cmd.UseLine())
		case len(args) > len(names):
			return withHint(fmt.Errorf("unexpected argument %q", args[len(names)]), "usage: %s", cmd.UseLine())
		}
		return nil
	}
}
