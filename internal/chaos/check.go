package chaos

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Findings are the result of comparing the evidence with the specs.
type Findings struct {
	// Expected counts the actions that had to be started or accounted for: due times, the times of backfills, and triggers.
	// Started counts runs. Skipped and Dropped count the actions that an event accounts for instead. Uncertain counts due times
	// around a pause or an update where nobody can say which came first.
	Expected  int `json:"expected"`
	Started   int `json:"started"`
	Skipped   int `json:"skipped"`
	Dropped   int `json:"dropped"`
	Uncertain int `json:"uncertain"`
	// Missed counts actions that nothing accounts for, runs that were started and never ended, and runs whose code never ran.
	// Doubled counts actions that were started twice, and runs whose code began again without a reason. Lost counts
	// acknowledged requests without effect.
	Missed  int `json:"missed"`
	Doubled int `json:"doubled"`
	Lost    int `json:"lost"`
	// Unexpected counts runs that nothing asked for. Overlapped counts runs that their overlap policy forbade. Miscounted
	// counts the counters that differ from the events. Unexplained counts what the audit of a schedule finds in its history.
	Unexpected  int `json:"unexpected"`
	Overlapped  int `json:"overlapped"`
	Miscounted  int `json:"miscounted"`
	Unexplained int `json:"unexplained"`
	// Workflows counts what the load of workflows has done.
	Workflows WorkflowFindings `json:"workflows"`
	// Repeated counts runs whose code began again with a reason, by reason: at-least-once execution allows that.
	Repeated map[string]int `json:"repeated"`
	// Problems lists them.
	Problems []Problem `json:"problems"`

	// uncertain are the due times around a pause or an update, whether accounted for or not.
	uncertain map[dueTime]bool
}

// dueTime is a due time of a schedule.
type dueTime struct {
	id      string
	nominal int64
}

// Problem is one thing that is wrong.
type Problem struct {
	// Kind is missed, doubled, lost, unexpected, overlapped, miscounted or unexplained.
	Kind string `json:"kind"`
	// ScheduleID or WorkflowID says where. Of a workflow, RequestID is the run.
	ScheduleID string    `json:"schedule_id,omitempty"`
	WorkflowID string    `json:"workflow_id,omitempty"`
	RequestID  string    `json:"request_id,omitempty"`
	Nominal    time.Time `json:"nominal,omitzero"`
	What       string    `json:"what"`
}

func (p Problem) String() string {
	text := p.Kind + ": " + p.ScheduleID + p.WorkflowID
	if !p.Nominal.IsZero() {
		text += " " + p.Nominal.Format(time.RFC3339)
	}
	if p.RequestID != "" {
		text += " " + p.RequestID
	}
	return text + ": " + p.What
}

// The kinds of problem.
const (
	kindMissed     = "missed"
	kindDoubled    = "doubled"
	kindLost       = "lost"
	kindUnexpected = "unexpected"
	kindOverlapped = "overlapped"
	kindMiscounted = "miscounted"
	// kindUnexplained is a finding of the audit.
	kindUnexplained = "unexplained"
)

// OK reports whether there is no problem.
func (f *Findings) OK() bool { return len(f.Problems) == 0 }

// check compares the evidence with what the specs and the acknowledged requests ask for. It is a pure function.
func check(e *evidence) Findings {
	f := Findings{Repeated: map[string]int{}, Problems: []Problem{}, uncertain: map[dueTime]bool{}}
	for _, id := range scheduleIDs(e.Requests) {
		c := newCase(e, id, &f)
		if c.created() {
			c.check()
		}
	}
	checkLedger(e, &f)
	checkWorkflows(e, &f)
	f.Problems = append(f.Problems, auditAll(e, f.uncertain)...)
	for i := range f.Problems {
		f.count(f.Problems[i].Kind)
	}
	return f
}

func (f *Findings) count(kind string) {
	switch kind {
	case kindMissed:
		f.Missed++
	case kindDoubled:
		f.Doubled++
	case kindLost:
		f.Lost++
	case kindUnexpected:
		f.Unexpected++
	case kindOverlapped:
		f.Overlapped++
	case kindMiscounted:
		f.Miscounted++
	case kindUnexplained:
		f.Unexplained++
	}
}

func scheduleIDs(requests []request) []string {
	seen := map[string]bool{}
	for i := range requests {
		seen[requests[i].ID] = true
	}
	ids := make([]string, 0, len(seen))
	for id := range seen {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// startKey names an action by its source and its nominal time. A trigger has one action, whatever its time.
type startKey struct {
	source  string
	nominal int64
}

// fate is what became of an action.
type fate struct {
	// started are the request IDs of its runs. skipped and dropped say whether such an event accounts for it.
	started          []string
	skipped, dropped bool
}

func (f *fate) known() bool { return f != nil && (len(f.started) > 0 || f.skipped || f.dropped) }

// stretch is a range of nominal times that one event accounts for together.
type stretch struct {
	source      string
	first, last time.Time
}

// run is what the events say about a run.
type run struct {
	key    startKey
	at     time.Time
	status schedule.Status
}

// scheduleCase is one schedule with everything that concerns it.
type scheduleCase struct {
	id          string
	evidence    *evidence
	findings    *Findings
	requests    []request
	events      []schedule.Event
	fates       map[startKey]*fate
	sources     map[string]bool // those with an action that is accounted for
	stretches   []stretch
	runs        map[string]*run
	order       []string // the request IDs of the runs, in order of their start
	description schedule.Description
	described   bool
}

func newCase(e *evidence, id string, f *Findings) *scheduleCase {
	c := &scheduleCase{
		id: id, evidence: e, findings: f,
		fates: map[startKey]*fate{}, sources: map[string]bool{}, runs: map[string]*run{},
	}
	c.description, c.described = e.Schedules[id]
	for i := range e.Requests {
		if e.Requests[i].ID == id {
			c.requests = append(c.requests, e.Requests[i])
		}
	}
	for i := range e.Events {
		if e.Events[i].ScheduleID == id {
			c.events = append(c.events, e.Events[i])
		}
	}
	slices.SortStableFunc(c.events, inOrder)
	for i := range c.events {
		c.read(&c.events[i])
	}
	return c
}

// inOrder compares events by when they happened. The order of the stream can differ: the events of one transition are stored
// all at once, and one that fails is stored later than the others. The end of the event's ID is its number.
func inOrder(a, b schedule.Event) int {
	if order := a.Time.Compare(b.Time); order != 0 {
		return order
	}
	return cmp.Compare(eventNumber(a.ID), eventNumber(b.ID))
}

func eventNumber(id string) int {
	number, err := strconv.Atoi(id[strings.LastIndex(id, "-")+1:])
	if err != nil {
		return 0
	}
	return number
}

// created reports whether the creation was acknowledged. Without that, nothing is promised about a schedule.
func (c *scheduleCase) created() bool {
	return slices.ContainsFunc(c.requests, func(r request) bool { return r.Verb == Create && r.Acknowledged() })
}

// read notes what an event says about an action.
func (c *scheduleCase) read(e *schedule.Event) {
	key := startKey{cmp.Or(e.Source, schedule.SourceAuto), e.Nominal.Unix()}
	switch e.Kind {
	case schedule.EventStarted:
		c.readStart(e, key)
	case schedule.EventCompleted:
		if r := c.runs[e.RequestID]; r != nil {
			r.status = e.Status
		}
	case schedule.EventSkipped, schedule.EventDropped, schedule.EventMissed:
		c.sources[key.source] = true
		if e.Nominal.IsZero() || e.Count > 1 {
			c.stretches = append(c.stretches, stretch{key.source, e.First, e.Last})
			return
		}
		fate := c.fate(key)
		fate.skipped = fate.skipped || e.Kind == schedule.EventSkipped
		fate.dropped = fate.dropped || e.Kind != schedule.EventSkipped
	}
}

func (c *scheduleCase) readStart(e *schedule.Event, key startKey) {
	c.sources[key.source] = true
	fate := c.fate(key)
	if !slices.Contains(fate.started, e.RequestID) {
		fate.started = append(fate.started, e.RequestID)
	}
	if c.runs[e.RequestID] == nil {
		c.runs[e.RequestID] = &run{key: key, at: e.Nominal}
		c.order = append(c.order, e.RequestID)
	}
}

func (c *scheduleCase) fate(key startKey) *fate {
	if c.fates[key] == nil {
		c.fates[key] = &fate{}
	}
	return c.fates[key]
}

// accounted reports whether an action is accounted for.
func (c *scheduleCase) accounted(key startKey) bool {
	if c.fates[key].known() {
		return true
	}
	return slices.ContainsFunc(c.stretches, func(s stretch) bool {
		return s.source == key.source && s.first.Unix() <= key.nominal && key.nominal <= s.last.Unix()
	})
}

func (c *scheduleCase) problem(kind, requestID string, nominal time.Time, format string, args ...any) {
	c.findings.Problems = append(c.findings.Problems, Problem{
		Kind: kind, ScheduleID: c.id, RequestID: requestID, Nominal: nominal, What: fmt.Sprintf(format, args...),
	})
}

func (c *scheduleCase) check() {
	if !c.described {
		c.problem(kindLost, "", time.Time{}, "the creation was acknowledged, and there is no such schedule")
	}
	c.checkDueTimes()
	c.checkRequests()
	c.checkFates()
	c.checkRuns()
	c.checkOverlap()
	c.checkCounters()
}

// checkFates counts what became of the actions, and looks for those that were started twice.
func (c *scheduleCase) checkFates() {
	for key, fate := range c.fates {
		c.findings.Started += len(fate.started)
		switch {
		case len(fate.started) > 0:
		case fate.skipped:
			c.findings.Skipped++
		case fate.dropped:
			c.findings.Dropped++
		}
		if len(fate.started) > 1 {
			c.problem(kindDoubled, "", time.Unix(key.nominal, 0).UTC(), "%s was started %d times: %s",
				key.source, len(fate.started), strings.Join(fate.started, ", "))
		}
	}
}

// checkOverlap follows the events in the order in which the system did: at most one of the runs is in progress that may not
// overlap others. Runs under allow all are left out, because one that is chosen together with another may be started first.
func (c *scheduleCase) checkOverlap() {
	running := map[string]bool{}
	started := map[string]bool{}
	for i := range c.events {
		switch e := &c.events[i]; e.Kind {
		case schedule.EventStarted:
			if started[e.RequestID] || c.policy(e.Source) == schedule.OverlapAllowAll {
				continue
			}
			started[e.RequestID] = true
			if len(running) > 0 {
				c.problem(kindOverlapped, e.RequestID, e.Nominal, "started while %d others run, under %s", len(running), c.policy(e.Source))
			}
			running[e.RequestID] = true
		case schedule.EventCompleted:
			delete(running, e.RequestID)
		}
	}
}

// policy is the overlap policy of the starts of a source.
func (c *scheduleCase) policy(source string) schedule.OverlapPolicy {
	var policy schedule.OverlapPolicy
	for i := range c.requests {
		switch r := &c.requests[i]; {
		case r.Verb == Create && policy == "":
			policy = r.Schedule.Policies.Overlap
		case r.Source != "" && r.Source == source && r.Verb == Trigger:
			return cmp.Or(r.Overlap, policy)
		case r.Source != "" && r.Source == source && r.Verb == Backfill:
			return cmp.Or(r.Range.Overlap, policy)
		}
	}
	return policy
}

// checkCounters compares the counters of describe with the events.
func (c *scheduleCase) checkCounters() {
	if !c.described {
		return
	}
	var told wire.Counters
	for i := range c.events {
		told.Add(c.events[i])
	}
	info := c.description.Info
	counted := wire.Counters{
		Actions: info.ActionCount, MissedCatchup: info.MissedCatchupWindow, OverlapSkipped: info.OverlapSkipped,
		BufferDropped: info.BufferDropped, SkippedOnRequest: info.SkippedOnRequest,
	}
	if told != counted {
		c.problem(kindMiscounted, "", time.Time{}, "describe counts %+v, and the events tell %+v", counted, told)
	}
}
