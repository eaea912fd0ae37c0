package chaos

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// observer is the connection of a run to its installation.
type observer struct {
	conn   *nats.Conn
	closed chan struct{}
	client *client.Client
	reader *events.Reader

	// told are the events read so far, each once. after is the sequence of the last one.
	told  []schedule.Event
	known map[string]bool
	after uint64
}

// observe connects to NATS, now or as soon as it can be reached.
func observe(urls string) (*observer, error) {
	o := &observer{closed: make(chan struct{}), known: map[string]bool{}}
	var err error
	o.conn, err = nats.Connect(urls, nats.Name("carillon-chaos"), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(100*time.Millisecond), nats.PingInterval(2*time.Second), nats.MaxPingsOutstanding(2),
		nats.ReconnectBufSize(-1), nats.ClosedHandler(func(*nats.Conn) { close(o.closed) }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})) // faults are the purpose of the run
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(o.conn)
	if err == nil {
		o.reader = events.NewReader(js, subjects.Default())
		o.client, err = client.New(o.conn, client.Config{Identity: "chaos", Timeout: callTimeout})
	}
	if err != nil {
		o.close()
	}
	return o, err
}

func (o *observer) close() {
	o.conn.Close()
	<-o.closed
}

// awaitAPI waits until a request is answered.
func (o *observer) awaitAPI(ctx context.Context) error {
	for {
		_, err := o.client.Count(ctx, "")
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), err)
		}
		_ = sleep.For(ctx, repeatWait)
	}
}

// eventPage is how many events are read at once.
const eventPage = 1000

// readEvents reads the events that have come since its last call.
func (o *observer) readEvents(ctx context.Context) error {
	for {
		page, err := o.reader.Page(ctx, events.Query{}, o.after, eventPage)
		if err != nil {
			return err
		}
		for _, entry := range page.Entries {
			if !o.known[entry.ID] {
				o.known[entry.ID] = true
				o.told = append(o.told, entry.Event)
			}
		}
		o.after = max(o.after, page.Next)
		if !page.More {
			return nil
		}
	}
}

// schedules describes all schedules. busy counts those where something waits or runs.
func (o *observer) schedules(ctx context.Context) (all map[string]schedule.Description, busy int, err error) {
	all = map[string]schedule.Description{}
	for d, err := range o.client.All(ctx, idPrefix) {
		if err != nil {
			return nil, 0, err
		}
		all[d.ID] = d
		if d.Info.BufferSize > 0 || len(d.Info.RunningWorkflows) > 0 || len(d.Info.Backfills) > 0 {
			busy++
		}
	}
	return all, busy, nil
}

func ledgerDir(dir string) string { return filepath.Join(dir, "ledger") }
