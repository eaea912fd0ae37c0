package pages

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/audit"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// auditEvents bounds the events that an audit reads here.
	auditEvents = 20 * schedule.MaxPageSize
	// auditTimes bounds the times of the spec that it goes through. The page leads on from there.
	auditTimes = 100_000
	// auditTime bounds how long it takes.
	auditTime = 20 * time.Second
	// findingsShown and fatesShown bound the lists.
	findingsShown, fatesShown = 100, 200
)

// auditing is the page that compares what should have happened with what did.
type auditing struct {
	scheduleHead
	// From and To are the range as it was written, and Fate the one of the times that are listed; empty means all.
	From, To, Fate string
	Problem        *refusal.Refusal
	Result         *auditResult
	zone           *time.Location
}

// auditResult is what an audit has found out.
type auditResult struct {
	// From and To are what was looked at: it begins with the last update at the earliest.
	From, To moment
	// Next is the address of an audit of what follows; empty if this one has looked at all of the range.
	Next     string
	Findings []auditFinding
	// MoreFindings is how many are not listed.
	MoreFindings int
	// Fates are the times of the spec by what became of them, and Manual what people have asked for.
	Fates, Manual []fateCount
	// Times are the newest of them, and MoreTimes is how many are not listed.
	Times     []fatedTime
	MoreTimes int
}

type auditFinding struct {
	Kind, Source, Text string
	Nominal            moment
}

// fateCount is how many times have a fate. Address lists those.
type fateCount struct {
	Word, Kind, Address string
	Count               int
	IsChosen            bool
}

// fatedTime is a time of the spec and what became of it.
type fatedTime struct {
	Nominal    moment
	Word, Kind string
}

// kindsOfFates are the colours of those that are not quiet.
var kindsOfFates = map[audit.Fate]string{
	audit.Started: "good", audit.Skipped: "warn", audit.Missed: "bad", audit.Dropped: "bad", audit.Unexplained: "bad", audit.Waiting: "busy",
}

// InForm returns a time of the address as the fields for times show it: they know no zones.
func (a *auditing) InForm(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return at.In(a.zone).Format("2006-01-02T15:04:05")
}

// scheduleAudit shows the form of an audit, and makes one if a range is given. An empty range is one without bounds.
func (p *Pages) scheduleAudit(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	d, zone, err := described(r, asks)
	if err != nil {
		return nil, err
	}
	values := r.URL.Query()
	page := &auditing{scheduleHead: headOf(d.Namespace, d.ID, zone.String(), "audit"), From: values.Get("from"), To: values.Get("to"), Fate: values.Get("fate"), zone: zone}
	if values.Has("from") || values.Has("to") {
		if err := p.auditRange(r, asks, page, zone); err != nil {
			page.Problem = refusal.Of(err)
		}
	}
	return &answer{view: "audit", title: "Audit of " + d.ID, data: page}, nil
}

func (p *Pages) auditRange(r *http.Request, asks *speaker.Speaker, page *auditing, zone *time.Location) error {
	ctx, cancel := context.WithTimeout(r.Context(), auditTime)
	defer cancel()
	from, to, err := rangeFields(page.From, page.To, zone)
	if err != nil {
		return err
	}
	in, err := auditInput(ctx, asks, page.ID)
	if err != nil {
		return err
	}
	if in.From, in.To, in.Now = from, to, p.config.Now(); to.IsZero() {
		in.To = in.Now
	}
	list := &fateList{fate: audit.Fate(strings.ReplaceAll(page.Fate, " ", "_")), now: in.Now, zone: zone}
	in.Each, in.MaxTimes = list.add, auditTimes
	report, err := audit.Run(ctx, *in)
	if ctx.Err() != nil {
		return schedule.Errorf(schedule.CodeFailedPrecondition, "the audit takes longer than %s, which is too long for a page: use carillon schedule audit %s", auditTime, page.ID)
	}
	if err == nil {
		page.Result = page.result(&report, list)
	}
	return err
}

// fateList keeps the newest times with a fate; an empty fate means all.
type fateList struct {
	fate  audit.Fate
	now   time.Time
	zone  *time.Location
	times []fatedTime
	all   int
}

func (l *fateList) add(nominal time.Time, fate audit.Fate) {
	if l.fate != "" && l.fate != fate {
		return
	}
	l.all++
	l.times = append(l.times, fatedTime{momentOf(nominal, l.now, l.zone), wordOf(fate), kindOfFate(fate)})
	if len(l.times) == 2*fatesShown {
		l.times = slices.Clone(l.times[fatesShown:])
	}
}

func wordOf(fate audit.Fate) string { return strings.ReplaceAll(string(fate), "_", " ") }

func kindOfFate(fate audit.Fate) string {
	return cmp.Or(kindsOfFates[fate], "quiet")
}

// auditInput reads what an audit needs. The events come first: the description then covers what happens between the two.
func auditInput(ctx context.Context, asks *speaker.Speaker, id string) (*audit.Input, error) {
	in := &audit.Input{Slack: audit.DefaultSlack}
	for event, err := range asks.Events(ctx, schedule.HistoryRequest{ID: id, PageSize: schedule.MaxPageSize}) {
		if err == nil && len(in.Events) == auditEvents {
			err = schedule.Errorf(schedule.CodeFailedPrecondition, "the history has more than %d events, which is too long for a page: use carillon schedule audit %s",
				auditEvents, id)
		}
		if err != nil {
			return nil, err
		}
		in.Events = append(in.Events, event)
	}
	d, err := asks.Describe(ctx, id)
	if err != nil {
		return nil, err
	}
	in.Description = &d
	in.Calendars, err = asks.CalendarsOf(ctx, &d)
	return in, err
}

// result returns what the page shows of a report.
func (a *auditing) result(report *audit.Report, list *fateList) *auditResult {
	zone := list.zone
	shown := &auditResult{From: momentOf(report.From, list.now, zone), To: momentOf(report.To, list.now, zone)}
	if !report.Next.IsZero() {
		shown.Next = queryOf("from", report.Next.In(zone).Format(time.RFC3339Nano), "to", a.To, "fate", a.Fate)
	}
	for _, f := range report.Findings[:min(len(report.Findings), findingsShown)] {
		shown.Findings = append(shown.Findings, auditFinding{string(f.Kind), f.Source, f.Text, momentOf(f.Nominal, list.now, zone)})
	}
	shown.MoreFindings = report.Found() - len(shown.Findings)
	for _, fate := range slices.Sorted(maps.Keys(report.Fates)) {
		count := fateCount{wordOf(fate), kindOfFate(fate), a.listing(fate), report.Fates[fate], fate == list.fate}
		if count.IsChosen {
			count.Address = a.listing("")
		}
		shown.Fates = append(shown.Fates, count)
	}
	for _, fate := range slices.Sorted(maps.Keys(report.Manual)) {
		shown.Manual = append(shown.Manual, fateCount{Word: wordOf(fate), Kind: kindOfFate(fate), Count: report.Manual[fate]})
	}
	shown.Times = list.times[max(0, len(list.times)-fatesShown):]
	slices.Reverse(shown.Times)
	shown.MoreTimes = list.all - len(shown.Times)
	return shown
}

// listing returns the address of the times with a fate.
func (a *auditing) listing(fate audit.Fate) string {
	return fmt.Sprintf("?from=%s&to=%s&fate=%s", url.QueryEscape(a.From), url.QueryEscape(a.To), url.QueryEscape(string(fate)))
}
