package frontend

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// startNamespaces keeps what is known of namespaces and of the other frontends, until ctx ends or the function that it returns
// is called, which says good-bye to the others.
func (f *Frontend) startNamespaces(ctx context.Context, id string) (stop func(), err error) {
	strangers := make(chan struct{}, 1)
	heard, err := f.config.Conn.Subscribe(f.config.Names.FrontendBeat(), func(message *nats.Msg) {
		var b beat
		if json.Unmarshal(message.Data, &b) != nil || b.ID == "" || b.ID == id || !f.api.peers.hear(b, f.config.Now()) {
			return
		}
		select {
		case strangers <- struct{}{}:
		default: // one answer is enough for several
		}
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f.api.namespaces.table.Run(ctx) })
	running.Go(func() { f.beats(ctx, id, strangers) })
	return func() {
		cancel()
		running.Wait()
		_ = heard.Unsubscribe() // it fails if the connection is closed
		f.beat(beat{ID: id, Leaving: true})
	}, nil
}

// beats tells the other frontends that this one is there until ctx ends, and tells a stranger at once.
func (f *Frontend) beats(ctx context.Context, id string, strangers <-chan struct{}) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	f.beat(beat{ID: id})
	for {
		select {
		case <-ctx.Done():
			return
		case <-strangers:
			f.beat(beat{ID: id})
		case <-tick.C:
			f.beat(beat{ID: id, Seconds: beatEvery.Seconds(), Namespaces: f.api.rateLimits.turn(f.api.namespaces.isKnown)})
		}
	}
}

// beat sends one beat. A lost one is made good by the next.
func (f *Frontend) beat(b beat) {
	data, err := json.Marshal(b)
	if err == nil {
		err = f.config.Conn.Publish(f.config.Names.FrontendBeat(), data)
	}
	if err != nil {
		f.config.Logger.Debug("other frontends not told of this one", "error", err)
	}
}
