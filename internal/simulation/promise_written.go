package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// promisedByRecord checks a record that has just been written, and was sent some time before. before is the record that it
// replaced; it has no sequence where there was none.
func (w *world) promisedByRecord(n *node, name string, before jsmodel.Message, data []byte, sent time.Time) {
	key, err := subjects.ParseStateKey(name)
	if err != nil {
		return
	}
	if isTombstone(&before) {
		before = jsmodel.Message{}
	}
	switch kind := strings.Split(name, ".")[2]; kind {
	case "generator":
		w.promisedByGenerator(key, before, data)
		w.noteDone(n, key, sent)
	case "invoker":
		if before.Sequence == 0 {
			w.promises.first[name] = firstRecord{n, string(data)}
		}
		w.promisedByInvoker(key, before, data)
	case "backfill":
		w.promisedByBackfill(n, key, before, data, sent)
	case "definition":
		w.promisedByDefinition(n, key, before, data)
	}
}

// both decodes a record and its predecessor, which is the zero value where there was none.
func both[T any](before jsmodel.Message, data []byte) (old, now T) {
	for _, record := range []struct {
		data []byte
		into *T
	}{{before.Data, &old}, {data, &now}} {
		if len(record.data) == 0 {
			continue
		}
		if err := codec.Unmarshal(record.data, record.into); err != nil {
			panic(err)
		}
	}
	return old, now
}

// promisedByGenerator: a hand-off is stored before the record that says it was made.
func (w *world) promisedByGenerator(key schedule.Key, before jsmodel.Message, data []byte) {
	old, now := both[wire.GeneratorState](before, data)
	if now.Incarnation == "" {
		return // a trace in the making
	}
	from := old.HandedOff
	if old.Incarnation != now.Incarnation {
		if d, ok := w.stored(nameOf(key)); ok && d.Incarnation == now.Incarnation {
			from = d.CreateTime
		} else {
			return // of a schedule that is gone by now
		}
	}
	made := w.promises.handedOff[handOff{nameOf(key), now.Incarnation, schedule.SourceAuto, now.HandedOff.UnixNano()}]
	if !now.HandedOff.Equal(from) && !made {
		w.broken(nameOf(key), "the generator's record says that all up to %s is handed over, which was not stored",
			now.HandedOff.Sub(w.trace.begin))
	}
}

// promisedByBackfill: the same for a trigger or backfill. Also, when its first record is stored, its guard is armed, or the
// backfiller is about to look. There is an exception: the record was on its way for so long that the guard has fired twice, or
// the process that armed the guard stood still for so long.
func (w *world) promisedByBackfill(n *node, key schedule.Key, before jsmodel.Message, data []byte, sent time.Time) {
	old, now := both[wire.BackfillState](before, data)
	if before.Sequence == 0 {
		shard := subjects.ShardOf(key, shards)
		guard := w.names.BackfillTimer(shard, key, now.ID)
		if armed, ok := w.promises.guarded[guard+n.ids.prefix]; ok && armed.Before(sent) {
			sent = armed
		}
		late := time.Since(sent) > 2*frontend.DefaultGuardDelay
		if !late && !w.isStored(shard, guard) && !w.isStored(shard, w.names.Backfill(shard, key, now.ID)) {
			w.broken(nameOf(key), "the request %s was stored without a guard", now.ID)
		}
		return
	}
	if now.Attempt > old.Attempt {
		w.met[metNoRoom]++
	}
	made := w.promises.handedOff[handOff{nameOf(key), now.Incarnation, now.ID, now.Mark.UnixNano()}]
	if (!now.Mark.Equal(old.Mark) || now.Handed != old.Handed) && !made {
		w.broken(nameOf(key), "the record of %s says that %d starts are handed over, which was not stored", now.ID, now.Handed)
	}
}

// promisedByDefinition: before a frontend writes a version of a definition it arms a guard. If it dies, the guard makes a
// generator look at the schedule.
func (w *world) promisedByDefinition(n *node, key schedule.Key, before jsmodel.Message, data []byte) {
	if n.role != roleFrontend {
		return
	}
	old, now := both[wire.Definition](before, data)
	if old.Incarnation == now.Incarnation && old.Version == now.Version {
		return // it only withdraws that the schedule is about to be closed
	}
	shard := subjects.ShardOf(key, shards)
	// Of two frontends that create the same schedule at once, the first removes the guard of both. The second does not know
	// this if the schedule was deleted in between.
	guard := w.names.GuardTimer(shard, key, now.Version)
	_, guarded := w.promises.guarded[guard+n.ids.prefix]
	if !w.isStored(shard, guard) && !w.anyStored(w.names.TaskStream(shard), w.names.Generate(shard, key, "*"), nowhere) && !(now.Version == 1 && guarded) {
		w.broken(nameOf(key), "version %d was stored without a guard", now.Version)
	}
}

// promisedByInvoker: the record keeps its work until it is done. An event leaves its outbox when the event stream has it, a
// control when the control stream has it.
func (w *world) promisedByInvoker(key schedule.Key, before jsmodel.Message, data []byte) {
	old, now := both[wire.InvokerState](before, data)
	w.promisedByBuffer(nameOf(key), &old, &now)
	for i := range now.Starts {
		if isOut(&now.Starts[i]) {
			w.promises.intended[now.Starts[i].RequestID] = true
		}
	}
	if old.Incarnation == now.Incarnation {
		for _, c := range old.Controls {
			if !slices.Contains(now.Controls, c) && !w.promises.sent[string(c.Kind)+"-"+c.RequestID] {
				w.broken(nameOf(key), "the record forgets to %s %s", c.Kind, c.WorkflowID)
			}
		}
	}
	for i := range old.Outbox {
		e := &old.Outbox[i]
		kept := slices.ContainsFunc(now.Outbox, func(other schedule.Event) bool { return other.ID == e.ID })
		if !kept && !w.isTold(key, e) {
			w.broken(nameOf(key), "the record forgets event %s, which is not stored", e.ID)
		}
	}
}

// isTold reports whether the event stream has an event.
func (w *world) isTold(key schedule.Key, e *schedule.Event) bool {
	return slices.ContainsFunc(w.server.OfSubject(w.names.EventStream(), w.names.Event(key, e.Kind)), func(m jsmodel.Message) bool {
		return m.Header.Get(jetstream.MsgIDHeader) == e.ID
	})
}

// promisedByDeletion: a record is deleted when its work is done. A process that learns while it writes the first record that
// the schedule was deleted takes the record back, and begins again.
func (w *world) promisedByDeletion(n *node, name string, before jsmodel.Message) {
	key, err := subjects.ParseStateKey(name)
	if err != nil || isTombstone(&before) || before.Sequence == 0 {
		return
	}
	switch kind := strings.Split(name, ".")[2]; kind {
	case "invoker":
		if w.promises.first[name] != (firstRecord{n, string(before.Data)}) {
			w.promisedByInvoker(key, before, nil)
		}
	case "backfill":
		state, _ := both[wire.BackfillState](before, nil)
		if d, ok := w.stored(nameOf(key)); ok && d.Incarnation == state.Incarnation && !state.Canceled && !w.isHandedOver(key, &state) {
			w.broken(nameOf(key), "the record of %s is gone before all was handed over", state.ID)
		}
	}
}

// isHandedOver reports whether all of a trigger or backfill has been handed over: its record says so, or it has no times.
func (w *world) isHandedOver(key schedule.Key, state *wire.BackfillState) bool {
	if state.Done || state.Range != nil && state.Mark.IsZero() {
		return true
	}
	return state.Trigger != nil &&
		w.promises.handedOff[handOff{nameOf(key), state.Incarnation, state.ID, state.RequestTime.UnixNano()}]
}
