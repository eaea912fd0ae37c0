package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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

// imported is an entry of another tool that became a schedule, or could not.
type imported struct {
	manifest
	// from says where it stood, notes what was not carried over.
	from  string
	notes []string
	// problem says why the entry is left out. The schedule means nothing then.
	problem error
	// hostZone says that the other tool reads the times in the zone of its host; hostDST is what it does there when the
	// clocks change.
	hostZone bool
	hostDST  schedule.DST
}

// note adds something that was not carried over.
func (s *imported) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// importFlags are those of every import.
type importFlags struct {
	prefix    string
	taskQueue string
	zone      string
}

func (f *importFlags) define(cmd *cobra.Command) {
	addFlags(cmd, "Schedules", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.prefix, "id-prefix", "", "begin the IDs of the schedules with `TEXT`")
		flags.StringVar(&f.taskQueue, "task-queue", defaultTaskQueue, "let workers of `QUEUE` run the actions where the source does not say")
		flags.StringVar(&f.zone, "time-zone", "", "read the times in `ZONE` where the source does not say, such as Europe/Berlin; UTC if not given")
	})
}

func (f *importFlags) check() error {
	if _, err := schedule.LoadZone(f.zone); err != nil {
		return usagef("--time-zone: %w", err)
	}
	return nil
}

// complete adds what the flags say to a schedule, and what follows from that.
func (f *importFlags) complete(s *imported) {
	s.Action.TaskQueue = cmp.Or(s.Action.TaskQueue, f.taskQueue)
	if s.Spec.TimeZone != "" || hasOwnZone(s.Spec.Cron) {
		return
	}
	s.Spec.TimeZone = f.zone
	if f.zone != "" && s.hostZone {
		s.Spec.DST = s.hostDST
	}
}

func hasOwnZone(expressions []string) bool {
	for _, e := range expressions {
		if strings.HasPrefix(e, "CRON_TZ=") || strings.HasPrefix(e, "TZ=") {
			return true
		}
	}
	return false
}
