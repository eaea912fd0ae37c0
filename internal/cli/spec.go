package cli

import (
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) specCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "spec",
		Short: "Try out when a schedule would be due, without a server",
		Long: `Works out when a schedule would be due. No server is needed: nothing is stored,
and nothing is read but the flags and files.`,
		Example: `  carillon spec next --cron "0 9 * * mon-fri" --time-zone Europe/Berlin
  carillon spec calendar --cron "30 2 L * ?" --year 2026`,
	}
	makeParent(cmd)
	cmd.AddCommand(a.specNextCommand(), a.specCalendarCommand())
	return cmd
}

// specFlags are the flags of schedule create that say when a schedule is due, and a file with a schedule or a spec alone.
type specFlags struct {
	create createFlags
	// id is the ID of the schedule in the file, if it has one.
	id string
}

func (f *specFlags) define(cmd *cobra.Command) {
	f.create.group(cmd, "When it is due (the union of all that is given)", f.create.defineSpec)
	addFlags(cmd, "From a file", func(flags *pflag.FlagSet) {
		flags.StringVarP(&f.create.file, "file", "f", "",
			"YAML or JSON `FILE` of a schedule or of its spec alone, - for standard input; other flags replace what it sets")
	})
}

// build returns the spec that a command line asks for.
func (f *specFlags) build() (schedule.Spec, error) {
	if err := f.readFile(); err != nil {
		return schedule.Spec{}, usagef("--file %s: %w", f.create.file, err)
	}
	if err := f.create.apply(); err != nil {
		return schedule.Spec{}, err
	}
	spec := f.create.request.Spec
	return spec, checkOffline(spec)
}

// checkOffline refuses a spec whose times cannot be computed without a server.
func checkOffline(spec schedule.Spec) error {
	if len(spec.ExcludeCalendarsNamed) == 0 {
		return nil
	}
	return withHint(schedule.Invalid("spec.excludeCalendarsNamed",
		"what calendar %q holds is known to the server alone, and this command asks none: leave it out",
		spec.ExcludeCalendarsNamed[0]), "carillon schedule next shows the times of a schedule that is stored")
}

func (f *specFlags) readFile() error {
	if f.create.file == "" {
		return nil
	}
	data, err := f.create.env.readInput(f.create.file)
	if err != nil {
		return err
	}
	f.id, f.create.request.Spec, err = decodeSpec(data)
	return err
}

// decodeSpec reads a spec, or the spec inside something else: a schedule, or the answer of schedule describe.
func decodeSpec(data []byte) (id string, spec schedule.Spec, err error) {
	var around map[string]any
	if err := apitext.DecodeYAML(data, &around); err != nil {
		return "", schedule.Spec{}, err
	}
	within, isSchedule := around["spec"]
	if !isSchedule {
		return "", spec, apitext.DecodeYAML(data, &spec)
	}
	text, err := apitext.EncodeJSON(within)
	if err != nil {
		return "", spec, err
	}
	id, _ = around["id"].(string)
	return id, spec, schedule.Prefix("spec", apitext.DecodeJSON(text, &spec))
}

// seed returns the default seed of the jitter: the seed of the schedule in the file.
func (a *app) seed(f *specFlags) string {
	if f.id == "" {
		return ""
	}
	definition := wire.Definition{Namespace: a.global.namespace, ID: f.id}
	return definition.JitterSeed()
}

// zoneName names a zone for people.
func zoneName(loc *time.Location) string {
	if name := loc.String(); name != "" {
		return name
	}
	return "the zone of the spec"
}
