package probe

import (
	"context"
	"slices"
	"sync"
)

// Checks tell how a role is doing. They are called for each probe, in parallel, and must not block.
type Checks struct {
	// Waits returns what the role waits for before it can do its work, such as "a connection to NATS"; empty if it works. A nil
	// Waits waits for nothing.
	Waits func() string
	// Stuck returns why the role will never do its work again in this process; empty if it may. A nil Stuck is never stuck.
	Stuck func() string
}

// Health is the state of the roles of one process. It is safe for concurrent use.
type Health struct {
	stopping <-chan struct{}

	mu      sync.Mutex
	waits   func() string // what all roles wait for
	roles   []*role
	stopped bool
}

// role is the known state of one role.
type role struct {
	name   string
	phase  phase
	checks Checks
	err    error  // why it failed
	pause  string // why it rests
}

// phase is a phase in the life of a role.
type phase int

const (
	awaited phase = iota
	resting
	running
	ended
	failed
)

// NewHealth returns the health of a process that will run some roles. None of them runs yet. The process begins to stop when ctx
// ends.
func NewHealth(ctx context.Context, roles ...string) *Health {
	h := &Health{stopping: ctx.Done(), waits: noWait}
	for _, name := range roles {
		h.roles = append(h.roles, &role{name: name})
	}
	return h
}

func noWait() string { return "" }

// AllWait sets what all roles currently wait for; empty for nothing. It replaces the earlier value.
func (h *Health) AllWait(what string) { h.AllNeed(func() string { return what }) }

// AllNeed is AllWait for a need that comes and goes: waits is called for each probe, and must not block.
func (h *Health) AllNeed(waits func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = waits
}

// Begin records that a role runs. It ignores a role that the process does not have.
func (h *Health) Begin(name string, checks Checks) {
	h.change(name, func(r *role) { r.phase, r.checks = running, checks })
}

// End records that a role does not run any more, because it was told to stop.
func (h *Health) End(name string) {
	h.change(name, func(r *role) { r.phase = ended })
}

// Fail records that a role does not run any more although nobody told it to stop. err is the reason, and may be nil.
func (h *Health) Fail(name string, err error) {
	h.change(name, func(r *role) { r.phase, r.err = failed, err })
}

// Stopped records that the process has finished all its work, and is about to end.
func (h *Health) Stopped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
}

// Rest records that the roles that do not run are not to run at present, and why, except those that are named.
func (h *Health) Rest(why string, except ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.roles {
		if (r.phase == awaited || r.phase == ended) && !slices.Contains(except, r.name) {
			r.phase, r.checks, r.pause = resting, Checks{}, why
		}
	}
}

// Again records that roles that were told to stop, or rest, will run again, and what they wait for until then.
func (h *Health) Again(waits string) {
	h.AllWait(waits)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.roles {
		if r.phase == ended || r.phase == resting {
			r.phase, r.checks = awaited, Checks{}
		}
	}
}

func (h *Health) change(name string, change func(*role)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.roles, func(r *role) bool { return r.name == name }); i >= 0 {
		change(h.roles[i])
	}
}

// Report returns the current state of the process.
func (h *Health) Report() Report {
	h.mu.Lock()
	all, stopped, waits := make([]role, len(h.roles)), h.stopped, h.waits
	for i, r := range h.roles {
		all[i] = *r
	}
	h.mu.Unlock()
	stopping := false
	select {
	case <-h.stopping:
		stopping = true
	default:
	}
	// The checks have their own locks.
	return newReport(all, waits(), stopping, stopped)
}
