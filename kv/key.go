package kv

import (
	"strings"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Key names one record of type T. The zero Key is not usable.
type Key[T any] struct {
	// schedule is the schedule that the record belongs to; the zero key stands for the cluster.
	schedule schedule.Key
	name     string
}

// String returns the key in its bucket.
func (k Key[T]) String() string { return k.name }

// Definition is the record of the schedule itself, owned by the frontend.
func Definition(key schedule.Key) Key[wire.Definition] {
	return Key[wire.Definition]{key, subjects.StateKey(key, subjects.KindDefinition)}
}

// Generator is the generator's record.
func Generator(key schedule.Key) Key[wire.GeneratorState] {
	return Key[wire.GeneratorState]{key, subjects.StateKey(key, subjects.KindGenerator)}
}

// Invoker is the invoker's record.
func Invoker(key schedule.Key) Key[wire.InvokerState] {
	return Key[wire.InvokerState]{key, subjects.StateKey(key, subjects.KindInvoker)}
}

// Result is the record of the last outcomes of a schedule, owned by the invoker.
func Result(key schedule.Key) Key[wire.Result] {
	return Key[wire.Result]{key, subjects.StateKey(key, subjects.KindResult)}
}

// Backfill is the record of one backfill or trigger, created by the frontend and owned by the backfiller.
func Backfill(key schedule.Key, id string) Key[wire.BackfillState] {
	return Key[wire.BackfillState]{key, subjects.BackfillKey(key, id)}
}

// StartRate is the record that the invokers share to limit the starts of a namespace. It is in the bucket of the cluster.
func StartRate(namespace string) Key[wire.StartRate] {
	return Key[wire.StartRate]{name: subjects.StartRateKey(namespace)}
}

// BackfillID returns the ID of the backfill or trigger that a key names.
func BackfillID(key Key[wire.BackfillState]) string {
	return key.name[strings.LastIndexByte(key.name, '.')+1:]
}
