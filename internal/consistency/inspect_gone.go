package consistency

import (
	"maps"
	"math"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// goneWake makes a pool ask the leader whether the schedule exists, because its version is newer than any definition that a
// lagging replica has. It does not say that the schedule has been deleted. That would store another event of the deletion.
var goneWake = wire.Wake{Version: math.MaxUint64, Reason: wire.ReasonRetry}

// gone finds the remains of a schedule that has no definition. Its runs continue, and so do their timeout timers.
func (in *inspector) gone() {
	const forgets = ", which removes it"
	if in.Generator.legible() && !in.generating() {
		in.found(RecordOrphaned, subjects.KindGenerator, revision(in.Generator.Revision), wakeGenerator{wake: goneWake},
			"wake the generator"+forgets, "the schedule is gone, and the generator's record is not")
	}
	if in.Invoker.legible() && !in.invoking() {
		in.found(RecordOrphaned, subjects.KindInvoker, revision(in.Invoker.Revision), wakeInvoker{wake: goneWake},
			"wake the invoker"+forgets, "the schedule is gone, and the invoker's record is not")
	}
	if in.Result.legible() && !in.Invoker.there() {
		in.found(RecordOrphaned, subjects.KindResult, revision(in.Result.Revision), in.remove(kv.Result(in.Key).String(), in.Result.Revision),
			"remove it", "the schedule is gone, and the record of its last result is not")
	}
	for _, id := range slices.Sorted(maps.Keys(in.Backfills)) {
		if b := in.Backfills[id]; b.legible() && !in.backfilling(id) {
			in.found(BackfillOrphaned, id, revision(b.Revision), wakeBackfill{id: id, wake: goneWake},
				"wake the backfiller"+forgets, "the schedule is gone, and its trigger or backfill %s is not", id)
		}
	}
	in.goneTimers()
}

// goneTimers finds timers that no record or task of their pool would lead to. They may be set for years ahead. The wake removes
// the timer in the same step. If the schedule has been created again, the wake makes the pool set a new timer.
func (in *inspector) goneTimers() {
	for _, t := range in.Timers {
		var m mend
		switch {
		case t.Kind == timerDue && !in.Generator.there() && !in.generating():
			m = wakeGenerator{wake: goneWake, timer: t.Subject}
		case t.Kind == timerRetry && !in.Invoker.there() && !in.invoking():
			m = wakeInvoker{wake: goneWake, timer: t.Subject}
		case t.Kind == timerBackfill && !in.task(subjects.RoleBackfill, t.What) && !in.recorded(t.What):
			m = wakeBackfill{id: t.What, wake: goneWake, timer: t.Subject}
		default:
			continue
		}
		in.found(TimerOrphaned, t.Subject, "", m, "remove it", "the schedule is gone, and its timer %s is not", t.Subject)
	}
}

func (in *inspector) recorded(id string) bool {
	b := in.Backfills[id]
	return b.there()
}

// unreadable finds the records that cannot be decoded.
func (in *inspector) unreadable() {
	check(in, subjects.KindDefinition, kv.Definition(in.Key).String(), &in.Definition, nil, "restore it, or remove the key "+kv.Definition(in.Key).String()+
		" of the bucket "+in.Bucket+": --repair then removes the rest of the schedule")
	m, repair := in.mendGenerator()
	check(in, subjects.KindGenerator, kv.Generator(in.Key).String(), &in.Generator, m, repair)
	check(in, subjects.KindInvoker, kv.Invoker(in.Key).String(), &in.Invoker, nil,
		"delete the schedule and create it again: --repair removes the record in between; nothing tells what waited and ran")
	result := kv.Result(in.Key).String()
	check(in, subjects.KindResult, result, &in.Result, in.remove(result, in.Result.Revision),
		"remove it: the next run is not told what the last one returned")
	for _, id := range slices.Sorted(maps.Keys(in.Backfills)) {
		b := in.Backfills[id]
		key := kv.Backfill(in.Key, id).String()
		m := in.remove(key, b.Revision)
		m.then = wakeBackfill{id: id, wake: goneWake}
		check(in, "backfill "+id, key, &b, m, "remove it: what of the trigger or backfill is not handed over yet will not be")
	}
}

// mendGenerator returns the repair of the generator's record. It needs a definition to build the record from.
func (in *inspector) mendGenerator() (m mend, repair string) {
	if !in.Definition.legible() {
		return nil, "mend the definition first"
	}
	return in.rebuild(), "write one that goes on after the last time the invoker was given, and wake the generator"
}

// check checks one record. The contents of a damaged record are lost already. Only the release that wrote a foreign record can
// read it. Of a schedule that is gone, every record must go.
func check[T any](in *inspector, name, key string, record *Stored[T], m mend, repair string) {
	if !record.there() || record.Err == nil {
		return
	}
	evidence := revision(record.Revision)
	if record.Foreign {
		in.found(RecordForeign, name, evidence, nil, "run a release that reads it", "record %s: %v", name, record.Err)
		return
	}
	if !in.Definition.there() {
		m, repair = in.remove(key, record.Revision), "remove it: the schedule is gone"
	}
	f := in.found(RecordDamaged, name, evidence, m, repair, "record %s: %v", name, record.Err)
	f.asked = name != subjects.KindGenerator
}

// remove returns the repair that removes a record. If the schedule has no definition, it does so only while that is still so.
func (in *inspector) remove(name string, revision uint64) removeRecord {
	return removeRecord{name: name, revision: revision, gone: !in.Definition.there()}
}
