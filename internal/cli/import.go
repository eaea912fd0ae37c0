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
schedule apply" to standard output. Nothing is stored, and no server is needed. What
cannot be carried over is said in a comment above the schedule, and on standard
error.`,
		Example: `  crontab -l | carillon import crontab - > schedules.yaml
  kubectl get cronjobs -A -o yaml | carillon import k8s-cronjob - | carillon schedule apply --yes --file -
  carillon import temporal-json nightly.json > nightly.yaml`,
	}
	makeParent(cmd)
	cmd.AddCommand(a.importCrontabCommand(), a.importCronJobCommand(), a.importTemporalCommand())
	return cmd
}

// imported is a schedule that was read from another tool.
type imported struct {
	manifest
	// from says where it stood, notes what was not carried over.
	from  string
	notes []string
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

// writeImported prints schedules, after it has checked that they can be applied.
func (a *app) writeImported(flags *importFlags, all []imported) error {
	known := map[string]int{}
	for i := range all {
		s := &all[i]
		s.ID = flags.prefix + s.ID
		if known[s.ID]++; known[s.ID] > 1 {
			s.ID = fmt.Sprintf("%s-%d", s.ID, known[s.ID])
		}
		s.Action.TaskQueue = cmp.Or(s.Action.TaskQueue, flags.taskQueue)
		if s.Spec.TimeZone == "" && !hasOwnZone(s.Spec.Cron) {
			s.Spec.TimeZone = flags.zone
		}
		if err := s.validate(); err != nil {
			return fmt.Errorf("%s: %w", s.from, err)
		}
		text, err := schedule.EncodeYAML(s.manifest)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.env.Stdout, "---\n# %s\n%s%s", comment(s.from), noteLines(s.notes), text)
		if err != nil {
			return err
		}
		for _, note := range s.notes {
			_, _ = fmt.Fprintf(a.env.Stderr, "%s: %s: %s\n", s.from, s.ID, note)
		}
	}
	return nil
}

func hasOwnZone(expressions []string) bool {
	for _, e := range expressions {
		if strings.HasPrefix(e, "CRON_TZ=") || strings.HasPrefix(e, "TZ=") {
			return true
		}
	}
	return false
}

func noteLines(notes []string) string {
	var text strings.Builder
	for _, note := range notes {
		text.WriteString("# note: " + comment(note) + "\n")
	}
	return text.String()
}

// comment makes a text fit on one line.
func comment(text string) string { return strings.Join(strings.Fields(text), " ") }

// slug makes an ID of a text: lower-case words joined by dashes.
func slug(text string) string {
	var id strings.Builder
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '.':
			id.WriteRune(r)
		case id.Len() > 0 && !strings.HasSuffix(id.String(), "-"):
			id.WriteByte('-')
		}
	}
	const longest = 60
	return strings.Trim(id.String()[:min(id.Len(), longest)], "-.")
}
