package limits

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Limits holds the requests of each namespace to its limit. Several frontends share a limit equally: NATS spreads the requests over all of
// them, so together they come close to it. Make it with [New]. It is safe for concurrent use.
type Limits struct {
	rates *rateLimits
	peers *peers
}

// New returns limits for a frontend that knows no other frontends yet.
func New() *Limits { return &Limits{rates: newRateLimits(), peers: newPeers()} }

// Admit counts a request. If the request comes faster than the limit of its namespace allows, Admit refuses it with the code
// resource_exhausted and the time after which it would be accepted.
func (l *Limits) Admit(namespace *schedule.Namespace, now time.Time) *schedule.Error {
	return l.rates.admit(namespace, l.peers.count(now), now)
}

// Usage returns how many requests of a namespace this frontend has counted, and the other frontends have told of. Schedules and pending
// runs are zero.
func (l *Limits) Usage(namespace string, now time.Time) *schedule.NamespaceUsage {
	perSecond, refused := l.peers.load(namespace, now)
	recent, refusedHere := l.rates.load(namespace)
	perSecond += rateOf(recent, beatEvery.Seconds())
	return &schedule.NamespaceUsage{
		RequestsPerSecond: math.Round(perSecond*10) / 10,
		RequestsRefused:   refused + refusedHere, Frontends: l.peers.count(now),
	}
}

// Frontend is the frontend that tells the others of itself. All fields are required.
type Frontend struct {
	// ID is a name that no other frontend has. Subject is where frontends listen to each other.
	ID      string
	Conn    *nats.Conn
	Subject string
	// Exists reports whether there is a namespace. What was counted for others is forgotten.
	Exists func(namespace string) bool
	Logger *slog.Logger
	Now    func() time.Time
}

// Join listens to the other frontends and tells them every two seconds that this one is there, until ctx ends or stop is called. Stop
// says good-bye to them. The error is an error of NATS.
func (l *Limits) Join(ctx context.Context, f Frontend) (stop func(), err error) {
	strangers := make(chan struct{}, 1)
	heard, err := f.Conn.Subscribe(f.Subject, func(message *nats.Msg) {
		var b beat
		if json.Unmarshal(message.Data, &b) != nil || b.ID == "" || b.ID == f.ID || !l.peers.hear(b, f.Now()) {
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
	running.Go(func() { l.beats(ctx, f, strangers) })
	return func() {
		cancel()
		running.Wait()
		_ = heard.Unsubscribe() // it fails if the connection is closed
		f.send(beat{ID: f.ID, Leaving: true})
	}, nil
}

// beats tells the other frontends that this one is there until ctx ends. It tells a stranger at once.
func (l *Limits) beats(ctx context.Context, f Frontend, strangers <-chan struct{}) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	f.send(beat{ID: f.ID})
	for {
		select {
		case <-ctx.Done():
			return
		case <-strangers:
			f.send(beat{ID: f.ID})
		case <-tick.C:
			f.send(beat{ID: f.ID, Seconds: beatEvery.Seconds(), Namespaces: l.rates.turn(f.Exists)})
		}
	}
}

// send sends one beat. If it is lost, the next one makes up for it.
func (f *Frontend) send(b beat) {
	data, err := json.Marshal(b)
	if err == nil {
		err = f.Conn.Publish(f.Subject, data)
	}
	if err != nil {
		f.Logger.Debug("other frontends not told of this one", "error", err)
	}
}
