package namespaces

import "github.com/carillon-scheduler/carillon/schedule"

// Source says what is known of a namespace. Both of its kinds, [Table] and [Fixed], are safe for concurrent use.
type Source interface {
	// Get returns the record of a namespace, and whether there is one. It asks nobody and never waits. The record is shared:
	// what it points to may not be changed.
	Get(name string) (schedule.Namespace, bool)
}

// Fixed are namespaces that never change, by name. Nil has none.
type Fixed map[string]schedule.Namespace

// Get returns the record of a namespace.
func (f Fixed) Get(name string) (schedule.Namespace, bool) {
	record, ok := f[name]
	return record, ok
}
