package roles

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/replica"
)

const (
	// maxLanes bounds how many connections a process has to read by.
	maxLanes = 8
	// laneTimeout bounds how long the read waits that has found that one is needed.
	laneTimeout = 2 * time.Second
)

// newLanes returns connections to read that many shards by, each opened when a shard first has so many messages. They end with the
// connection.
func (c *Connection) newLanes(shards int, many uint64) *replica.Lanes {
	return replica.NewLanes(min(shards, maxLanes), shards, many, c.openLane)
}

// openLane opens a connection to read by. If that fails it returns nil.
func (c *Connection) openLane(ctx context.Context, lane int) jetstream.JetStream {
	ctx, cancel := context.WithTimeout(ctx, laneTimeout)
	defer cancel()
	conn, err := c.dialLane(lane)
	if err == nil {
		err = conn.await(ctx)
	}
	var js jetstream.JetStream
	if err == nil {
		js, err = jetstream.New(conn.Conn)
	}
	switch {
	case err != nil:
		c.log.WarnContext(ctx, "no connection of its own to read a large shard by", "lane", lane, "error", err)
		return nil
	case !c.add(conn):
		return nil
	}
	return js
}

// add takes on a lane. It is closed where the connection has been closed already.
func (c *Connection) add(lane *Connection) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		lane.Conn.Close()
		<-lane.closed
		return false
	}
	c.lanes = append(c.lanes, lane)
	c.watching.Go(func() { c.watch(lane) })
	return true
}

// watch waits until a lane is closed, or the connection is.
func (c *Connection) watch(lane *Connection) {
	select {
	case <-c.closed:
	case <-lane.closed:
		select {
		case c.lost <- lane.closedByServer():
		default: // another one was first
		}
	}
}

// end returns all, and lets no more be opened.
func (c *Connection) end() []*Connection {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	return c.all()
}

// all returns the connection and those to read by that there are.
func (c *Connection) all() []*Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Connection{c}, c.lanes...)
}

// conns are those of all.
func (c *Connection) conns() (conns []*nats.Conn) {
	for _, conn := range c.all() {
		conns = append(conns, conn.Conn)
	}
	return conns
}
