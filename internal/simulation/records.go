package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// books are the records of schedules as the world has seen them written.
type books struct {
	// versions are all definitions of each schedule, in order.
	versions map[string][]version
	// calendars are all versions of the named calendars, in order.
	calendars map[string][]calendarVersion
	// out are the starts that each invoker's record had as ready or started when it was last written.
	out map[string]map[string]bool
	// decisions say under which rules each start was made ready, by request ID. writes counts the records they came with. left
	// has the record with which a start had ended, or was given up.
	decisions map[string]*decision
	left      map[string]leaving
	writes    int
}

// version is a definition as it was written. A zero definition means that the schedule was deleted.
type version struct {
	at         time.Time
	definition wire.Definition
	// mark is how far generators have come under this version (see wire.GeneratorState), looks say when.
	mark  time.Time
	looks []look
	// deleter is the role of the process that has deleted the definition; empty where it was written.
	deleter string
}

// decision is how a start was made ready.
type decision struct {
	write int
	// limit is how many runs might be in progress at once. beside says that the start may not have been counted.
	limit  int
	beside bool
	// incarnation and limitVersion are taken from the record that made it ready.
	incarnation  string
	limitVersion uint64
}

// leaving is a record that was written without a start that it had before.
type leaving struct {
	write int
	at    time.Time
}

func newBooks() books {
	return books{versions: map[string][]version{}, calendars: map[string][]calendarVersion{}, out: map[string]map[string]bool{}, decisions: map[string]*decision{}, left: map[string]leaving{}}
}

// wrote notes a record that has been written, or deleted: then there is no data.
func (w *world) wrote(n *node, key string, data []byte, now time.Time) {
	space, rest, _ := strings.Cut(key, ".")
	name, kind, _ := strings.Cut(rest, ".")
	id := nameOf(schedule.Key{Namespace: space, ID: name})
	if len(data) == 0 && kind != subjects.KindDefinition {
		return
	}
	switch kind {
	case subjects.KindDefinition:
		v := version{at: now}
		mustUnmarshal(data, &v.definition)
		if len(data) == 0 {
			v.deleter = n.role
		}
		w.books.versions[id] = append(w.books.versions[id], v)
	case subjects.KindGenerator:
		var state wire.GeneratorState
		mustUnmarshal(data, &state)
		w.marked(id, &state)
	case subjects.KindInvoker:
		if state, ok := w.invoker(keyOf(id)); ok && state.Incarnation != "" { // otherwise it is the trace of a deleted record
			w.decided(id, state, now)
		}
	}
}

func mustUnmarshal(data []byte, value any) {
	if len(data) == 0 {
		return
	}
	if err := codec.Unmarshal(data, value); err != nil {
		panic(err)
	}
}

// look is when a generator recorded how far it had come.
type look struct{ at, mark time.Time }

// markBy is how far generators had come under a version at a time; zero if none had looked at it.
func (v *version) markBy(now time.Time) (mark time.Time) {
	for _, l := range v.looks {
		if !l.at.After(now) {
			mark = l.mark
		}
	}
	return mark
}

// marked notes how far a generator has come under a version.
func (w *world) marked(id string, state *wire.GeneratorState) {
	for i := range w.books.versions[id] {
		v := &w.books.versions[id][i]
		if v.definition.Incarnation == state.Incarnation && v.definition.Version == state.Version {
			v.mark = maxTime(v.mark, state.Mark)
			v.looks = append(v.looks, look{time.Now(), v.mark})
		}
	}
}

// possible are the definitions of a schedule that a process may use now, the newest first. It may have read one a while ago,
// and a replica that lags behind may show it any earlier one.
func (w *world) possible(id, incarnation string, now time.Time) []*wire.Definition {
	since := now.Add(-w.plan.memory())
	var possible []*wire.Definition
	for i := len(w.books.versions[id]) - 1; i >= 0; i-- {
		v := &w.books.versions[id][i]
		if v.definition.Incarnation == incarnation {
			possible = append(possible, &v.definition)
		}
		if w.plan.Stale == 0 && !v.at.After(since) {
			break // it had replaced all before it by then
		}
	}
	return possible
}

// memory is how long a process may use what it has read, where no replica lags: a hand-off of the last second tells the invoker
// that a definition is the newest, and everything that goes wrong makes it later.
func (p *Plan) memory() time.Duration {
	memory := 2*time.Second + 2*p.Skew
	for _, more := range []struct {
		happens bool
		by      time.Duration
	}{
		{p.LostRequest > 0 || p.LostReply > 0, 3 * requestTimeout}, {p.Slow, 3 * slowest}, {p.HeldUp > 0, 3 * slowest}, {p.Suspensions > 0, longestSuspension},
		{p.Outages > 0, 20 * time.Second}, {p.Elections > 0, 11 * time.Second}, {p.Full > 0, 15 * time.Second},
	} {
		if more.happens {
			memory += more.by
		}
	}
	return memory
}

// decided checks the record of an invoker when it is written: the starts that are out and the starts that wait are no more than
// one of the possible definitions allows.
func (w *world) decided(id string, state *wire.InvokerState, now time.Time) {
	before := w.books.out[id]
	possible := w.possible(id, state.Incarnation, now)
	w.books.writes++
	problem := "decision: it goes by no definition that there was"
	if state.Abandoned { // written by a process that has found, at any time, that the schedule is gone
		problem = begun(before, state)
		possible = nil
	}
	for _, d := range possible {
		if problem = violation(d, before, state); problem == "" {
			break
		}
	}
	if problem != "" {
		kind, text, _ := strings.Cut(problem, ": ")
		w.ledger.find(kind, id, "%s", text)
	}
	out := map[string]bool{}
	for i := range state.Starts {
		s := &state.Starts[i]
		if s.Phase != schedule.PhaseReady && s.Phase != schedule.PhaseStarted {
			continue
		}
		out[s.RequestID] = true
		if w.books.decisions[s.RequestID] == nil {
			w.books.decisions[s.RequestID] = w.decide(s, state, possible)
		}
	}
	for requestID := range before {
		if !out[requestID] {
			w.books.left[requestID] = leaving{w.books.writes, now}
		}
	}
	w.books.out[id] = out
}

func (w *world) decide(s *wire.BufferedStart, state *wire.InvokerState, possible []*wire.Definition) *decision {
	made := &decision{write: w.books.writes, incarnation: state.Incarnation, limitVersion: state.LimitVersion}
	for _, d := range possible {
		made.limit = max(made.limit, limitOf(d))
		made.beside = made.beside || policyOf(d, s) == schedule.OverlapAllowAll
	}
	return made
}

func limitOf(d *wire.Definition) int { return max(d.Schedule.Policies.ConcurrencyLimit, 1) }

// policyOf is the policy of a start: its own, or else that of the schedule.
func policyOf(d *wire.Definition, s *wire.BufferedStart) schedule.OverlapPolicy {
	return s.Overlap.Or(d.Schedule.Policies.Overlap).Or(schedule.OverlapSkip)
}

// violation says how a record breaks the policies of a definition, with the kind of finding in front; empty if it does not.
// before contains the starts that were out before: under a lower limit they may go on, and no other one goes out.
func violation(d *wire.Definition, before map[string]bool, state *wire.InvokerState) string {
	out, fresh, waiting := 0, 0, 0
	for i := range state.Starts {
		s := &state.Starts[i]
		policy := policyOf(d, s)
		switch {
		case s.Phase == schedule.PhaseCompleted:
		case s.Phase == schedule.PhaseReady || s.Phase == schedule.PhaseStarted || s.Delayed():
			// A delayed start has been chosen, and waits for nothing except its namespace.
			isNew := !before[s.RequestID]
			if isNew && policy == schedule.OverlapAllowAll {
				continue // it goes beside the others
			}
			if out++; isNew {
				fresh++
			}
		case policy == schedule.OverlapSkip:
			return "buffer: a start waits under " + string(policy)
		case policy == schedule.OverlapBufferOne && waiting > 0:
			return "buffer: a start waits behind another under " + string(policy)
		default:
			waiting++
		}
	}
	if fresh > 0 && out > limitOf(d) {
		return "overlap: more runs are recorded than may be at once"
	}
	return ""
}

// begun reports a record that is being forgotten and has a start that was not out before; empty if it has none.
func begun(before map[string]bool, state *wire.InvokerState) string {
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Phase != schedule.PhaseCompleted && !before[s.RequestID] {
			return "decision: a start goes out by a record that is being forgotten"
		}
	}
	return ""
}

// isReplaced reports whether a schedule was deleted at some time.
func (w *world) isReplaced(id string) bool {
	return slices.ContainsFunc(w.books.versions[id], func(v version) bool { return v.definition.Incarnation == "" })
}
