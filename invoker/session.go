package invoker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/loop"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// session is the work on one schedule for one group of messages. It makes transitions and executions in turn, until nothing is left to
// execute.
type session struct {
	*Pool
	key        schedule.Key
	definition kv.Record[wire.Definition]
	record     kv.Record[wire.InvokerState]
	// began is a time before the definition was read.
	began time.Time
	// fired is when the last retry timer in the group fired, by the clock of NATS.
	fired time.Time
	// fresh are the starts that this process has made ready and has not tried to publish yet, with the time of that. Nobody else can have
	// published them before. Any other ready start may have been published by a process that did not record it.
	fresh map[string]time.Time
	// waited says, for traces, what the starts that this process has made ready waited for. Most have not waited.
	waited map[string]string
	// more says that work is left for a later group of messages.
	more bool
	// limits are the limits of the namespace. bounds are what it allows without a request for room.
	limits schedule.NamespaceLimits
	bounds Bounds
	// last is the last result, as it was read while the record was written.
	last lastResult
	// rest is for the next session. holdUntil is when the next session must begin at the latest, to record what is left.
	rest      remainder
	holdUntil time.Time
}

// remainder is what a session leaves to the next session of the same process.
type remainder struct {
	// fresh are the fresh starts; they are valid only if the record still has this revision.
	revision uint64
	fresh    map[string]time.Time
	// report is the result of work that is not in the record yet.
	report Report
}

func (p *Pool) takeLeft(key schedule.Key) remainder {
	left, _ := p.left.Peek(key)
	p.left.Remove(key)
	return left
}

func (p *Pool) leave(key schedule.Key, left remainder) {
	if len(left.fresh) > 0 || left.report.size() > 0 {
		p.left.Add(key, left)
	}
}

func newSession(
	p *Pool, a *attempt, d kv.Record[wire.Definition], record kv.Record[wire.InvokerState],
) *session {
	s := &session{
		Pool: p, key: a.key, definition: d, record: record, began: a.began, fired: firedAt(a.group), fresh: map[string]time.Time{},
	}
	if a.left.revision == record.Revision {
		maps.Copy(s.fresh, a.left.fresh)
	}
	if namespace, known := p.config.Namespaces.Get(a.key.Namespace); known {
		s.limits = namespace.Limits
		if d.Value.Schedule.Action.Kind.IsWorkflow() {
			s.limits.MaxPendingRuns = 0 // executions of workflows are not among the runs that it counts
		}
		s.bounds = Bounds{Freeze: namespace.Freeze, Room: roomless(&s.limits)}
	}
	return s
}

// ask asks for room for the starts that could otherwise begin.
func (s *session) ask(ctx context.Context, a *attempt, starts int) *Room {
	if a.room == nil {
		a.room, a.published = s.throttle.ask(ctx, s.key, &s.limits, starts)
	}
	return a.room
}

func (s *session) shard() int { return s.config.Store.ShardOf(s.key) }

// commit writes the result of a transition. First it writes the pause and the last result, which a repeat of the messages can safely write
// again; then the record. Its events stay in the record until they are published; execute does that.
func (s *session) commit(ctx context.Context, out Decision) error {
	for reason, count := range out.Ignored {
		countIgnored(ctx, reason, count)
		s.config.Logger.DebugContext(ctx, "messages ignored", "namespace", s.key.Namespace, "schedule_id", s.key.ID,
			"reason", reason, "count", count)
	}
	if out.Pause != nil {
		if err := s.pause(ctx, *out.Pause); err != nil {
			return err
		}
	}
	if err := s.writeResult(ctx, &out); err != nil {
		return err
	}
	if !out.Changed {
		return s.publishOutbox(ctx)
	}
	before, fresh := s.wallClock(), newEvents(&s.record.Value, &out.State)
	ahead := s.readAhead(ctx, &out.State, before)
	revision, err := s.put(ctx, &out.State, s.store)
	last := ahead()
	if err != nil {
		return err
	}
	last.revision = revision
	s.last = last
	s.countStored(ctx, &out, fresh)
	recordDecisions(ctx, fresh)
	s.refresh(&out.State, before)
	s.record = kv.Record[wire.InvokerState]{Value: out.State, Revision: revision}
	return nil
}

// refresh adds the starts that a new state has made ready to the fresh starts.
func (s *session) refresh(state *wire.InvokerState, now time.Time) {
	known := map[string]bool{}
	for i := range s.record.Value.Starts {
		start := &s.record.Value.Starts[i]
		if start.Phase == schedule.PhaseReady {
			known[start.RequestID] = true
		} else if reason := waitedFor(start); reason != "" {
			if s.waited == nil {
				s.waited = map[string]string{}
			}
			s.waited[start.RequestID] = reason
		}
	}
	for i := range state.Starts {
		if start := &state.Starts[i]; start.Phase == schedule.PhaseReady && !known[start.RequestID] {
			s.fresh[start.RequestID] = now
		}
	}
}

// put writes a record by store. If a thousand starts and their events make the record larger than a message may be, put publishes the
// events first. That is safe: a repeat of the transition gives the same events, if nothing else has come in between.
func (p *Pool) put(
	ctx context.Context, state *wire.InvokerState, store func(context.Context, *wire.InvokerState) (uint64, error),
) (uint64, error) {
	revision, err := store(ctx, state)
	if !errors.Is(err, nats.ErrMaxPayload) || len(state.Outbox) == 0 {
		return revision, err
	}
	if err := p.events.Publish(ctx, state.Outbox...); err != nil {
		return 0, err
	}
	state.Outbox = nil
	return store(ctx, state)
}

// store writes a record over the one that was read. If there was none, the schedule may have been deleted and forgotten since. A new record
// would be taken for the forgotten one, because its events begin with the same number again.
func (s *session) store(ctx context.Context, state *wire.InvokerState) (uint64, error) {
	return putOver(ctx, s, kv.Invoker(s.key), state, s.record.Revision)
}

// putOver writes a record of the schedule over the one with a revision; 0 means that there was none.
func putOver[T any](ctx context.Context, s *session, key kv.Key[T], value *T, revision uint64) (uint64, error) {
	if revision != 0 {
		return kv.Put(ctx, s.config.Store, key, value, revision)
	}
	return kv.PutFirst(ctx, s.config.Store, key, value, s.wallClock().Sub(s.began), s.stillThere)
}

// stillThere asks the leader whether the schedule still exists; if not, it returns a conflict.
func (s *session) stillThere(ctx context.Context) error {
	return kv.StillThere(ctx, s.config.Store, s.key, s.definition.Value.Incarnation)
}

// writeResult updates the record of the last result.
func (s *session) writeResult(ctx context.Context, out *Decision) error {
	if len(out.Ended) == 0 {
		return nil
	}
	record, err := kv.Record[wire.Result]{}, error(nil)
	if out.State.HasResult {
		record, err = kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Result(s.key)))
	}
	if err != nil {
		return err
	}
	result, changed := Fold(record.Value, s.definition.Value.Incarnation, out.Ended)
	if !changed {
		return nil
	}
	if before := record.Value.Incarnation; before != "" && before != result.Incarnation {
		if err := s.stillThere(ctx); err != nil {
			return err // the record may belong to a later schedule
		}
	}
	_, err = putOver(ctx, s, kv.Result(s.key), &result, record.Revision)
	if errors.Is(err, kv.ErrConflict) && !out.State.HasResult {
		// A cut-short attempt, or an earlier incarnation, left a result.
		out.State.HasResult = true
		return s.writeResult(ctx, out)
	}
	out.State.HasResult, out.Changed = true, true
	return err
}

// maxRounds bounds the rounds for one group of messages. If each of a thousand starts is refused and makes room for the next, each takes a
// round.
const maxRounds = 16

// execute does the work of the record, records the results, and publishes the events of each record. After a round's worth of work, it
// sends a wake for the rest. Messages that have come in meanwhile join the wake, so an automated start waits for one round of a backfill
// and not for all of it.
func (s *session) execute(ctx context.Context) error {
	done := 0
	for round := 0; ; round++ {
		work := WorkOf(&s.record.Value, s.config.Now())
		enough := done >= RoundLimit || round == maxRounds
		if work.Empty() || enough {
			if err := s.publishOutbox(ctx); err != nil {
				return err
			}
		}
		if work.Empty() {
			break
		}
		if enough {
			s.more = true
			s.rest = remainder{revision: s.record.Revision, fresh: s.fresh}
			return nil
		}
		since := s.wallClock()
		report, err := s.performAndPublish(ctx, work)
		if err != nil {
			return err
		}
		if s.mayWait(report) {
			s.rest.report, s.holdUntil = report, s.config.Now().Add(recordDelay)
			return nil
		}
		done += work.size()
		changed, err := s.conclude(ctx, report, since)
		if err != nil {
			return err
		}
		if !changed {
			break // nothing more can be done now
		}
	}
	return s.armRetry(ctx)
}

// performAndPublish executes work and publishes the events of its record at the same time. The next record waits for both. Neither waits
// for the other: a run does not need the events, and the events are about decisions that have been made.
func (s *session) performAndPublish(ctx context.Context, work Work) (Report, error) {
	if len(s.record.Value.Outbox) == 0 {
		return s.perform(ctx, work)
	}
	var publishing errgroup.Group
	publishing.Go(func() error { return s.publishOutbox(ctx) })
	report, err := s.perform(ctx, work)
	return report, errors.Join(err, publishing.Wait())
}

const (
	// recordDelay is how long the record of started runs may wait, to be written together with other news of the schedule. Many runs are
	// over by then.
	recordDelay = 100 * time.Millisecond
	// maxWaiting is how many unrecorded runs there may be. Another process that works on the schedule meanwhile has to look for each of
	// them.
	maxWaiting = 4
)

// mayWait reports whether the result of the work can be recorded later. It can if it consists only of started runs and there is nothing
// else to do. If the process dies, the messages come again and find ready starts that may have been published.
func (s *session) mayWait(report Report) bool {
	if len(report.Starts) > maxWaiting || len(s.record.Value.Controls) > 0 || !delayedUntil(&s.record.Value).IsZero() {
		return false // delayed starts need their timer
	}
	ready := 0
	for i := range s.record.Value.Starts {
		if s.record.Value.Starts[i].Phase == schedule.PhaseReady {
			ready++
		}
	}
	return ready == len(report.Starts) &&
		!slices.ContainsFunc(report.Starts, func(r StartReport) bool { return r.Result != Accepted })
}

// conclude records the result of the work. If another process has written the record meanwhile, perhaps with a completion, it records the
// result in the new record. The result is as true there, and to find it out again would take several requests for each start. since is when
// the work began: what the work gave up must be recorded before the action stream forgets it.
func (s *session) conclude(ctx context.Context, report Report, since time.Time) (changed bool, err error) {
	for try := 0; ; try++ {
		if slices.ContainsFunc(report.Starts, func(r StartReport) bool { return r.givesUp() }) {
			if err := s.remembered(since); err != nil {
				return false, err
			}
		}
		out := Apply(&s.definition.Value, s.record.Value, report, s.bounds, s.config.Now())
		err := s.commit(ctx, out)
		if !errors.Is(err, kv.ErrConflict) || try == maxReloads {
			return out.Changed, err
		}
		if err := s.reload(ctx); err != nil {
			return false, err
		}
	}
}

// maxReloads bounds how often a session fails to record the result of its work before it begins anew.
const maxReloads = 20

// reload reads definition and record again. If the schedule is gone or has been replaced, it returns a conflict.
func (s *session) reload(ctx context.Context) error {
	definition, err := kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Definition(s.key)))
	if err != nil {
		return err
	}
	record, err := kv.OrZero(kv.GetLeader(ctx, s.config.Store, kv.Invoker(s.key)))
	if err != nil {
		return err
	}
	incarnation := s.definition.Value.Incarnation
	if definition.Value.Incarnation != incarnation || record.Value.Incarnation != incarnation {
		return fmt.Errorf("%w: invoker: %s has been deleted or replaced", kv.ErrConflict, s.key)
	}
	s.definition, s.record = definition, record
	return s.takeLeftOver(ctx)
}

func (s *session) armRetry(ctx context.Context) error {
	now := s.config.Now()
	at := RetryAt(&s.record.Value, now)
	if at.IsZero() {
		return nil
	}
	at = task.NotAtOnce(at, s.fired, now, firstBackoff/8, firstBackoff/2)
	names := s.config.Names
	return task.Arm(ctx, s.config.Bus, names.RetryTimer(s.shard(), s.key), names.InvokeWake(s.shard(), s.key), at,
		s.wake(wire.ReasonRetry))
}

// firedAt returns when the last retry timer in a group fired, by the clock of NATS; zero if there is none.
func firedAt(group []loop.Message[Message]) (last time.Time) {
	for i := range group {
		if m := &group[i]; m.Task.IsWake() && m.Header.Get(task.HeaderScheduler) != "" && m.Stored.After(last) {
			last = m.Stored
		}
	}
	return last
}

// wakeOthers wakes the backfills that have something to do now. If work is left, it finally wakes its own schedule; another process may
// then take it.
func (s *session) wakeOthers(ctx context.Context) error {
	for _, source := range SourcesToWake(&s.record.Value) {
		subject := s.config.Names.Backfill(s.shard(), s.key, source)
		if err := task.Publish(ctx, s.config.Bus, subject, s.wake(wire.ReasonDrained)); err != nil {
			return err
		}
	}
	if !s.more {
		return nil
	}
	return task.Publish(ctx, s.config.Bus, s.config.Names.InvokeWake(s.shard(), s.key), s.wake(wire.ReasonRetry))
}

func (s *session) wake(reason wire.Reason) *wire.Wake {
	d := &s.definition.Value
	return &wire.Wake{Incarnation: d.Incarnation, Version: d.Version, Reason: reason}
}
