package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/schedule"
)

// watchedOptions are the flags of the commands that run an invoker, which records the metrics of single schedules.
type watchedOptions struct{ schedules []string }

func (o *watchedOptions) define(cmd *cobra.Command) {
	addFlags(cmd, httpGroup, func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&o.schedules, "watch-schedule", nil,
			"give the schedule `NAMESPACE/ID` metrics of its own; repeatable, for 100 schedules at most")
	})
}

// apply lets the named schedules be watched in this process.
func (o *watchedOptions) apply() error {
	if len(o.schedules) == 0 {
		return nil
	}
	keys := make([]schedule.Key, len(o.schedules))
	for i, text := range o.schedules {
		namespace, id, ok := strings.Cut(text, "/")
		keys[i] = schedule.Key{Namespace: namespace, ID: id}
		if !ok {
			return usagef("--watch-schedule: %q is not NAMESPACE/ID, such as %s/%s", text, defaultNamespace, text)
		}
		if err := keys[i].Validate(); err != nil {
			return usagef("--watch-schedule: %q: %w", text, err)
		}
	}
	if len(keys) > metrics.MaxWatched {
		return usagef("--watch-schedule: %d schedules are too many: name %d at most", len(keys), metrics.MaxWatched)
	}
	return metrics.Watch(keys)
}

// invokerCommand runs the invoker on its own.
func (a *app) invokerCommand() *cobra.Command {
	var watched watchedOptions
	cmd := a.poolCommand("invoker", "Run the role that starts what is due", (*roles.Cluster).Invoker)
	watched.define(cmd)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := watched.apply(); err != nil {
			return err
		}
		return run(cmd, args)
	}
	return cmd
}
