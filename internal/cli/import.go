package cli

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

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

// importFlags are the flags that all imports share.
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

// leftOutError names the entries that an import has left out.
type leftOutError struct {
	// problems name each left-out entry with the reason; total counts all entries.
	problems []string
	total    int
}

func (e *leftOutError) Error() string {
	if e.total == 1 {
		return e.problems[0]
	}
	are := "entries are"
	if len(e.problems) == 1 {
		are = "entry is"
	}
	return fmt.Sprintf("%s\n%d %s left out, of %d", strings.Join(e.problems, "\n"), len(e.problems), are, e.total)
}

// writeImported prints the schedules that can be applied, and names the others.
func (a *app) writeImported(flags *importFlags, all []importer.Entry) error {
	if err := flags.check(); err != nil {
		return err
	}
	if len(all) == 0 {
		_, _ = fmt.Fprintln(a.env.Stderr, "nothing to import")
		return nil
	}
	documents := flags.Documents(all)
	left := leftOutError{total: len(all)}
	for i := range all {
		if all[i].Problem != nil {
			left.problems = append(left.problems, comment(all[i].From)+": "+comment(all[i].Problem.Error()))
		}
	}
	if len(left.problems) == len(all) {
		return usagef("%w", &left)
	}
	if err := a.printImported(flags, all, documents, &left); err != nil || len(left.problems) == 0 {
		return err
	}
	return &left
}

// printImported writes the documents. Comments at the top name what was left out. The notes also go to standard error.
func (a *app) printImported(flags *importFlags, all []importer.Entry, documents []string, left *leftOutError) error {
	var out strings.Builder
	for _, problem := range left.problems {
		out.WriteString("# left out: " + problem + "\n")
	}
	if flags.Zone == "" && anyInHostZone(all) {
		const remark = "where the source names no time zone, UTC is assumed; --time-zone names another"
		out.WriteString("# note: " + remark + "\n")
		_, _ = fmt.Fprintf(a.env.Stderr, "note: %s\n", remark)
	}
	for i := range all {
		s := &all[i]
		if s.Problem != nil {
			continue
		}
		fmt.Fprintf(&out, "---\n# %s\n", comment(s.From))
		for _, note := range s.Notes {
			out.WriteString("# note: " + comment(note) + "\n")
			_, _ = fmt.Fprintf(a.env.Stderr, "%s: %s: %s\n", comment(s.From), s.ID, comment(note))
		}
		out.WriteString(documents[i])
	}
	_, err := fmt.Fprint(a.env.Stdout, out.String())
	return err
}

func anyInHostZone(all []importer.Entry) bool {
	for i := range all {
		if all[i].Problem == nil && all[i].HostZone {
			return true
		}
	}
	return false
}

// comment fits any text into one line of a comment.
func comment(text string) string {
	var line strings.Builder
	for _, r := range strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ") {
		if unicode.IsPrint(r) {
			line.WriteRune(r)
			continue
		}
		line.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return line.String()
}
