package pages

import (
	"net/http"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// monthForm is how a month is written in an address.
const monthForm = "2006-01"

// timesOfADay is how many of the times to come a day of the calendar shows.
const timesOfADay = 4

// calendarMonth is the page with a month of a schedule: what came of each day, and what is planned.
type calendarMonth struct {
	scheduleHead
	// Month is its name, and Previous, Next and This are months for an address. This is empty in the month that it is now.
	Month, Previous, Next, This string
	Weeks                       [][]calendarDay
	// CountedFrom is set if the month has more runs than are counted: only those from then on are. PlannedTo is set if the month has more times
	// than are shown.
	CountedFrom, PlannedTo moment
	// IsCut says that not all times without a run are counted.
	IsCut bool
}

// calendarDay is a day of the calendar. Number is 0 for a day of another month.
type calendarDay struct {
	Number  int
	IsToday bool
	// Name is the date, and Runs the address of the runs of the day; that is empty if there are none.
	Name, Runs string
	// Came are the runs by what came of them, and the times without a run by the reason.
	Came []dayCount
	// Planned are the first times to come, and More is how many there are beyond those.
	Planned []plannedTime
	More    int
	// IsOpen says that the day has still more.
	IsOpen bool
}

// dayCount is how often something came of the times of a day, and the colour of that.
type dayCount struct {
	Word, Kind string
	// IsOfRuns is false for times without a run.
	IsOfRuns bool
	Count    int
}

// plannedTime is a time to come, which may be marked to be skipped.
type plannedTime struct {
	At     moment
	Text   string
	IsSkip bool
}

// scheduleCalendar shows a month. The days are those in the zone of the schedule.
func (p *Pages) scheduleCalendar(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, zone, err := described(r, asks)
	if err != nil {
		return nil, err
	}
	now := p.config.Now().In(zone)
	begin := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, zone)
	if text := r.URL.Query().Get("month"); text != "" {
		if begin, err = time.ParseInLocation(monthForm, text, zone); err != nil || begin.Year() < 1970 {
			return nil, schedule.Invalid("month", "is %q: give a year and a month, such as %s", text, now.Format(monthForm))
		}
	}
	c := newCalendar(d, begin, now)
	if err := p.addPast(r, asks, c, begin, now); err != nil {
		return nil, err
	}
	if err := addPlanned(r, asks, c, d, begin, now); err != nil {
		return nil, err
	}
	return &answer{view: "calendar", title: d.ID + ", " + c.Month, data: c}, nil
}

// newCalendar returns a month without anything in it. Its weeks begin on Mondays.
func newCalendar(d *schedule.Description, begin, now time.Time) *calendarMonth {
	c := &calendarMonth{
		scheduleHead: headOf(d.Namespace, d.ID, begin.Location().String(), "calendar"), Month: begin.Format("January 2006"),
		Previous: begin.AddDate(0, -1, 0).Format(monthForm), Next: begin.AddDate(0, 1, 0).Format(monthForm),
	}
	if begin.Year() != now.Year() || begin.Month() != now.Month() {
		c.This = now.Format(monthForm)
	}
	blank := (int(begin.Weekday()) + 6) % 7
	for at := begin.AddDate(0, 0, -blank); at.Before(begin.AddDate(0, 1, 0)); at = at.AddDate(0, 0, 7) {
		week := make([]calendarDay, 7)
		for i := range week {
			if day := at.AddDate(0, 0, i); day.Month() == begin.Month() {
				week[i] = calendarDay{Number: day.Day(), Name: day.Format(time.DateOnly), IsToday: day.Format(time.DateOnly) == now.Format(time.DateOnly)}
			}
		}
		c.Weeks = append(c.Weeks, week)
	}
	return c
}

// day returns the day of a time; nil if it is not of the month.
func (c *calendarMonth) day(at time.Time, begin time.Time) *calendarDay {
	at = at.In(begin.Location())
	if at.Year() != begin.Year() || at.Month() != begin.Month() {
		return nil
	}
	blank := (int(begin.Weekday()) + 6) % 7
	place := blank + at.Day() - 1
	return &c.Weeks[place/7][place%7]
}

func (d *calendarDay) count(word, kind string, isOfRuns bool, n int) {
	i := slices.IndexFunc(d.Came, func(c dayCount) bool { return c.Word == word })
	if i < 0 {
		d.Came = append(d.Came, dayCount{word, kind, isOfRuns, 0})
		i = len(d.Came) - 1
	}
	d.Came[i].Count += n
}

// withoutARun are the events that say why a time has no run, and the words for them.
var withoutARun = map[schedule.EventKind]string{schedule.EventSkipped: "skipped", schedule.EventMissed: "missed", schedule.EventDropped: "dropped"}

// addPast counts what came of the days until now: the runs by the day on which they began, and the times that had none.
func (p *Pages) addPast(r *http.Request, asks *speaker.Speaker, c *calendarMonth, begin, now time.Time) error {
	end := begin.AddDate(0, 1, 0).Add(-time.Nanosecond)
	if begin.After(now) {
		return nil
	}
	found, err := runsUpTo(r.Context(), asks, schedule.RunsRequest{ID: c.ID, From: begin, To: end, PageSize: schedule.MaxPageSize})
	if err != nil {
		return err
	}
	for i := range found.Runs {
		run := &found.Runs[i]
		if day := c.day(run.StartTime, begin); day != nil {
			o := outcomeOf(run, now, begin.Location())
			day.count(o.Word, o.Kind, true, 1)
			day.Runs = c.Address + "/runs" + queryOf("from", day.Name+"T00:00", "to", day.Name+"T23:59:59.999999999")
		}
	}
	if found.NextPageToken != "" {
		from := now // nothing is counted
		if len(found.Runs) > 0 {
			from = found.Runs[len(found.Runs)-1].StartTime
		}
		c.CountedFrom = momentOf(from, now, begin.Location())
	}
	return addWithoutARun(r, asks, c, begin, end)
}

func addWithoutARun(r *http.Request, asks *speaker.Speaker, c *calendarMonth, begin, end time.Time) error {
	history, err := asks.History(r.Context(), schedule.HistoryRequest{
		ID: c.ID, From: begin, To: end, Newest: true, PageSize: schedule.MaxPageSize,
		Kinds: []schedule.EventKind{schedule.EventSkipped, schedule.EventMissed, schedule.EventDropped},
	})
	if err != nil {
		return err
	}
	c.IsCut = len(history.Events) == schedule.MaxPageSize
	for i := range history.Events {
		e := &history.Events[i]
		at := e.Time
		for _, better := range []time.Time{e.First, e.Nominal} {
			if !better.IsZero() && !e.Manual { // what somebody asked for counts where they did
				at = better
			}
		}
		if day := c.day(at, begin); day != nil {
			day.count(withoutARun[e.Kind], "warn", false, max(e.Count, 1))
		}
	}
	return nil
}

// addPlanned adds the times to come.
func addPlanned(r *http.Request, asks *speaker.Speaker, c *calendarMonth, d *schedule.Description, begin, now time.Time) error {
	end := begin.AddDate(0, 1, 0).Add(-time.Second)
	from := later(begin, now)
	if end.Before(from) {
		return nil
	}
	reply, err := asks.MatchingTimes(r.Context(), schedule.MatchingTimesRequest{ID: c.ID, From: from, To: end})
	if err != nil {
		return err
	}
	for _, due := range reply.Times {
		day := c.day(due.NominalTime, begin)
		if day == nil {
			continue
		}
		if len(day.Planned) == timesOfADay {
			day.More++
			continue
		}
		skip := slices.ContainsFunc(d.Info.Skips, due.NominalTime.Equal)
		day.Planned = append(day.Planned, plannedTime{momentOf(due.NominalTime, now, begin.Location()), clockOf(due.NominalTime, begin.Location()), skip})
	}
	if reply.More {
		last := reply.Times[len(reply.Times)-1].NominalTime
		c.PlannedTo = momentOf(last, now, begin.Location())
		if day := c.day(last, begin); day != nil {
			day.IsOpen = true
		}
	}
	return nil
}

// clockOf returns the time of a day, with seconds if it has any.
func clockOf(at time.Time, zone *time.Location) string {
	at = at.In(zone)
	if at.Second() != 0 {
		return at.Format("15:04:05")
	}
	return at.Format("15:04")
}
