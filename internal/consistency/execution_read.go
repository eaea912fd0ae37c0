package consistency

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

var (
	// errUnlike: an entry does not follow on the entries before it.
	errUnlike = errors.New("an entry does not follow on those before it")
	// errGap: an entry refers to another one before it that the journal does not have.
	errGap = fmt.Errorf("%w: one is missing", errUnlike)
	// errForeign: an entry has another format version.
	errForeign = errors.New("another release wrote it")
)

// execution reads what is stored about a workflow ID whose last entry is known, apart from its tasks. Of a run that has ended, the last entry is
// enough. floor is the sequence up to which the consumer of the pool history had passed over messages before anything was read.
func (r *reader) execution(
	ctx context.Context, key schedule.Key, last journal.Entry, floor uint64, messages messagesOf,
) (x Execution, err error) {
	x = Execution{Key: key, Sequence: last.Sequence, Rebuilt: r.rebuilt}
	if last.Sequence > 0 {
		if x.State, x.Asked, err = r.replay(ctx, key, last); err != nil {
			if !errors.Is(err, codec.ErrFormat) && !errors.Is(err, errUnlike) {
				return x, err
			}
			x.Err, x.State, x.Asked, x.Foreign = err, nil, nil, errors.Is(err, errForeign)
		}
	}
	if x.State != nil {
		if newest, err := parseEntry(last); err == nil && newest.Over() {
			x.Over = newest.Time
		}
	}
	if x.State == nil || x.State.Run.Open() {
		err = r.wakes(ctx, &x, floor, messages)
	}
	if err == nil && x.State != nil && x.State.Run.Open() {
		err = r.children(ctx, &x)
	}
	x.Now = r.now()
	return x, err
}

// parseEntry decodes an entry. The error wraps codec.ErrFormat, and errForeign if that is why.
func parseEntry(e journal.Entry) (*execution.Entry, error) {
	entry, err := execution.ParseEntry(e.Data)
	if err != nil && len(e.Data) > 0 && e.Data[0] != codec.FormatVersion {
		err = fmt.Errorf("%w: %w", errForeign, err)
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", e.Sequence, err)
	}
	return entry, nil
}

// replay returns the state of the newest run, and what it asks of others: see [Execution]. The error wraps codec.ErrFormat or errUnlike if the
// journal does not have it.
func (r *reader) replay(ctx context.Context, key schedule.Key, last journal.Entry) (*execution.State, map[int64]uint64, error) {
	newest, err := parseEntry(last)
	if err != nil {
		return nil, nil, err
	}
	p := &replaying{state: &execution.State{Key: execution.Key{Namespace: key.Namespace, WorkflowID: key.ID}}, asked: map[int64]uint64{}}
	p.first = newest.Parts[len(newest.Parts)-1].First
	p.read = func(from uint64, each func([]byte) (bool, error)) error {
		return r.journals.Read(ctx, r.store.ShardOf(key), key, from, last.Sequence, func(e journal.Entry) (bool, error) { return each(e.Data) })
	}
	if p.first == 0 || p.first == last.Sequence || newest.Gone() {
		p.first = last.Sequence
		return p.state, p.asked, p.apply(last)
	}
	if newest.Over() {
		return &execution.State{Key: p.state.Key, Sequence: last.Sequence, Run: &execution.Run{}}, nil, nil
	}
	err = r.journals.ReadRun(ctx, r.store.ShardOf(key), key, p.first, last, newest.Short(), func(e journal.Entry) (bool, error) {
		return true, p.apply(e)
	})
	if err == nil && p.state.Sequence != last.Sequence {
		err = fmt.Errorf("entry %d: %w", last.Sequence, errGap)
	}
	return p.state, p.asked, err
}

// replaying is the replay of one run, which begins with the entry first.
type replaying struct {
	state *execution.State
	first uint64
	asked map[int64]uint64
	// read reads the journal, for a run that a reset has begun.
	read execution.Reader
}

func (p *replaying) apply(e journal.Entry) error {
	if before := p.state.Sequence; before == 0 && e.Sequence != p.first || before > 0 && e.Previous > 0 && e.Previous != before {
		return fmt.Errorf("entry %d: %w", e.Sequence, errGap)
	}
	entry, err := parseEntry(e)
	if err != nil {
		return err
	}
	if e.Sequence == p.first {
		entry.Parts = entry.Parts[len(entry.Parts)-1:] // it may also end the run before
	}
	if err := entry.ReadBase(p.read); errors.Is(err, codec.ErrFormat) || errors.Is(err, journal.ErrNone) {
		return fmt.Errorf("entry %d: %w: %w", e.Sequence, errGap, err)
	} else if err != nil {
		return err
	}
	if err := p.state.Apply(entry, e.Sequence); err != nil {
		return fmt.Errorf("%w: %w", errUnlike, err)
	}
	p.ask(entry, e.Sequence)
	return nil
}

// ask adds what an entry asks of others, and removes what it says has been done.
func (p *replaying) ask(entry *execution.Entry, sequence uint64) {
	run := p.state.Run
	pending := func(event int64) bool {
		child, isChild := run.Children[event]
		_, isSent := run.Outgoing[event]
		return isChild && !child.Begun || isSent
	}
	newest := &entry.Parts[len(entry.Parts)-1]
	events := newest.Events
	if newest.Base != nil {
		events = slices.Concat(newest.Base.Events, events)
	}
	for _, event := range events {
		if pending(event.GetEventId()) {
			p.asked[event.GetEventId()] = sequence
		}
	}
	maps.DeleteFunc(p.asked, func(event int64, _ uint64) bool { return !run.Open() || !pending(event) })
}

// children reads which children of a run have ended that it takes for running. A child whose workflow ID has another run by now is left out.
func (r *reader) children(ctx context.Context, x *Execution) error {
	for _, event := range slices.Sorted(maps.Keys(x.State.Run.Children)) {
		child := x.State.Run.Children[event]
		if !child.Begun {
			continue
		}
		key := schedule.Key{Namespace: x.Key.Namespace, ID: child.Initiated.GetStartChildWorkflowExecutionInitiatedEventAttributes().GetWorkflowId()}
		last, err := r.journals.Last(ctx, r.store.ShardOf(key), key)
		if errors.Is(err, journal.ErrNone) {
			continue
		}
		if err != nil {
			return err
		}
		if endsChild(last, x, event) {
			x.Ended = append(x.Ended, endedChild{event, key, last.Sequence})
		}
	}
	return nil
}

// endsChild reports whether an entry ends the child that an event of a run has started.
func endsChild(last journal.Entry, x *Execution, event int64) bool {
	entry, err := execution.ParseEntry(last.Data)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(execution.Endings(entry), func(e execution.Ending) bool {
		return e.Parent != nil && e.Parent.WorkflowID == x.Key.ID && e.Parent.RunID == x.State.Run.Author(event).RunID && e.Parent.Event == event
	})
}

// messagesOf returns the messages of a task stream on subjects that match filters.
type messagesOf func(ctx context.Context, shard int, stream string, filters ...string) ([]bus.Message, error)

// anywhere reads the messages from any replica.
func (r *reader) anywhere(ctx context.Context, shard int, stream string, filters ...string) ([]bus.Message, error) {
	found, rest, err := r.streams.Newest(ctx, shard, stream, filters...)
	if err == nil && rest {
		return r.atLeader(ctx, shard, stream, filters...)
	}
	return found, err
}

// atLeader reads the messages from the leader of the stream.
func (r *reader) atLeader(ctx context.Context, _ int, stream string, filters ...string) (found []bus.Message, err error) {
	for _, filter := range filters {
		for from := uint64(1); ; {
			m, err := r.streams.Next(ctx, stream, filter, from)
			if errors.Is(err, bus.ErrNone) {
				break
			}
			if err != nil {
				return nil, err
			}
			found, from = append(found, m), m.Sequence+1
		}
	}
	return found, nil
}

// wakes reads when a workflow ID is woken. A delayed message becomes one on the other subject when its time comes, so both are read at once, or in
// that order.
func (r *reader) wakes(ctx context.Context, x *Execution, floor uint64, messages messagesOf) error {
	shard := r.store.ShardOf(x.Key)
	due := r.names.ExecutionDue(shard, x.Key)
	found, err := messages(ctx, shard, r.names.TaskStream(shard), r.names.ExecutionTimers(shard, x.Key), due)
	if err != nil {
		return err
	}
	for i := range found {
		m := &found[i]
		if m.Subject == due {
			x.Due = &Task{
				Task:    subjects.Task{Shard: shard, Key: x.Key, Role: subjects.RoleExecution, What: subjects.WhatDue},
				Subject: due, Sequence: m.Sequence, Passed: m.Sequence <= floor,
			}
		} else if at, ok := timeOfTimer(m.Subject); ok {
			x.Comes = append(x.Comes, at)
		}
	}
	return nil
}

// timeOfTimer returns when the delayed message of an execution comes.
func timeOfTimer(subject string) (time.Time, bool) {
	nanos, err := strconv.ParseInt(subject[strings.LastIndexByte(subject, '.')+1:], 36, 64)
	return time.Unix(0, nanos), err == nil
}

// historyFloor returns the sequence of the task stream up to which the consumer of the pool history counts all messages as acknowledged.
func (r *reader) historyFloor(ctx context.Context, shard int) (uint64, error) {
	return r.floor(ctx, r.names.TaskStream(shard), subjects.PoolHistory)
}

// settledFloor returns the sequence up to which history has done all that the journals of a shard make due.
func (r *reader) settledFloor(ctx context.Context, shard int) (uint64, error) {
	transfer := r.names.Transfer(shard)
	return r.floor(ctx, transfer.Stream, transfer.Config.Durable)
}

func (r *reader) floor(ctx context.Context, stream, name string) (uint64, error) {
	floor, err := r.streams.Floor(ctx, stream, name)
	if err != nil {
		return 0, fmt.Errorf("consistency: the consumer %s of %s: %w", name, stream, err)
	}
	return floor, nil
}
