package backup

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// evidence is what all streams except those of the records know, by schedule.
type evidence struct {
	names    subjects.Names
	shards   int
	events   map[schedule.Key][]schedule.Event
	queued   map[schedule.Key]map[string]queued
	reported map[schedule.Key]map[string]bool
	// handOffs are the subjects of the waiting hand-offs, arriving their contents.
	handOffs map[string]bool
	arriving map[schedule.Key][]wire.Enqueue
	letters  map[schedule.Key][]deadletter.Letter
}

// gather reads the restored streams, and the events from the backup. It reads only the events that came after the snapshot,
// because the records know all others.
func (r *restoration) gather(ctx context.Context) (*evidence, error) {
	e := &evidence{
		names: r.names, shards: r.manifest.Shards, events: map[schedule.Key][]schedule.Event{},
		queued: map[schedule.Key]map[string]queued{}, reported: map[schedule.Key]map[string]bool{},
		handOffs: map[string]bool{}, arriving: map[schedule.Key][]wire.Enqueue{}, letters: map[schedule.Key][]deadletter.Letter{},
	}
	stream, err := r.manifest.stream(r.names.EventStream())
	if err != nil {
		return nil, err
	}
	if err := readTail(r.dir, stream, e.addEvent); err != nil {
		return nil, err
	}
	if err := r.visit(ctx, r.names.ActionStream(), r.names.Actions("*"), e.addRequest); err != nil {
		return nil, err
	}
	for shard := range r.manifest.Shards {
		tasks := r.names.TaskStream(shard)
		err := errors.Join(
			r.visit(ctx, tasks, r.names.InvokerTasks(shard), e.addTask),
			r.visit(ctx, tasks, r.names.Timeouts(shard), e.addTask),
			r.visit(ctx, tasks, r.names.Callbacks(shard), e.addTask), // of an earlier release
		)
		if callbacks := r.names.CallbackStream(shard); r.manifest.has(callbacks) {
			err = errors.Join(err, r.visit(ctx, callbacks, r.names.Callbacks(shard), e.addTask))
		}
		if err != nil {
			return nil, err
		}
	}
	letters, err := deadletter.NewReader(r.JS, r.names).List(ctx, deadletter.Filter{})
	for i := range letters {
		if letters[i].Foreign {
			continue // forged
		}
		key := schedule.Key{Namespace: letters[i].Namespace, ID: letters[i].ScheduleID}
		e.letters[key] = append(e.letters[key], letters[i])
	}
	return e, err
}

// visit visits all messages of a stream that match a subject.
func (r *restoration) visit(ctx context.Context, name, subject string, visit func(*message) error) error {
	stream, err := r.JS.Stream(ctx, name)
	if err != nil {
		return err
	}
	return r.api.walk(ctx, name, 1, stream.CachedInfo().State.LastSeq, subject, visit)
}

// addEvent collects an event. It ignores a message that is no event, as readers of the history do.
func (e *evidence) addEvent(m *message) error {
	var event schedule.Event
	if json.Unmarshal(m.Data, &event) == nil {
		key := schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}
		e.events[key] = append(e.events[key], event)
	}
	return nil
}

// addRequest collects a start request.
func (e *evidence) addRequest(m *message) error {
	var request schedule.ActionRequest
	id := m.Header.Get(nats.MsgIdHdr)
	if json.Unmarshal(m.Data, &request) != nil || request.RequestID != id {
		return nil // it belongs to nobody here
	}
	key := schedule.Key{Namespace: request.Namespace, ID: request.ScheduleID}
	if e.queued[key] == nil {
		e.queued[key] = map[string]queued{}
	}
	e.queued[key][id] = queued{Sequence: m.Sequence, TaskQueue: request.TaskQueue}
	return nil
}

// addTask collects a completion or hand-off.
func (e *evidence) addTask(m *message) error {
	task, err := e.names.ParseTask(m.Subject)
	switch {
	case err != nil:
	case task.IsCompletion():
		if e.reported[task.Key] == nil {
			e.reported[task.Key] = map[string]bool{}
		}
		e.reported[task.Key][task.What] = true
	case task.IsHandOff():
		e.handOffs[m.Subject] = true
		var handOff wire.Enqueue
		if codec.Unmarshal(m.Data, &handOff) == nil { // the invoker makes a dead letter of any other
			e.arriving[task.Key] = append(e.arriving[task.Key], handOff)
		}
	}
	return nil
}

// handedOver reports whether a hand-off of a schedule waits.
func (e *evidence) handedOver(key schedule.Key) func(string, wire.Span) bool {
	return func(source string, span wire.Span) bool {
		return e.handOffs[e.names.InvokeEnqueue(subjects.ShardOf(key, e.shards), key, source, span)]
	}
}

// dead returns those request IDs of the runs of a schedule that a dead letter is about.
func (e *evidence) dead(key schedule.Key, state *wire.InvokerState) map[string]bool {
	dead := map[string]bool{}
	if len(e.letters[key]) == 0 {
		return dead
	}
	requests := map[string]string{} // by subject
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Running() {
			requests[e.names.Action(key.Namespace, s.TaskQueue, s.WorkflowID)] = s.RequestID
		}
	}
	for i := range e.events[key] {
		if event := &e.events[key][i]; event.Kind == schedule.EventStarted {
			requests[e.names.Action(key.Namespace, event.TaskQueue, event.WorkflowID)] = event.RequestID
		}
	}
	for i := range e.letters[key] {
		origin := e.letters[key][i].Origin.Subject
		if task, err := e.names.ParseTask(origin); err == nil && task.IsCompletion() {
			dead[task.What] = true
		} else if id, ok := requests[origin]; ok {
			dead[id] = true
		}
	}
	return dead
}
