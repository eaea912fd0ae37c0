package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/builtin"
)

// actionOptions are the flags that say what the built-in actions may do.
type actionOptions struct {
	allowPrivate                bool
	programs                    []string
	callbackListen, callbackURL string
}

func (o *actionOptions) define(cmd *cobra.Command) {
	addFlags(cmd, "Built-in actions", func(flags *pflag.FlagSet) {
		flags.BoolVar(&o.allowPrivate, "http-allow-private", false,
			"let the http action reach loopback and private addresses")
		flags.StringArrayVar(&o.programs, "exec", nil,
			"let the exec action run the program of `PATH`, by the last element of the path or as NAME=PATH; repeatable. "+
				"Without it there is no exec action")
		flags.StringVar(&o.callbackListen, "callback-listen", "",
			"receive callbacks of the http action on `ADDRESS`, such as :8080")
		flags.StringVar(&o.callbackURL, "callback-url", "",
			"`URL` by which others reach that address, such as https://worker.example.com/callbacks")
	})
}

// worker returns the configuration of a worker with these actions.
func (o *actionOptions) worker(config worker.Config) (roles.WorkerConfig, error) {
	commands, err := builtin.ParseCommands(o.programs)
	if err != nil {
		return roles.WorkerConfig{}, err
	}
	all := roles.WorkerConfig{
		Config: config, CallbackListen: o.callbackListen,
		Actions: builtin.Config{AllowPrivate: o.allowPrivate, Commands: commands},
	}
	if (o.callbackListen == "") != (o.callbackURL == "") {
		return all, schedule.Invalid("callbackUrl", "--callback-listen and --callback-url go together")
	}
	if o.callbackURL != "" {
		all.Actions.Callbacks, err = builtin.NewCallbacks(o.callbackURL)
	}
	return all, err
}
