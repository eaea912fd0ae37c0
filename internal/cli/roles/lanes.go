package roles

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/natsstats"
	"github.com/carillon-scheduler/carillon/internal/replica"
)

// maxLanes bounds how many connections a process has to read by.
const maxLanes = 8

// openLanes opens the connections to read that many shards by, each while it has so many messages. They end with the connection. It
// must not be called twice, or after Role.
func (c *Connection) openLanes(ctx context.Context, shards int, many uint64) (*replica.Lanes, error) {
	lanes := make([]jetstream.JetStream, min(shards, maxLanes))
	for i := range lanes {
		conn, err := c.lane(i)
		if err != nil {
			return nil, err
		}
		if err := conn.await(ctx); err != nil {
			return nil, err
		}
		c.lanes = append(c.lanes, conn)
		if lanes[i], err = jetstream.New(conn.Conn); err != nil {
			return nil, fmt.Errorf("connect to JetStream: %w", err)
		}
	}
	c.observe()
	return replica.NewLanes(shards, many, lanes...), nil
}

// all returns the connection and those to read by.
func (c *Connection) all() []*Connection { return append([]*Connection{c}, c.lanes...) }

// observe shows the metrics of all.
func (c *Connection) observe() {
	conns := make([]*nats.Conn, 0, 1+len(c.lanes))
	for _, conn := range c.all() {
		conns = append(conns, conn.Conn)
	}
	c.unobserve()
	c.unobserve = natsstats.ObserveConns(conns...)
}
