package cli

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/cli/calendar"
	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

const (
	defaultWidth = 80
	maxMonths    = 120
	weekMonday   = "monday"
	weekSunday   = "sunday"
)

// calendarFlags are the flags of spec calendar.
type calendarFlags struct {
	spec      specFlags
	month     time.Time
	year      time.Time
	months    int
	weekStart string
	width     int
	output    outputFlag
	binder
}

// calendarAnswer is the answer for programs.
type calendarAnswer struct {
	Description string        `json:"description"`
	TimeZone    string        `json:"timeZone"`
	Days        calendar.Days `json:"days"`
	Total       int           `json:"total"`
}

func (a *app) specCalendarCommand() *cobra.Command {
	flags := calendarFlags{spec: specFlags{create: createFlags{env: a.env}}, weekStart: weekMonday}
	cmd := &cobra.Command{
		Use:   "calendar [flags]",
		Short: "Draw the months of a spec, with how often it is due on each day",
		Long: `Draws months as a calendar in the zone of the spec. A day on which something is due
has a × and how often; a day on which the clocks change has a ! and a note below.`,
		Example: `  carillon spec calendar --cron "0 9 * * mon-fri" --time-zone Europe/Berlin --month 2026-03
  carillon spec calendar --calendar '{"dayOfMonth": "L"}' --year 2026 --week-start sunday
  carillon spec calendar --file schedule.yaml --months 3 -o json`,
		Args: exactly(),
		RunE: func(*cobra.Command, []string) error { return a.specCalendar(&flags) },
	}
	flags.define(cmd)
	return cmd
}

func (f *calendarFlags) define(cmd *cobra.Command) {
	f.spec.define(cmd)
	addFlags(cmd, "Which months", func(flags *pflag.FlagSet) {
		f.flags = flags
		f.exclusive(f.spec.create.env.Stderr, "month", "year")
		parsed(&f.binder, "month", "begin with `MONTH`, such as 2026-03; the current one if not given",
			&f.month, monthParser("2006-01"))
		parsed(&f.binder, "year", "draw the twelve months of `YEAR`", &f.year, monthParser("2006"))
		f.int("months", "draw `N` months; 1 if not given", &f.months)
		flags.Var(flagconf.NewEnum(&f.weekStart, weekMonday, weekSunday), "week-start",
			"`DAY` that weeks begin on: monday or sunday")
		f.int("width", "draw in `N` columns; those of the terminal if not given", &f.width)
	})
	f.output.define(cmd)
}

func monthParser(layout string) func(string) (time.Time, error) {
	return func(text string) (time.Time, error) {
		month, err := time.Parse(layout, text)
		if err != nil || month.Year() < 1970 || month.Year() > schedule.MaxYear {
			example := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Format(layout)
			return month, fmt.Errorf("%q is not accepted: write one such as %s, from 1970 to %d",
				text, example, schedule.MaxYear)
		}
		return month, nil
	}
}

// specCalendar prints the calendar for the spec that the flags ask for.
func (a *app) specCalendar(f *calendarFlags) error {
	spec, err := f.spec.build()
	if err != nil {
		return err
	}
	if err := f.apply(); err != nil {
		return err
	}
	loc, err := spec.Location()
	if err != nil {
		return schedule.Prefix("spec", err)
	}
	first, err := f.period(a.env.Now().In(loc))
	if err != nil {
		return err
	}
	unmoved := spec
	unmoved.Jitter = 0
	compiled, err := specproc.Compile(unmoved)
	if err != nil {
		return schedule.Prefix("spec", err)
	}
	last := first.AddDate(0, f.months, 0)
	days := calendar.Count(compiled, loc, first, last)
	answer := calendarAnswer{prose.Describe(spec), zoneName(loc), days, days.Total()}
	return a.print(f.output, answer, func(w io.Writer) error {
		return a.drawCalendar(w, &answer, &calendar.Page{
			First: first, Months: f.months, Days: days, Changes: changesIn(loc, first, last),
			Sunday: f.weekStart == weekSunday, Width: a.width(f.width), Color: a.env.Color,
		})
	})
}

// period returns the first day of the first month, and sets the number of months.
func (f *calendarFlags) period(now time.Time) (time.Time, error) {
	first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	switch {
	case !f.year.IsZero():
		first = f.year
		if !f.flags.Changed("months") {
			f.months = 12
		}
	case !f.month.IsZero():
		first = f.month
	}
	if !f.flags.Changed("months") && f.months == 0 {
		f.months = 1
	}
	if f.months < 1 || f.months > maxMonths {
		return first, usagef("--months: %d is out of range: use 1 to %d", f.months, maxMonths)
	}
	return first, nil
}

// changesIn returns the clock changes of local days, from first up to the day before last.
func changesIn(loc *time.Location, first, last time.Time) []specproc.ClockChange {
	var changes []specproc.ClockChange
	for _, change := range specproc.ClockChanges(loc, first.AddDate(0, 0, -2), last.AddDate(0, 0, 2)) {
		if wall := change.At.Add(change.Before); !wall.Before(first) && wall.Before(last) {
			changes = append(changes, change)
		}
	}
	return changes
}

func (a *app) drawCalendar(w io.Writer, answer *calendarAnswer, page *calendar.Page) error {
	title := answer.Description
	if a.env.Color {
		title = render.Bold.Paint(title)
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", title); err != nil {
		return err
	}
	if err := calendar.Draw(w, page); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s on %s, %s\n",
		plural(answer.Total, "time"), plural(len(answer.Days), "day"), answer.TimeZone)
	return err
}

// width returns how many columns there are: from the flag, otherwise from COLUMNS, otherwise from the terminal.
func (a *app) width(flag int) int {
	if flag > 0 {
		return flag
	}
	text, _ := a.env.LookupEnv("COLUMNS")
	if columns, err := strconv.Atoi(text); err == nil && columns > 0 {
		return columns
	}
	return cmp.Or(a.env.Width(), defaultWidth)
}
