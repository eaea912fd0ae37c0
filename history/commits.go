package history

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/subjects"
)

// What a process answers about an entry that it has committed.
const (
	answerDone = "done"
	answerLeft = "left"
)

// commits are the entries that this process has appended and whose work is not done yet. The ID of an entry begins with that of its process,
// so an own entry that is not here is done. It is safe for concurrent use.
type commits struct {
	process string
	conn    bus.Conn

	mu      sync.Mutex
	last    uint64
	pending map[string]*commit
	// left are the entries whose work this process has given up, until it has done it after all. An entry that another process has asked for
	// stays, because that process may die before the work is done.
	left map[string]struct{}
	// held are the entries from the consumer whose work is done here because it has not been done before.
	held map[jetstream.Msg]struct{}
}

// commit is an entry whose work is not done yet.
type commit struct {
	delivered jetstream.Msg // by the consumer; nil if it has not come yet
	asked     []*nats.Msg   // by other processes
}

func newCommits(process string, conn bus.Conn) *commits {
	return &commits{process: process, conn: conn, pending: map[string]*commit{}, left: map[string]struct{}{}, held: map[jetstream.Msg]struct{}{}}
}

// begin returns the ID for an entry that is about to be appended.
func (c *commits) begin() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	id := c.process + "-" + strconv.FormatUint(c.last, 36)
	c.pending[id] = &commit{}
	return id
}

// refused forgets an entry that is not in the journal and never will be.
func (c *commits) refused(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// settle notes what has become of the work of an entry: it is done, or it is left to whoever gets the entry from the consumer.
func (c *commits) settle(id string, done bool) {
	c.mu.Lock()
	settled := c.pending[id]
	delete(c.pending, id)
	if !done && settled != nil {
		c.left[id] = struct{}{}
	}
	c.mu.Unlock()
	if settled == nil {
		return
	}
	if settled.delivered != nil {
		if done {
			_ = settled.delivered.Ack() // if it is lost, the entry comes again, and is found to be done
		} else {
			_ = settled.delivered.Nak()
		}
	}
	for _, request := range settled.asked {
		c.answer(request, done)
	}
}

// answer answers the question of another process.
func (c *commits) answer(request *nats.Msg, done bool) {
	said := answerLeft
	if done {
		said = answerDone
	}
	_ = c.conn.PublishMsg(&nats.Msg{Subject: request.Reply, Data: []byte(said)}) // whoever asks will ask again
}

// fate says what is to be done with an entry that the consumer has delivered.
type fate int

const (
	fateDone    fate = iota // acknowledge it
	fatePending             // nothing: it is settled when its work is done
	fateOwn                 // do its work here
	fateAsk                 // ask the process that has appended it
)

// deliver takes an entry from the consumer.
func (c *commits) deliver(id string, msg jetstream.Msg) fate {
	if c.committer(id) != c.process {
		if c.committer(id) == "" {
			return fateOwn
		}
		return fateAsk
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if pending := c.pending[id]; pending != nil {
		pending.delivered = msg
		return fatePending
	}
	if _, left := c.left[id]; left {
		return fateOwn
	}
	return fateDone
}

// committer returns the ID of the process in the ID of an entry.
func (c *commits) committer(id string) string {
	process, _, _ := strings.Cut(id, "-")
	return process
}

// ask answers the question of another process about an entry, now or when it is settled.
func (c *commits) ask(request *nats.Msg) {
	c.mu.Lock()
	pending := c.pending[string(request.Data)]
	if pending != nil {
		pending.asked = append(pending.asked, request)
	}
	_, left := c.left[string(request.Data)]
	c.mu.Unlock()
	if pending == nil {
		c.answer(request, !left)
	}
}

// hold keeps an entry from the consumer until release: NATS gives it to no other process.
func (c *commits) hold(msg jetstream.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[msg] = struct{}{}
}

// release ends hold. done says that the work of the entry is done.
func (c *commits) release(msg jetstream.Msg, id string, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, msg)
	if done {
		delete(c.left, id)
	}
}

// keepAlive tells NATS again and again that the entries that have been delivered here are being worked on, until ctx ends.
func (c *commits) keepAlive(ctx context.Context) {
	ticker := time.NewTicker(subjects.TransferAckWait / 4)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, msg := range c.delivered() {
			_ = msg.InProgress() // if it is lost, another process gets the entry, and asks this one
		}
	}
}

// delivered returns the entries from the consumer that are not settled.
func (c *commits) delivered() (all []jetstream.Msg) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for msg := range c.held {
		all = append(all, msg)
	}
	for _, pending := range c.pending {
		if pending.delivered != nil {
			all = append(all, pending.delivered)
		}
	}
	return all
}

// leave settles everything that is not done.
func (c *commits) leave() {
	c.mu.Lock()
	var ids []string
	for id := range c.pending {
		ids = append(ids, id)
	}
	c.mu.Unlock()
	for _, id := range ids {
		c.settle(id, false)
	}
}
