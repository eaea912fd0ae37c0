package worker

// answersAtOnce is how many runs, beside those that are executed, may be over and not answered yet.
const answersAtOnce = 1_000

// slot is the right to execute one run. To report a run that is over and to acknowledge its request takes two round trips
// to NATS; the next run need not wait for them. It belongs to one goroutine.
type slot struct {
	worker    *Worker
	answering bool
	forgotten bool
}

// pass lets the next run begin while this one is answered. While NATS answers none, it keeps the slot in the end: a worker
// must not hold ever more runs that it cannot report.
func (s *slot) pass() {
	select {
	case s.worker.answers <- struct{}{}:
		s.answering = true
		s.worker.release(1)
	default:
	}
}

// forget leaves the slot to a handler that was left; see strays.
func (s *slot) forget() { s.forgotten = true }

// end gives back what the run has of the worker.
func (s *slot) end() {
	switch {
	case s.forgotten:
	case s.answering:
		<-s.worker.answers
	default:
		s.worker.release(1)
	}
}
