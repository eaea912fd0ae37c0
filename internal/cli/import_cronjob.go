package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/importer/cronjob"
)

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
