package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// distance is a proxy that puts a NATS server further away: all data is delayed in each direction, as between machines. So the
// round trips that an action waits for can be counted, whatever else the machine has to do.
type distance struct {
	listener net.Listener
	server   string
	oneWay   time.Duration
	end      context.CancelFunc
	running  sync.WaitGroup
}

// newDistance listens on a port of its own in front of a server, which is given as host and port.
func newDistance(ctx context.Context, server string, oneWay time.Duration) (*distance, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("bench: listen in front of NATS: %w", err)
	}
	d := &distance{listener: listener, server: server, oneWay: oneWay}
	ctx, d.end = context.WithCancel(context.WithoutCancel(ctx))
	d.running.Go(func() { d.accept(ctx) })
	return d, nil
}

func (d *distance) address() string { return d.listener.Addr().String() }

// close ends all connections.
func (d *distance) close() {
	d.end()
	_ = d.listener.Close()
	d.running.Wait()
}

func (d *distance) accept(ctx context.Context) {
	for {
		near, err := d.listener.Accept()
		if err != nil {
			return // it has been closed
		}
		far, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.server)
		if err != nil {
			_ = near.Close() // the client tries again
			continue
		}
		d.running.Go(func() { d.connect(ctx, near, far) })
	}
}

// connect carries one connection until one of its sides ends.
func (d *distance) connect(ctx context.Context, near, far net.Conn) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	stop := context.AfterFunc(ctx, func() {
		_ = near.Close()
		_ = far.Close()
	})
	defer stop()
	var ways sync.WaitGroup
	for _, way := range []struct{ from, to net.Conn }{{near, far}, {far, near}} {
		ways.Go(func() {
			defer end()
			d.carry(ctx, way.from, way.to)
		})
	}
	ways.Wait()
}

// parcel is the data of one read, and when it arrives.
type parcel struct {
	data []byte
	at   time.Time
}

const (
	// parcels is how many may be on their way in one direction, parcelBytes how large they are.
	parcels     = 4096
	parcelBytes = 16 << 10
)

// carry carries data from one side to the other. The bandwidth is not limited: what is read is on its way at once.
func (d *distance) carry(ctx context.Context, from io.Reader, to io.Writer) {
	way := make(chan parcel, parcels)
	var delivery sync.WaitGroup
	delivery.Go(func() {
		for p := range way {
			if sleep.For(ctx, time.Until(p.at)) != nil {
				continue // until nothing more comes
			}
			_, _ = to.Write(p.data) // an error shows where it is read
		}
	})
	defer delivery.Wait()
	defer close(way)
	buffer := make([]byte, parcelBytes)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			way <- parcel{append([]byte(nil), buffer[:n]...), time.Now().Add(d.oneWay)}
		}
		if err != nil {
			return
		}
	}
}
