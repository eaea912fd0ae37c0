package probe

import (
	"context"
	"slices"
	"sync"
)

// Checks are how a role says how it is doing. They are called whenever somebody asks, side by side, and must not wait.
type Checks struct {
	// Waits says what the role waits for before it can do its work, such as "a connection to NATS"; empty when it does it. nil
	// waits for nothing.
	Waits func() string
	// Stuck says why the role will never do its work again, in this process; empty if it may. nil is never stuck.
	Stuck func() string
}

// Health is how the roles of one process are doing. It is safe for concurrent use.
type Health struct {
	stopping <-chan struct{}

	mu      sync.Mutex
	waits   func() string // what all roles wait for
	roles   []*role
	stopped bool
}

// role is what is known of one.
type role struct {
	name   string
	phase  phase
	checks Checks
	err    error // why it failed
}

// phase is how far the life of a role is.
type phase int

const (
	awaited phase = iota
	running
	ended
	failed
)

// NewHealth returns the health of a process that is to have some roles, none of which runs yet. The process begins to stop when
// ctx ends.
func NewHealth(ctx context.Context, roles ...string) *Health {
	h := &Health{stopping: ctx.Done(), waits: noWait}
	for _, name := range roles {
		h.roles = append(h.roles, &role{name: name})
	}
	return h
}

func noWait() string { return "" }

// AllWait says what all roles wait for, at present; empty for nothing. It replaces what was said before.
func (h *Health) AllWait(what string) { h.AllNeed(func() string { return what }) }

// AllNeed is AllWait for what comes and goes: waits is called whenever somebody asks, and must not wait.
func (h *Health) AllNeed(waits func() string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waits = waits
}

// Begin says that a role runs. One that is not of the process is left out.
func (h *Health) Begin(name string, checks Checks) {
	h.change(name, func(r *role) { r.phase, r.checks = running, checks })
}

// End says that a role does not run any more, because it was told to stop.
func (h *Health) End(name string) {
	h.change(name, func(r *role) { r.phase = ended })
}

// Fail says that a role does not run any more, though nobody has told it to stop; err says why, and may be nil.
func (h *Health) Fail(name string, err error) {
	h.change(name, func(r *role) { r.phase, r.err = failed, err })
}

// Stopped says that the process has done all it had to, and is about to end.
func (h *Health) Stopped() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
}

func (h *Health) change(name string, change func(*role)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.roles, func(r *role) bool { return r.name == name }); i >= 0 {
		change(h.roles[i])
	}
}

// Report returns how the process is doing now.
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
	// The checks have locks of their own.
	return newReport(all, waits(), stopping, stopped)
}
