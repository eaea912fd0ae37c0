package generator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/cache"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Config sets up a Pool. Zero fields take the defaults they name.
type Config struct {
	// JS is the connection; Bus stands for it where there is none.
	JS    jetstream.JetStream
	Store *kv.Store
	Names subjects.Names
	// Bus is that of JS by default. Run closes it.
	Bus bus.Bus
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Definitions are the definitions that this process has read last, for all of its pools; the pool has its own by default.
	Definitions *cache.Records[wire.Definition]
	// Namespaces says which freezes there are; nil knows of none.
	Namespaces namespaces.Source
	// Vitals are told how the pool is doing; nil tells nobody.
	Vitals *loop.Vitals
	// Lead is how long before the due time the timer fires; the pool waits the rest itself. 2 s by default. The server's
	// timers are up to 250 ms late, so much less makes actions late. What is due again within the lead needs no timer.
	Lead time.Duration
	// MaxBacklog is how many messages of a shard the invoker may have before it until hand-offs of the shard wait, for 6 s at
	// most: so those of a schedule go together. 4,096 by the number of shards by default, and not less than 256.
	MaxBacklog int
	// IdleTime is how long an exhausted schedule stays open; 7 days by default, negative for ever.
	IdleTime time.Duration
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Lead == 0 {
		c.Lead = 2 * time.Second
	}
	if c.MaxBacklog == 0 && c.Store != nil {
		c.MaxBacklog = max(defaultBacklog/c.Store.Shards(), leastBacklog)
	}
	if c.IdleTime == 0 {
		c.IdleTime = 7 * 24 * time.Hour
	}
	if c.Definitions == nil {
		c.Definitions = cache.Definitions()
	}
	if c.Namespaces == nil {
		c.Namespaces = namespaces.Fixed(nil)
	}
	c.Logger = c.Logger.With("pool", subjects.PoolGenerator)
	return c
}

func (c Config) validate() error {
	if c.JS == nil && c.Bus == nil || c.Store == nil {
		return errors.New("generator: Config.JS and Config.Store are required")
	}
	if c.Lead < 0 || c.Lead > subjects.TaskAckWait {
		return fmt.Errorf("generator: Config.Lead is %v, must be 0 to %v", c.Lead, subjects.TaskAckWait)
	}
	if c.MaxBacklog < 0 {
		return fmt.Errorf("generator: Config.MaxBacklog is %d, must not be negative", c.MaxBacklog)
	}
	return nil
}

// Pool is one process's share of the generator. Make it with New, run it once.
type Pool struct {
	config Config
	specs  *cache.Specs
	events *events.Publisher
	held   held
	// backpressure is what it knows of the invoker.
	backpressure backpressure
	// records and definitions are as they were last known here.
	records     *cache.Records[wire.GeneratorState]
	definitions *cache.Records[wire.Definition]
}

// New returns a pool that is not running yet.
func New(config Config) (*Pool, error) {
	config = config.withDefaults()
	if err := config.validate(); err != nil {
		return nil, err
	}
	config.Bus = bus.Or(config.Bus, config.JS)
	return &Pool{
		config: config, specs: cache.NewSpecs(cache.DefaultSize),
		events:  events.NewPublisher(config.Bus, config.Names, config.Namespaces),
		records: cache.NewRecords(cache.DefaultSize, kv.Generator), definitions: config.Definitions,
		backpressure: backpressure{limit: config.MaxBacklog},
	}, nil
}

// Run works until ctx ends, then gives back what it holds and returns nil.
func (p *Pool) Run(ctx context.Context) error {
	defer p.config.Bus.Close()
	return loop.New(loop.Config{
		Bus: p.config.Bus, Names: p.config.Names, Pool: subjects.PoolGenerator, Shards: p.config.Store.Shards(),
		Logger: p.config.Logger, Now: p.config.Now, Namespaces: p.config.Namespaces,
		Vitals: p.config.Vitals,
	}, p).Run(ctx)
}

// Decode implements loop.Handler.
func (p *Pool) Decode(_ subjects.Task, msg jetstream.Msg) (wire.Wake, error) {
	var wake wire.Wake
	err := codec.Unmarshal(msg.Data(), &wake)
	return wake, err
}

// Handle implements loop.Handler: one transition of one schedule.
func (p *Pool) Handle(ctx context.Context, key schedule.Key, group []loop.Message[wire.Wake]) loop.Verdict {
	cause := newest(group)
	ctx, span := loop.StartSpanOf(ctx, key, group, cause)
	if span.IsRecording() {
		span.SetAttributes(telemetry.AttributeWakeReason.String(string(reasonOf(&group[cause]))))
	}
	verdict := p.handle(ctx, key, group)
	telemetry.End(span, verdict.Err())
	return verdict
}

func (p *Pool) handle(ctx context.Context, key schedule.Key, group []loop.Message[wire.Wake]) loop.Verdict {
	var holdUntil time.Time
	one := attempt{
		key: key, wakes: wakes(group), due: p.held.take(key, group), routine: isRoutine(group), created: createdBy(group),
		fired:  firedAt(group),
		gone:   slices.ContainsFunc(group, func(m loop.Message[wire.Wake]) bool { return m.Gone }),
		shared: slices.ContainsFunc(group, func(m loop.Message[wire.Wake]) bool { return m.Shared }),
	}
	if until := p.heldBack(ctx, key, one.due); !until.IsZero() {
		return loop.Hold(until)
	}
	err := kv.Attempt(func(again bool) (err error) {
		one.contested = again && !errors.Is(one.failure, kv.ErrUnconfirmed)
		one.again = again
		holdUntil, one.failure = p.transition(ctx, &one)
		return one.failure
	})
	switch {
	case err != nil:
		p.forgetRecent(key)
		return loop.Retry(errors.Join(err, p.lookAgainSoon(ctx, &one)))
	case one.letsGo:
		return loop.GiveBack()
	case holdUntil.IsZero():
		return loop.Done()
	}
	return loop.Hold(holdUntil)
}

// attempt is one of a transition.
type attempt struct {
	key   schedule.Key
	wakes []wire.Wake
	// due is what the messages have been held for, zero if they were not.
	due time.Time
	// routine says that nothing has come but due times. What is done then does not need to be done by the newest definition
	// or, where something is handed over, is confirmed.
	routine bool
	// created is the message that the schedule has been created, if nothing else has come and it brings the definition.
	created *loop.Message[wire.Wake]
	// again says that there was an attempt before, contested that another process has come first.
	again, contested bool
	// asked is when the definition was asked for that the decision goes by, or before. What is due later is not decided by it: the
	// answer may have been on its way for long, and the schedule be paused by then.
	asked time.Time
	// fired is when the timer fired that has brought one of the messages, by the clock of NATS; zero if none did.
	fired time.Time
	// begun is when the attempt began: before it read anything.
	begun time.Time
	// pending are the triggers and backfills of a schedule that has nothing else to do.
	pending []kv.Key[wire.BackfillState]
	// known says that the record is as this process has known it, and was not read.
	known bool
	// gone says that the message which has been held is not stored any more, shared that another process may have it as well.
	gone, shared bool
	// failure is that of the attempt before.
	failure error
	// letsGo says that the message which has been held is to be left to others.
	letsGo bool
	// armed is what the timer was armed with, if it was. Until the record is written too, that may be the wrong time, in the place
	// of the right one of another process.
	armed *wire.Wake
}

// sight is what an attempt has read of a schedule.
type sight struct {
	record     kv.Record[wire.GeneratorState]
	definition kv.Record[wire.Definition]
	// wakes are those of the messages, and one that says what the record does: a message that is held may be older than what was last
	// done for the schedule.
	wakes []wire.Wake
}

// errGone says that the schedule is not there any more.
var errGone = errors.New("generator: the schedule is gone")

// transition makes one attempt: it loads, decides, and commits. It returns until when to hold the messages, if that is needed.
func (p *Pool) transition(ctx context.Context, a *attempt) (holdUntil time.Time, err error) {
	a.begun = p.config.Now()
	a.asked = a.begun
	if a.created != nil && !a.again {
		if holdUntil, done, err := p.begin(ctx, a); done || err != nil {
			return holdUntil, err
		}
	}
	s, err := p.load(ctx, a)
	var decision Decision
	if err == nil {
		decision, err = p.settle(ctx, a, &s)
	}
	switch {
	case errors.Is(err, errGone):
		p.forgetRecent(a.key)
		return time.Time{}, p.forget(ctx, a.key, s.wakes)
	case err != nil:
		return time.Time{}, err
	}
	holdUntil = p.holdFor(a, decision)
	if isDone(a.due, &s.record.Value, &decision) && !holdUntil.IsZero() {
		a.letsGo = true // else there was a timer, which may be the very one that has brought the message: it is armed anew
		return time.Time{}, nil
	}
	return p.carryOut(ctx, a, &s, decision, holdUntil)
}

// load reads the record, and then the definition as the record and the messages say that it is, or newer. It arms guards again.
func (p *Pool) load(ctx context.Context, a *attempt) (s sight, err error) {
	if s.record, err = p.record(ctx, a); err != nil {
		return s, err
	}
	s.wakes = append(a.wakes, wire.Wake{Incarnation: s.record.Value.Incarnation, Version: s.record.Value.Version})
	s.definition, err = p.definition(ctx, a, s.wakes, s.record.Revision == 0)
	gone := errors.Is(err, kv.ErrNotFound)
	if err != nil && !gone {
		return s, err
	}
	if err := p.armGuardsAgain(ctx, a.key, a.wakes, &s.definition.Value); err != nil {
		return s, err
	}
	if gone {
		return s, errGone
	}
	return s, nil
}

// settle decides, and makes sure of what the decision goes by as far as it matters: see confirm and isDelicate.
func (p *Pool) settle(ctx context.Context, a *attempt, s *sight) (Decision, error) {
	first := s.record.Revision == 0
	decision, err := p.decide(ctx, a, &s.definition.Value, s.record.Value)
	if err == nil && !first && (decision.HandOff != nil || decision.WakeAt.IsZero()) {
		s.definition, decision, err = p.confirm(ctx, a, s.definition, decision, s.record.Value)
		if errors.Is(err, kv.ErrNotFound) {
			return Decision{}, errGone
		}
	}
	if err != nil {
		return Decision{}, err
	}
	if !a.again && (isDelicate(&decision, first) || a.known && decision.Updated) {
		return Decision{}, errDelicate
	}
	return decision, nil
}

// holdFor is until when to hold the messages, if a timer is not to be armed instead.
func (p *Pool) holdFor(a *attempt, decision Decision) time.Time {
	// The timer of another process is gone, and perhaps the message as well; or the message is for sure; or the other may acknowledge
	// it when it is done with what it has decided before. Where nothing changes, it has decided the same.
	if a.armed != nil || a.gone || a.shared && decision.Changed {
		return time.Time{}
	}
	return p.holdUntil(decision)
}

// carryOut tells what has become of an earlier schedule of the ID, and closes this one or commits what has been decided. It returns until
// when to hold the messages.
func (p *Pool) carryOut(ctx context.Context, a *attempt, s *sight, decision Decision, holdUntil time.Time) (time.Time, error) {
	if before := s.record.Value.Incarnation; before != "" && before != s.definition.Value.Incarnation {
		if err := p.publishEnding(ctx, a.key, before, a.wakes); err != nil {
			return time.Time{}, err
		}
	}
	if decision.Close {
		p.forgetRecent(a.key)
		return time.Time{}, p.close(ctx, s.definition)
	}
	if !holdUntil.IsZero() {
		p.held.note(a.key, holdUntil)
		if a.contested {
			holdUntil = holdUntil.Add(yieldTime)
		}
	}
	p.definitions.Keep(a.key, s.definition) // before the invoker asks for it
	revision, err := p.commit(ctx, a, &s.definition.Value, decision, s.record.Revision, holdUntil.IsZero())
	if err != nil {
		return time.Time{}, err
	}
	if revision != s.record.Revision {
		s.record = kv.Record[wire.GeneratorState]{Value: decision.State, Revision: revision}
	}
	p.records.Keep(a.key, s.record)
	return holdUntil, nil
}

// armGuardsAgain arms the guards once more that have fired before what they guard was there: the version of a definition, or its
// deletion. d is the zero value if there is none. A guard that names a schedule which is not there any more has nothing to guard.
func (p *Pool) armGuardsAgain(ctx context.Context, key schedule.Key, wakes []wire.Wake, d *wire.Definition) error {
	shard, names := p.config.Store.ShardOf(key), p.config.Names
	for _, wake := range wakes {
		if wake.Version <= d.Version || wake.Incarnation != "" && wake.Incarnation != d.Incarnation {
			continue
		}
		timer, target := names.GuardTimer(shard, key, wake.Version), names.GenerateGuard(shard, key, wake.Version)
		if err := task.ArmAgain(ctx, p.config.Bus, timer, target, p.config.Now(), wake); err != nil {
			return err
		}
	}
	return nil
}

// recordAge is how long after the next due time that it gives a record may still be as it was last known here.
const recordAge = 2 * time.Second

// record reads the record, unless it is known and nothing else than a due time has come. What is known is old where its next
// time has passed: another process is looking after the schedule then.
func (p *Pool) record(ctx context.Context, a *attempt) (kv.Record[wire.GeneratorState], error) {
	known, ok := p.records.Get(a.key)
	a.known = ok && a.routine && !a.again && p.config.Now().Before(known.Value.Next.Add(recordAge))
	if a.known {
		return known, nil
	}
	return kv.Load(ctx, p.config.Store, kv.Generator(a.key), a.again)
}

func (p *Pool) forgetRecent(key schedule.Key) {
	p.records.Drop(key)
	p.definitions.Drop(key)
}

// confirm makes sure that something is handed over by the definition as it is: the replica that was asked may be cut off from
// the others for a while, and not know yet of a pause or an update that was acknowledged long ago. What an old definition
// gives must not start any more; and the time up to now would count as done, so that what the new one gives would be lost. The
// same before a schedule is left alone: no record is written then that would conflict with that of whoever knows more, and the
// message may be all that wakes it.
func (p *Pool) confirm(
	ctx context.Context, a *attempt, definition kv.Record[wire.Definition], decision Decision, state wire.GeneratorState,
) (kv.Record[wire.Definition], Decision, error) {
	asked := p.config.Now()
	latest, err := kv.RefreshLeader(ctx, p.config.Store, kv.Definition(a.key), definition)
	if err != nil || latest.Revision == definition.Revision {
		return definition, decision, err
	}
	a.asked = asked
	decision, err = p.decide(ctx, a, &latest.Value, state)
	return latest, decision, err
}

// errDelicate asks the leader in two cases:
//
//   - before a hand-off that is delicate;
//   - before what an update brings, where this process has the record from memory: that may be so old that no trace of the first time
//     is left.
var errDelicate = fmt.Errorf("%w: generator: at a hand-off that no repeat mends", kv.ErrUnconfirmed)

// isDelicate reports whether a hand-off does harm if it is made by an old mark, as a replica shows it that lags behind. What
// has been handed over since is as a rule the same again, and known. But some of it may be late by now, and be counted as
// missed although it has been started; and by a new version of the definition it may have another jitter, and be started
// twice. Where there is no record, the hand-off covers all since the creation, also what an older version has given, and is
// still on its way to the invoker.
func isDelicate(d *Decision, first bool) bool {
	e := d.HandOff
	return e != nil && (first || d.Updated || e.Missed+e.Superseded+e.Dropped > 0)
}

// definition reads the definition, from the leader if there is no record: of a schedule that has been deleted, a lagging
// replica would bring the record and the timer back. Where nothing else than a due time has come, one that is known will do:
// it may be long out of date, but nothing is handed over by it.
func (p *Pool) definition(
	ctx context.Context, a *attempt, wakes []wire.Wake, fresh bool,
) (kv.Record[wire.Definition], error) {
	if fresh {
		return kv.GetLeader(ctx, p.config.Store, kv.Definition(a.key))
	}
	known, ok := p.definitions.Get(a.key)
	if ok && a.routine && !a.again && !kv.Behind(&known.Value, wakes...) {
		return known, nil
	}
	return kv.DefinitionFor(ctx, p.config.Store, a.key, wakes...)
}

// decide gathers what the decision needs. The invoker's record is read only for schedules whose actions are limited or
// that have none left.
func (p *Pool) decide(
	ctx context.Context, a *attempt, d *wire.Definition, state wire.GeneratorState,
) (Decision, error) {
	spec, err := p.specs.Get(d)
	if err != nil {
		return Decision{}, err
	}
	namespace, _ := p.config.Namespaces.Get(d.Namespace)
	in := Input{
		Definition: d, Spec: spec, Zone: p.specs.Zone(d), State: state, Told: toldBy(d, a.wakes),
		IdleTime: max(p.config.IdleTime, 0), Now: a.asked, Freeze: namespace.Freeze,
	}
	if d.Schedule.State.LimitedActions {
		if err := p.readInvoker(ctx, &in, kv.Get); err != nil {
			return Decision{}, err
		}
	}
	a.pending = nil
	decision := Decide(in)
	if decision.Reason != wire.ReasonIdle {
		return decision, nil
	}
	// From the leader, since a schedule may be closed on the strength of it. What is not among the backfills any more the invoker has
	// taken over before.
	a.pending, err = kv.Backfills(ctx, p.config.Store, d.Key())
	if err != nil {
		return Decision{}, err
	}
	if err := p.readInvoker(ctx, &in, kv.GetLeader); err != nil {
		return Decision{}, err
	}
	in.Busy = in.Busy || len(a.pending) > 0
	return Decide(in), nil
}

type getInvoker func(context.Context, *kv.Store, kv.Key[wire.InvokerState]) (kv.Record[wire.InvokerState], error)

// readInvoker fills in what the invoker knows: remaining actions, the newest one, whether anything is going on.
func (p *Pool) readInvoker(ctx context.Context, in *Input, get getInvoker) error {
	record, err := kv.OrZero(get(ctx, p.config.Store, kv.Invoker(in.Definition.Key())))
	if err != nil {
		return err
	}
	invoker := &record.Value
	in.Remaining = invoker.RemainingActions(in.Definition)
	if invoker.Incarnation != in.Definition.Incarnation {
		return nil
	}
	for i := range invoker.Starts {
		in.Busy = in.Busy || invoker.Starts[i].Phase != schedule.PhaseCompleted
	}
	in.LastAction = invoker.LastAction()
	progress := invoker.Sources[schedule.SourceAuto]
	in.Taken = progress.TakenFrom(in.Definition.CreateTime)
	return nil
}

// commit hands over what is due, sees that the schedule is looked at again, and writes the record, in this order: a
// repeated hand-off is harmless, a lost one is an action missed. The timer comes before the record, and not without it: a process
// that has replaced the timer of another one is refused the record, and arms anew. It returns the revision of the record.
func (p *Pool) commit(
	ctx context.Context, a *attempt, d *wire.Definition, decision Decision, revision uint64, sleep bool,
) (uint64, error) {
	if err := p.publish(ctx, a, d, decision); err != nil {
		return 0, err
	}
	sleep = sleep && !decision.WakeAt.IsZero()
	if sleep {
		if err := p.arm(ctx, a, d, decision); err != nil {
			return 0, err
		}
	}
	if !decision.Changed && !sleep {
		return revision, nil
	}
	next, err := p.put(ctx, d, &decision.State, revision)
	if err == nil && decision.HandOff != nil {
		countHandOff(ctx, d.Namespace, decision.HandOff, p.config.Now())
	}
	return next, err
}

// put writes the record over the one of a revision; 0 means that there was none. A schedule that has been forgotten meanwhile is
// a conflict.
func (p *Pool) put(ctx context.Context, d *wire.Definition, state *wire.GeneratorState, revision uint64) (uint64, error) {
	if revision != 0 {
		return kv.Put(ctx, p.config.Store, kv.Generator(d.Key()), state, revision)
	}
	return kv.PutFirst(ctx, p.config.Store, kv.Generator(d.Key()), state, kv.TraceAge, func(ctx context.Context) error {
		return kv.StillThere(ctx, p.config.Store, d.Key(), d.Incarnation)
	})
}

// publish hands over what is due, and what the definition has brought.
func (p *Pool) publish(ctx context.Context, a *attempt, d *wire.Definition, decision Decision) error {
	if err := p.events.Ensure(ctx, p.config.Now(), decision.Events...); err != nil {
		return err
	}
	for i := range decision.Requests {
		if err := p.request(ctx, a, d, &decision.Requests[i]); err != nil {
			return err
		}
	}
	// One whose guard had fired long before it was stored nobody would look at again, and the schedule would stay open for ever.
	if err := p.wakeBackfiller(ctx, d.Key(), a.pending, &wire.Wake{
		Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonIdle,
	}); err != nil {
		return err
	}
	if decision.Updated {
		// By other policies a start that waits may go. Frontends leave that to this pool, which sees every version.
		if err := p.wakeInvoker(ctx, d); err != nil {
			return err
		}
	}
	if decision.HandOff == nil {
		return nil
	}
	return p.handOff(ctx, d.Key(), decision.HandOff)
}

// requestGuard is how long after a crash at the worst moment the backfiller learns of a request.
const requestGuard = 10 * time.Second

// errStoodStill asks for another attempt: a guard may have fired before what it is to guard was written, and the request may have
// been carried out and forgotten since the generator's record was read.
var errStoodStill = fmt.Errorf("%w: generator: stood still before it could make the record of a request", kv.ErrConflict)

// request makes a record of a trigger or backfill that came with a definition, and wakes the backfiller. A record that is
// there, or was, is that of an earlier attempt. The guard comes first: a schedule that is deleted and created again
// meanwhile does not know of the requests of the one before, and nobody would ever remove the record.
func (p *Pool) request(ctx context.Context, a *attempt, d *wire.Definition, request *wire.BackfillState) error {
	shard, names := p.config.Store.ShardOf(d.Key()), p.config.Names
	subject, guard := names.Backfill(shard, d.Key(), request.ID), names.BackfillTimer(shard, d.Key(), request.ID)
	wake := &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonTriggered}
	armed := p.config.Now()
	guarding := &wire.Wake{
		Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonGuard, GuardAgain: schedule.Duration(requestGuard),
	}
	if err := task.Arm(ctx, p.config.Bus, guard, subject, armed.Add(requestGuard), guarding); err != nil {
		return err
	}
	if now := p.config.Now(); now.Sub(armed) > requestGuard/2 || now.Sub(a.begun) > kv.TraceAge {
		return errStoodStill
	}
	_, err := kv.Insert(ctx, p.config.Store, kv.Backfill(d.Key(), request.ID), request)
	if err != nil && !errors.Is(err, kv.ErrConflict) {
		return err
	}
	return task.PublishAndPurge(telemetry.WithTraceparent(ctx, request.Trace), p.config.Bus, subject, guard, wake)
}

func (p *Pool) wakeInvoker(ctx context.Context, d *wire.Definition) error {
	wake := &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: wire.ReasonUpdated}
	return task.Publish(ctx, p.config.Bus, p.config.Names.InvokeWake(p.config.Store.ShardOf(d.Key()), d.Key()), wake)
}

func (p *Pool) handOff(ctx context.Context, key schedule.Key, e *wire.Enqueue) error {
	return task.Publish(ctx, p.config.Bus, p.config.Names.InvokeEnqueue(p.config.Store.ShardOf(key), key, e.Source, e.Span), e)
}

// holdUntil is until when to hold the message, if the next due time is that soon; else a timer does it.
func (p *Pool) holdUntil(decision Decision) time.Time {
	if decision.Reason == wire.ReasonDue && decision.WakeAt.Sub(p.config.Now()) <= p.config.Lead {
		return decision.WakeAt
	}
	return time.Time{}
}

// arm arms the timer of a schedule.
func (p *Pool) arm(ctx context.Context, a *attempt, d *wire.Definition, decision Decision) error {
	at := decision.WakeAt
	if decision.Reason == wire.ReasonDue {
		at = at.Add(-p.config.Lead)
	}
	at = task.NotAtOnce(at, a.fired, p.config.Now(), p.config.Lead/8, p.config.Lead/2)
	a.armed = &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: decision.Reason}
	return p.armAt(ctx, a, at)
}

// firedAt is when the last timer fired that a group has a message of, by the clock of NATS; zero if it has none.
func firedAt(group []loop.Message[wire.Wake]) (last time.Time) {
	for i := range group {
		if m := &group[i]; m.Task.What == subjects.WhatDue && m.Stored.After(last) {
			last = m.Stored
		}
	}
	return last
}

func (p *Pool) armAt(ctx context.Context, a *attempt, at time.Time) error {
	shard, names := p.config.Store.ShardOf(a.key), p.config.Names
	return task.Arm(ctx, p.config.Bus, names.DueTimer(shard, a.key), names.Generate(shard, a.key, subjects.WhatDue), at, a.armed)
}

// soon is when a schedule is looked at again whose timer was armed for a time that may be wrong, and how long that may take to store.
const soon = time.Second

// lookAgainSoon arms the timer anew after a transition has failed that had armed it: another process may have done what this one was
// woken for, and acknowledged the message that both had, so that it does not come again. It does so too when the process is to stop.
func (p *Pool) lookAgainSoon(ctx context.Context, a *attempt) error {
	if a.armed == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	return p.armAt(ctx, a, p.config.Now().Add(soon))
}

// isRoutine reports whether all messages of a group are of timers that have fired, or have been dealt with and held since.
func isRoutine(group []loop.Message[wire.Wake]) bool {
	return !slices.ContainsFunc(group, func(m loop.Message[wire.Wake]) bool {
		return !m.Held && m.Body.Reason != wire.ReasonDue
	})
}

// toldBy returns the versions of a definition whose events have been stored, as wakes say.
func toldBy(d *wire.Definition, wakes []wire.Wake) []uint64 {
	var versions []uint64
	for _, wake := range wakes {
		if wake.Told && wake.Incarnation == d.Incarnation {
			versions = append(versions, wake.Version)
		}
	}
	return versions
}

func wakes(group []loop.Message[wire.Wake]) []wire.Wake {
	wakes := make([]wire.Wake, len(group))
	for i := range group {
		wakes[i] = group[i].Body
	}
	return wakes
}

// reasonOf is what a message is handled for: what has been held is due.
func reasonOf(m *loop.Message[wire.Wake]) wire.Reason {
	if m.Held {
		return wire.ReasonDue
	}
	return m.Body.Reason
}

// newest returns the index of the message whose trace the transition continues: the newest of those that have not been held,
// if there is one. So what comes due begins a trace of its own, also where a change has come in just before.
func newest(group []loop.Message[wire.Wake]) int {
	at := 0
	for i := range group {
		if !group[i].Held && (group[at].Held || !group[i].Stored.Before(group[at].Stored)) {
			at = i
		}
	}
	return at
}
