package invoker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/pool"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// publishedSize is for how many schedules a pool remembers that it has published their outbox.
const publishedSize = 65536

// leftSize is for how many schedules a pool remembers what it left to do. It is more than are in progress at once, perhaps those of a
// second. What is forgotten is found out again by asking NATS for each start.
const leftSize = 8192

// Pool is one process's share of the invoker. Make it with New, run it once.
type Pool struct {
	config pool.Config
	// workflows is the pool history.
	workflows Workflows
	events    *events.Publisher
	// published says how far this process has published outboxes. Without it, every transition would publish the events of the one before
	// again.
	published *lru.Cache[schedule.Key, published]
	// left holds what sessions leave to the next ones.
	left *lru.Cache[schedule.Key, remainder]
	// records and definitions are the last known ones.
	records     *cache.Records[wire.InvokerState]
	definitions *cache.Records[wire.Definition]
	throttle    *throttle
}

// Config sets up a [Pool].
type Config struct {
	pool.Config
	// Workflows is the pool history. If it is nil, starts of workflows wait for a process that has it.
	Workflows Workflows
}

// New returns a pool that is not running yet.
func New(own Config) (*Pool, error) {
	config := own.Config
	if own.Workflows == nil {
		own.Workflows = noWorkflows{}
	}
	config.Concurrency = cmp.Or(config.Concurrency, schedulesAtOnce)
	config, err := config.For(subjects.PoolInvoker)
	if err != nil {
		return nil, err
	}
	config.Logger = flood.Limit(config.Logger) // users decide how many starts there are
	known, err := lru.New[schedule.Key, published](publishedSize)
	if err != nil {
		return nil, fmt.Errorf("invoker: %w", err)
	}
	left, err := lru.New[schedule.Key, remainder](leftSize)
	if err != nil {
		return nil, fmt.Errorf("invoker: %w", err)
	}
	return &Pool{
		config: config, published: known, left: left,
		events:  events.NewPublisher(config.Bus, config.Names, config.Namespaces),
		records: cache.NewRecords(cache.DefaultSize, kv.Invoker), definitions: config.Definitions,
		throttle: newThrottle(&config), workflows: own.Workflows,
	}, nil
}

// startsAtOnce is how many starts of one schedule are executed in parallel. Controls, purges and departures have the same bound.
const startsAtOnce = 64

// schedulesAtOnce is for how many schedules a process makes transitions at once. Each waits for several answers of NATS in turn. With half
// as many, two cores would be idle at times; with twice as many, runs start faster than they end.
const schedulesAtOnce = 128

// Run works until ctx ends, then gives its messages back and returns nil.
func (p *Pool) Run(ctx context.Context) error { return pool.Run(ctx, p.config, p) }

// Describe implements loop.Describer: it says which runs have ended.
func (p *Pool) Describe(span *telemetry.Transition, group []loop.Message[Message]) {
	describe(span, group)
}

// Handle implements loop.Handler: it makes the transitions of one schedule for a group of messages.
func (p *Pool) Handle(ctx context.Context, key schedule.Key, group []loop.Message[Message]) loop.Verdict {
	a := attempt{key: key, group: group, left: p.takeLeft(key), published: func() {}}
	defer func() { a.published() }()
	var holdUntil time.Time
	err := kv.RetryConflicts(func(again bool) (err error) {
		a.again = again
		holdUntil, err = p.transition(ctx, &a)
		return err
	})
	switch {
	case err != nil:
		p.forgetRecent(key)
		p.leave(key, a.left)
		return loop.Retry(err)
	case !holdUntil.IsZero():
		return loop.Hold(holdUntil)
	case a.rest > 0:
		return loop.Rest(p.config.Now().Add(a.rest))
	}
	return loop.Done()
}

const (
	// someRunning is the number of runs in progress from which a schedule rests after a transition, for restPerRun for each run. The record
	// grows with the runs, and a rest lets one write record several ends. So a schedule writes about the same number of bytes per second
	// with ten or with a hundred runs in progress.
	someRunning = 10
	restPerRun  = 2 * time.Millisecond
	// maxRest bounds the rest, which delays the event of a run's end.
	maxRest = 200 * time.Millisecond
)

// restAfter returns how long the schedule may rest. It returns 0 if something waits for the end of a run: a start, or a backfill that has
// more to hand over.
func restAfter(state *wire.InvokerState) time.Duration {
	for source, progress := range state.Sources {
		if source != schedule.SourceAuto && !progress.Complete {
			return 0
		}
	}
	running := 0
	for i := range state.Starts {
		if state.Starts[i].Running() {
			running++
		}
	}
	if running < someRunning || wire.CountWaiting(state.Starts) > 0 {
		return 0
	}
	return min(time.Duration(running)*restPerRun, maxRest)
}

// MayWait implements loop.Patient: the end of a run may wait for other ends.
func (p *Pool) MayWait(m Message) bool { return m.Completion != nil }

// attempt is one attempt at a transition.
type attempt struct {
	key   schedule.Key
	group []loop.Message[Message]
	// left is what the previous session left.
	left remainder
	// again says that there was an earlier attempt; began is when this one began.
	again bool
	began time.Time
	// rest is how long the schedule may rest after the attempt.
	rest time.Duration
	// room is the room that an attempt was given; the next attempt uses it again.
	room *Room
	// published must be called when the starts that got room have been published.
	published func()
}

// errNothing makes the leader confirm a transition that writes nothing, or that writes a pause. A write of the record proves that nothing
// was missed. Without one, the replica may not know yet which run has ended, or which start to try again. A pause is written before the
// record, so a stale record could pause the schedule for a run that was already over.
var errNothing = fmt.Errorf("%w: invoker: nothing to do or to pause", kv.ErrUnconfirmed)

// errReplaced makes the leader confirm that an earlier schedule of the same ID left the record, before the record is abandoned.
var errReplaced = fmt.Errorf("%w: invoker: the record is that of an earlier schedule", kv.ErrUnconfirmed)

// transition makes one attempt: it loads, decides, commits, and then executes. kv.ErrConflict means that another process wrote the record
// meanwhile; the next attempt finds the executed work done. It returns until when to hold the messages, if that is needed.
func (p *Pool) transition(ctx context.Context, a *attempt) (holdUntil time.Time, err error) {
	a.began = p.wallClock()
	s, err := p.load(ctx, a)
	if errors.Is(err, errGone) {
		return time.Time{}, p.leaveGone(ctx, a)
	}
	if err != nil {
		return time.Time{}, err
	}
	out, err := p.decide(ctx, a, s)
	if err != nil {
		return time.Time{}, err
	}
	mayHaveTimer := s.mayHaveTimer()
	if err := s.commit(ctx, out); err != nil {
		return time.Time{}, err
	}
	disarmed := p.disarmReported(ctx, a.key, a.group, mayHaveTimer)
	a.left.report = Report{}
	err = s.execute(ctx)
	if err == nil {
		err = s.wakeOthers(ctx)
	}
	if err := errors.Join(err, disarmed()); err != nil {
		return time.Time{}, err
	}
	p.records.Keep(a.key, s.record)
	p.definitions.Keep(a.key, s.definition)
	p.leave(a.key, s.rest)
	a.rest = restAfter(&s.record.Value)
	return s.holdUntil, nil
}

// errGone says that the schedule no longer exists.
var errGone = errors.New("invoker: the schedule is gone")

// load begins a session with the record and the definition, and takes over what the previous session left.
func (p *Pool) load(ctx context.Context, a *attempt) (*session, error) {
	record, err := p.records.Load(ctx, p.config.Store, a.key, a.again)
	if err != nil {
		return nil, err
	}
	definition, err := p.definition(ctx, a, &record.Value)
	if errors.Is(err, kv.ErrNotFound) {
		return nil, errGone
	}
	if err != nil {
		return nil, err
	}
	if record, err = p.bury(ctx, a, record, &definition.Value); err != nil {
		return nil, err
	}
	s := newSession(p, a, definition, record)
	return s, s.takeLeftOver(ctx)
}

// leaveGone ends what is left of a schedule that no longer exists.
func (p *Pool) leaveGone(ctx context.Context, a *attempt) error {
	p.forgetRecent(a.key)
	if err := p.endStrays(ctx, a.key, a.group, nil); err != nil {
		return err
	}
	disarmed := p.disarmReported(ctx, a.key, a.group, func(string) bool { return true })
	return errors.Join(p.forget(ctx, a.key, a.group), disarmed())
}

// decide gathers the inputs of the decision and makes it. If the decision writes nothing, or a pause, the leader must have confirmed the
// inputs.
func (p *Pool) decide(ctx context.Context, a *attempt, s *session) (Decision, error) {
	definition, record := &s.definition.Value, &s.record.Value
	in, err := p.input(ctx, a.key, a.group, record)
	if err != nil {
		return Decision{}, err
	}
	if in.Spec, err = recountingSpec(definition, in); err != nil {
		return Decision{}, err
	}
	if err := p.leaveBehind(ctx, a, definition, record); err != nil {
		return Decision{}, err
	}
	in.Report, in.Bounds = a.left.report, s.bounds
	out := Transition(definition, *record, in, p.config.Now())
	if out.Asks > 0 {
		in.Bounds.Room = s.ask(ctx, a, out.Asks)
		out = Transition(definition, *record, in, p.config.Now())
	}
	if (!out.Changed || out.Pause != nil) && !a.again {
		return Decision{}, errNothing
	}
	return out, nil
}

// bury gives up what an earlier schedule of the same ID left, if the record still belongs to it: it was deleted, and another was created
// before its record was forgotten. The record must come from the leader, because it says what has not begun.
func (p *Pool) bury(
	ctx context.Context, a *attempt, record kv.Record[wire.InvokerState], d *wire.Definition,
) (kv.Record[wire.InvokerState], error) {
	if record.Value.Incarnation == "" || record.Value.Incarnation == d.Incarnation {
		return record, nil
	}
	if !a.again {
		return record, errReplaced
	}
	return p.abandon(ctx, a.key, record)
}

// definition reads the definition.
//
//  1. It asks the leader in a repeated attempt, if there is no record, and if the record has been abandoned. Without a record, nothing
//     shows whether a definition is outdated: a completion of a deleted schedule would create a new record that nobody ever removes.
//  2. It uses the cached definition if nothing can start, or if the generator confirmed it a moment ago, by a hand-off.
//  3. Otherwise it reads the definition again, although it hardly ever changes: a paused schedule must not start anything.
//
// A definition that is older than the messages or the record say comes from a replica that lags behind. It is never used; it could even
// reset the record.
func (p *Pool) definition(
	ctx context.Context, a *attempt, state *wire.InvokerState,
) (kv.Record[wire.Definition], error) {
	if a.again || state.Incarnation == "" || state.Abandoned {
		return kv.GetLeader(ctx, p.config.Store, kv.Definition(a.key))
	}
	wakes := append(versions(a.group), wire.Wake{Incarnation: state.Incarnation, Version: state.LimitVersion})
	known, ok := p.definitions.Get(a.key)
	if ok && !kv.Behind(&known.Value, wakes...) && (a.onlyEnds(state) || a.isConfirmed(&known.Value, p.config.Now())) {
		return known, nil
	}
	return kv.RefreshDefinition(ctx, p.config.Store, a.key, known, wakes...)
}

// onlyEnds reports whether nothing can start now, whatever the definition says: no start waits, and only completions have come.
func (a *attempt) onlyEnds(state *wire.InvokerState) bool {
	for i := range a.group {
		if !a.group[i].Held && a.group[i].Body.Completion == nil {
			return false
		}
	}
	return wire.CountWaiting(state.Starts) == len(a.left.report.Starts) // these have been started
}

// confirmAge is how long a hand-off proves that its definition is the leader's newest.
const confirmAge = time.Second

// isConfirmed reports whether the generator has just found the definition to be the newest: it asks before it hands over due actions. The
// age comes from the clock of NATS, which may differ from this clock either way.
func (a *attempt) isConfirmed(d *wire.Definition, now time.Time) bool {
	return slices.ContainsFunc(a.group, func(m loop.Message[Message]) bool {
		e := m.Body.Enqueue
		return e != nil && e.Source == schedule.SourceAuto && e.Version == d.Version && now.Sub(m.Stored).Abs() < confirmAge
	})
}

func (p *Pool) forgetRecent(key schedule.Key) {
	p.records.Drop(key)
	p.definitions.Drop(key)
}

// wallClock is for periods in which the machine may have been suspended; the monotonic clock does not count those.
func (p *Pool) wallClock() time.Time { return p.config.Now().Round(0) }
