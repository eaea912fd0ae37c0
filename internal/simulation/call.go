package simulation

import (
	"context"
	"errors"
	"strings"
	"time"
)

// requestTimeout is how long a client waits for an answer of JetStream: about 5 s, and never as long as anything else.
const requestTimeout = 4987654321 * time.Nanosecond

// The calls that change nothing, those that store something, and those that remove it.
const (
	whatGet    = "get"
	whatLeader = "leader"
	whatLast   = "last"
	whatKeys   = "keys"

	whatBacklog = "backlog"
	whatAsk     = "ask"

	whatPublish = "publish"
	whatCreate  = "create"
	whatUpdate  = "update"
	whatDelete  = "delete"
	whatRemove  = "remove"
	whatPurge   = "purge"
)

// idMark stands before the message ID in the detail of a publish.
const idMark = " #"

// errDead is what a killed process gets for everything it still tries. None of it reaches anybody.
var errDead = errors.New("simulation: the process is dead")

// call is one request of a goroutine to JetStream.
type call struct {
	node         *node
	what, detail string
	asker        string // the request it belongs to, in a frontend that may handle several at once
	content      string // of a plain message
	apply        func(now time.Time) error
	reads        bool // it changes nothing
	stores       bool // JetStream needs room for it
	handsOver    bool // it hands automated actions to the invoker
	identified   bool // it has an ID, by which the stream recognizes a repeat
	sent         bool // it has left the process
	local        bool // it concerns the process itself, and nothing can come between
	done         chan error
	finished     bool
	// twins are calls of the same process that read or remove the same thing at the same moment. Nothing tells which of its
	// goroutines is which, so all of them share one fate, and get the same answer at the same time.
	twins []*call
}

// isTwin reports whether two calls cannot be told apart, and need not be.
func (c *call) isTwin(other *call) bool {
	harmless := c.reads || c.what == whatRemove || c.what == whatPurge
	return harmless && c.node == other.node && c.what == other.what && c.detail == other.detail && c.asker == other.asker
}

func (c *call) String() string { return c.node.name + " " + c.what + " " + c.detail }

func (c *call) finish(err error) {
	if !c.finished {
		c.finished = true
		c.done <- err
	}
	for _, twin := range c.twins {
		twin.finish(err)
	}
}

// askerKey is the key of the context value that tells the requests in a frontend apart.
type askerKey struct{}

// do asks JetStream for something and waits for the answer. When the context ends first, it may still happen.
func (n *node) do(ctx context.Context, what, detail string, apply func(now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	asker, _ := ctx.Value(askerKey{}).(string)
	c := &call{node: n, what: what, detail: detail, asker: asker, apply: apply, done: make(chan error, 1)}
	switch what {
	case whatGet, whatLeader, whatLast, whatKeys, whatBacklog, whatAsk:
		c.reads = true
	case whatPublish, whatCreate, whatUpdate, whatDelete:
		c.stores = true
		c.handsOver = n.world.isHandOff(detail)
		c.identified = what == whatPublish && strings.Contains(detail, idMark)
	}
	n.world.submit(c)
	select {
	case err := <-c.done:
		return err
	case <-n.died:
		return errDead
	case <-ctx.Done():
		return ctx.Err()
	}
}

// note changes what the world knows of the process.
func (n *node) note(what string, apply func()) {
	n.world.submit(&call{node: n, what: what, local: true, done: make(chan error, 1), apply: func(time.Time) error {
		apply()
		return nil
	}})
}

// tell sends something to JetStream and does not wait.
func (n *node) tell(what, detail string, apply func(now time.Time)) {
	n.world.submit(&call{node: n, what: what, detail: detail, done: make(chan error, 1), apply: func(now time.Time) error {
		apply(now)
		return nil
	}})
}
