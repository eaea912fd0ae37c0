package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) importCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Turn the schedules of other tools into files for apply",
		Long: `Reads what another tool runs on a schedule and writes it as YAML for "carillon
schedule apply" to standard output. Nothing is stored, and no server is needed.

What a schedule loses is said in a note above it, and on standard error. An entry that
cannot be carried over at all is left out and named there with the reason; the others
are written, and the exit code is 8 then, or 2 if nothing is left.`,
		Example: `  crontab -l | carillon import crontab - > schedules.yaml
  kubectl get cronjobs -A -o yaml | carillon import k8s-cronjob - | carillon schedule apply --yes --file -
  carillon import temporal-json nightly.json > nightly.yaml`,
	}
	makeParent(cmd)
	cmd.AddCommand(a.importCrontabCommand(), a.importCronJobCommand(), a.importTemporalCommand())
	return cmd
}

// importFlags are those of every import.
type importFlags struct{ importer.Options }

func (f *importFlags) define(cmd *cobra.Command) {
	addFlags(cmd, "Schedules", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.IDPrefix, "id-prefix", "", "begin the IDs of the schedules with `TEXT`")
		flags.StringVar(&f.TaskQueue, "task-queue", defaultTaskQueue, "let workers of `QUEUE` run the actions where the source does not say")
		flags.StringVar(&f.Zone, "time-zone", "", "read the times in `ZONE` where the source does not say, such as Europe/Berlin; UTC if not given")
	})
}

func (f *importFlags) check() error {
	if _, err := schedule.LoadZone(f.Zone); err != nil {
		return usagef("--time-zone: %w", err)
	}
	return nil
}
