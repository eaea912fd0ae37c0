package roles

import (
	"context"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

const (
	// maxLanes bounds the number of lanes in a process.
	maxLanes = 8
	// laneTimeout bounds how long a read waits for the new lane that it needs.
	laneTimeout = 2 * time.Second
)

// laneSet are the settings of lanes: for how many shards, and how many messages a shard must have before it gets one.
type laneSet struct {
	shards int
	many   uint64
}

// lanesOf returns the lanes with some settings. A lane is opened when one of its shards first has that many messages, and closed with the
// connection.
func (c *Connection) lanesOf(set laneSet) *bus.Lanes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readers == nil {
		c.readers = map[laneSet]*bus.Lanes{}
	}
	if c.readers[set] == nil {
		c.readers[set] = bus.NewLanes(min(set.shards, maxLanes), set.shards, set.many, c.openLane)
	}
	return c.readers[set]
}

// openLane opens a lane. It returns nil if that fails.
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

// add takes over a lane. It closes the lane if the connection has been closed already.
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

// watch waits until a lane or the connection is closed.
func (c *Connection) watch(lane *Connection) {
	select {
	case <-c.closed:
	case <-lane.closed:
		select {
		case c.lost <- lane.closedByServer():
		default: // another lane has already reported its reason
		}
	}
}

// end returns all connections, and makes the connection refuse further lanes.
func (c *Connection) end() []*Connection {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	return c.all()
}

// all returns the connection and its open lanes.
func (c *Connection) all() []*Connection {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*Connection{c}, c.lanes...)
}

// conns returns the NATS connections of this connection and its open lanes.
func (c *Connection) conns() (conns []*nats.Conn) {
	for _, conn := range c.all() {
		conns = append(conns, conn.Conn)
	}
	return conns
}
