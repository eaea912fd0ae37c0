// Package scheduletest has values for tests: a schedule and records with every field set, and random ones. It imports schedule and
// internal/wire; tests alone may import it.
package scheduletest
