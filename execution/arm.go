package execution

import "time"

// A process that has an execution in memory lets things happen in time. In case it dies, a delayed message of NATS comes at or before the next
// deadline. Arming one for each entry would be most of the work, so the state says for when the last one was armed, and only an earlier
// deadline needs another. What one process believes of messages that others have armed, or that have come to others, would be wrong now and
// then; the journal is not. For the same reason no message replaces another.

// arm makes sure that a message comes at or before the next deadline. The state has it that a message comes at run.Armed, unless that time has
// passed.
func (tx *transition) arm() {
	r := tx.run
	if !r.Open() {
		return
	}
	next, _ := r.deadline()
	armed := r.Armed
	if !tx.came.IsZero() && !armed.After(tx.came) { // it has come, or comes at any moment
		armed = time.Time{}
	}
	if !next.IsZero() && (!armed.After(tx.now) || next.Before(armed)) {
		armed, tx.arms = next, next
	}
	if !armed.Equal(r.Armed) {
		r.Armed = armed
		tx.part.Armed = &armed
	}
}
