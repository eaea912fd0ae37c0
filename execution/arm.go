package execution

import "time"

// A process that has an execution in memory lets things happen in time. In case it dies, a delayed message of NATS comes at or before the next
// deadline. Arming one for each entry would be most of the work, so the state says for when the last one was armed, and only an earlier
// deadline needs another. What one process believes of messages that others have armed, or that have come to others, would be wrong now and
// then; the journal is not. For the same reason no message replaces another.

// nextSticky is how soon a message comes while a worker has a workflow task: as soon as the next task could time out, if it were scheduled now
// and waited in a sticky queue with the timeout that SDKs set. The task itself usually has twice that time. So the message that is armed for the first task
// of a run does for those that follow within this time.
const nextSticky = 5 * time.Second

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
		armed = r.armFor(next, tx.now)
		tx.arms = armed
	}
	if !armed.Equal(r.Armed) {
		r.Armed = armed
		tx.part.Armed = &armed
	}
}

// armFor returns when the message is to come that is armed now, because of the next deadline.
func (r *Run) armFor(next, now time.Time) time.Time {
	if soon := now.Add(nextSticky); r.Task.Started != 0 && soon.Before(next) {
		return soon
	}
	return next
}
