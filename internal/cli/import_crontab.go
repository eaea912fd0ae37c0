package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/importer/crontab"
)

func (a *app) importCrontabCommand() *cobra.Command {
	var flags importFlags
	var system bool
	cmd := &cobra.Command{
		Use:   "crontab FILE [flags]",
		Short: "Turn a crontab into schedules",
		Long: `Turns the lines of a crontab into schedules with the built-in action exec. It runs
the commands by a shell, as cron does: give the worker "--exec /bin/sh" if that
is what you want, or write the commands of the file as programs and arguments.

The file is read as cronie reads it. CRON_TZ and SHELL are carried over, and
RANDOM_DELAY and a minute such as 0~59 become a jitter. Other variables, TZ among
them, concern the command and not the times: they are pointed out, as is the user of a
system crontab. What has no time, such as @reboot, is left out.

As with cron, a run does not wait for the one before. With --time-zone, times that the
change of the clock skips or repeats are treated as cron does in the zone of its host;
with CRON_TZ they never come, or come twice, as they do there. What cron misses while
it is down is made up for within the catch-up window, an hour here; change it in the
file.`,
		Example: `  crontab -l | carillon import crontab - --time-zone Europe/Berlin
  carillon import crontab /etc/crontab --system`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return a.writeImported(&flags, crontab.Parse(string(data), system))
		},
	}
	flags.define(cmd)
	addFlags(cmd, "Crontab", func(f *pflag.FlagSet) {
		f.BoolVar(&system, "system", false, "the sixth field is a user, as in /etc/crontab and /etc/cron.d")
	})
	return cmd
}
