package cli

import (
	"io"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

const (
	defaultSpecTimes = 10
	maxSpecTimes     = 100_000
)

// nextFlags are the flags of spec next.
type nextFlags struct {
	spec         specFlags
	count        int
	after, until time.Time
	seed         string
	cases        string
	output       outputFlag
	binder
}

func (a *app) specNextCommand() *cobra.Command {
	flags := nextFlags{spec: specFlags{create: createFlags{env: a.env}}, count: defaultSpecTimes}
	cmd := &cobra.Command{
		Use:   "next [flags]",
		Short: "Show the next times of a spec, in words and one by one, with warnings",
		Long: `Shows when a schedule would be due: in words, and the next times in its own zone
and in UTC, with warnings about traps such as times that a clock change skips.`,
		Example: `  carillon spec next --cron "0 9 * * mon-fri" --time-zone Europe/Berlin
  carillon spec next --every 90m --jitter 5m --after 2030-01-01T00:00:00Z --count 3 -o json
  carillon spec next --file schedule.yaml --until +168h
  carillon spec next --cases cases.jsonl`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if flags.cases != "" {
				return a.specCases(cmd, flags.cases)
			}
			return a.specNext(&flags)
		},
	}
	flags.define(cmd)
	return cmd
}

func (f *nextFlags) define(cmd *cobra.Command) {
	f.spec.define(cmd)
	addFlags(cmd, "Which times", func(flags *pflag.FlagSet) {
		f.flags = flags
		at := timeParser(f.spec.create.env.Now)
		flags.IntVar(&f.count, "count", f.count, "show `N` times at most")
		parsed(&f.binder, "after", "show times after `TIME`; now if not given", &f.after, at)
		parsed(&f.binder, "until", "show times up to `TIME`", &f.until, at)
		f.string("seed", "`TEXT` that the jitter depends on, beside the time; that of the schedule in the file if not given",
			&f.seed)
	})
	addFlags(cmd, "Many specs", func(flags *pflag.FlagSet) {
		flags.StringVar(&f.cases, "cases", "",
			"JSON lines `FILE` of cases, - for standard input, which is read bit by bit: prints one line of JSON for "+
				"each; no other flags apply")
	})
	f.output.define(cmd)
}

// specNext prints the next times of the spec that the flags ask for.
func (a *app) specNext(f *nextFlags) error {
	spec, err := f.spec.build()
	if err != nil {
		return err
	}
	f.seed, f.after = a.seed(&f.spec), a.env.Now()
	if err := f.apply(); err != nil {
		return err
	}
	if f.count < 1 || f.count > maxSpecTimes {
		return usagef("--count: %d is out of range: use 1 to %d", f.count, maxSpecTimes)
	}
	compiled, err := specproc.Compile(spec)
	if err != nil {
		return schedule.Prefix("spec", err)
	}
	loc, err := spec.Location()
	if err != nil {
		return schedule.Prefix("spec", err)
	}
	next := render.SpecTimes{
		Description: prose.Describe(spec),
		Warnings:    prose.Warnings(spec, f.after),
		TimeZone:    zoneName(loc),
		Next:        []render.SpecTime{},
	}
	for t, ok := compiled.NextDue(f.after, f.seed); ; t, ok = compiled.Next(t.Nominal, f.seed) {
		next.Exhausted = !ok
		if !ok || len(next.Next) == f.count || !f.until.IsZero() && t.Actual.After(f.until) {
			break
		}
		next.Next = append(next.Next, render.SpecTime{Nominal: t.Nominal, Actual: t.Actual, Local: t.Nominal.In(loc)})
	}
	return a.print(f.output, next, func(w io.Writer) error { return render.SpecNext(w, &next, a.view()) })
}
