package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/importer/cronjob"
	"github.com/carillon-scheduler/carillon/internal/importer/crontab"
	"github.com/carillon-scheduler/carillon/internal/importer/temporal"
	"github.com/carillon-scheduler/carillon/schedule"
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

func (a *app) importCronJobCommand() *cobra.Command {
	var flags importFlags
	var actionType string
	cmd := &cobra.Command{
		Use:   "k8s-cronjob FILE [flags]",
		Short: "Turn CronJobs of Kubernetes into schedules",
		Long: `Turns CronJobs of Kubernetes, single or in a list, into schedules. Their action has
the job template as its input: a worker of yours that has a handler for the type
of --type makes the Job of it.

The file is read as Kubernetes reads it: YAML or JSON, with octal numbers such as
0644; and the cron expression by the parser that Kubernetes has. One that means
something else to Carillon is written in other words, which is said in a note.
Schedule, time zone, concurrency policy, starting deadline and whether it is suspended
are carried over. A starting deadline below 10s, 0 included, is raised to 10s. A
CronJob without one makes up for one missed start, however old within 365 days, as the
schedule does. Everything that is no CronJob is left out.

Where the clocks change, a schedule is due at every time that the clock on the wall
shows, twice where it shows it twice. Kubernetes leaves out a day that has no midnight,
and starts at other times where the clocks move by half an hour. A note says where that
matters within the next two years.`,
		Example: "  kubectl get cronjobs -A -o yaml | carillon import k8s-cronjob - --type kubernetes_job",
		Args:    exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			all := cronjob.Parse(data, actionType)
			cronjob.NoteClockChanges(all, flags.Zone, a.env.Now())
			return a.writeImported(&flags, all)
		},
	}
	flags.define(cmd)
	addFlags(cmd, "CronJobs", func(f *pflag.FlagSet) {
		f.StringVar(&actionType, "type", "kubernetes_job", "give the actions `TYPE`")
	})
	return cmd
}

func (a *app) importTemporalCommand() *cobra.Command {
	var flags importFlags
	kind := string(schedule.ActionWorkflow)
	cmd := &cobra.Command{
		Use:   "temporal-json FILE [flags]",
		Short: "Turn schedules of Temporal into schedules",
		Long: `Turns schedules of Temporal, as its command line prints them with "-o json", into
schedules: what "temporal schedule describe" says of one, or several such texts after
one another. Times, zone, jitter, workflow type, ID, task queue, input, memo, search
attributes, timeouts, policies, notes and whether it is paused are carried over.

The schedules start the same workflows, on the same workers. With --as run they start
runs instead, for workers of Carillon's own protocol: such a worker needs a handler
for the workflow type, whose input is the one argument, or a list of several. Only
those have retries.

"describe" does not say the ID of the schedule: it is taken from a field scheduleId
that you add, from the name of the file, or from the workflow. What "temporal schedule
list" prints can be read as well, and says neither task queue nor input.

A cron expression in which both day fields are restricted means days that match both
to Temporal, and either to Carillon: it becomes a calendar that keeps the meaning.`,
		Example: `  temporal schedule describe -s nightly -o json > nightly.json
  carillon import temporal-json nightly.json > nightly.yaml
  for id in $(temporal schedule list -o json | jq -r '.[].scheduleId'); do
      temporal schedule describe -s "$id" -o json | jq --arg id "$id" '. + {scheduleId: $id}'
  done | carillon import temporal-json - | carillon schedule apply --yes --file -`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			all, err := temporal.Parse(data, idOfFile(args[0]), schedule.ActionKind(kind))
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return a.writeImported(&flags, all)
		},
	}
	flags.define(cmd)
	addFlags(cmd, "Temporal", func(f *pflag.FlagSet) {
		f.Var(flagconf.NewEnum(&kind, string(schedule.ActionWorkflow), string(schedule.ActionRun)), "as",
			"let the schedules start this `KIND` of thing: workflow run")
	})
	return cmd
}

// idOfFile returns the ID that the name of a file suggests; it is empty for standard input.
func idOfFile(path string) string {
	if path == "-" {
		return ""
	}
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
