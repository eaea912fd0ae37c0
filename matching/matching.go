package matching

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// group is the queue group of matching on the subject of hints.
	group = "matching"
	// defaultEvery is how often to look for queues with a backlog.
	defaultEvery = 5 * time.Second
	// defaultPatience is how long a task is offered before its message must be kept alive.
	defaultPatience = 4 * time.Second
	// defaultConcurrency is how many tasks of a queue are offered at once.
	defaultConcurrency = 32
	// defaultAttempts is how often a task is tried whose workflow cannot be read.
	defaultAttempts = 10
	// openings is how many queues are looked at at once, before their drains begin.
	openings = 16
	// inbound is how many hints may wait. Those that are lost are made up for within seconds.
	inbound = 1 << 13
)

// Config is what [New] needs. Starter is required, and JS, unless Bus and Conn are set.
type Config struct {
	JS jetstream.JetStream
	// Bus and Conn are the access to NATS; that of JS by default. Matching closes neither.
	Bus  bus.Streams
	Conn bus.Conn
	// Names are the names of the installation. Default: subjects.Default().
	Names subjects.Names
	// Starter asks history to start a task.
	Starter Starter
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Every is how often to look for queues with a backlog; 5 s by default. Patience is how long a task is offered at a time; 4 s by
	// default. Concurrency is how many tasks of a queue are offered at once; 32 by default.
	Every, Patience time.Duration
	Concurrency     int
	// Attempts is how often a task is tried whose workflow cannot be read, before it becomes a dead letter; 10 by default, in about 45 s.
	Attempts uint64
}

// Starter asks history to start tasks. It must be safe for concurrent use.
type Starter interface {
	// Start starts a task, and hands it to a poll that is reserved for it. [ErrForget] means that the task is no longer wanted. After any
	// error the poll has got nothing, unless the error came too late to know.
	Start(ctx context.Context, task offer.Task, to offer.Poller) error
}

// ErrForget is the error of a [Starter] for a task that is no longer wanted.
var ErrForget = errors.New("matching: the task is no longer wanted")

func (c Config) withDefaults() (Config, error) {
	if c.Starter == nil || c.JS == nil && (c.Bus == nil || c.Conn == nil) {
		return c, errors.New("matching: Config.Starter is required, and Config.JS or both of Config.Bus and Config.Conn")
	}
	if c.Names == (subjects.Names{}) {
		c.Names = subjects.Default()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	if c.Conn == nil {
		c.Conn = bus.Plain{Conn: c.JS.Conn()}
	}
	c.Every, c.Patience = cmp.Or(c.Every, defaultEvery), cmp.Or(c.Patience, defaultPatience)
	c.Concurrency, c.Attempts = cmp.Or(c.Concurrency, defaultConcurrency), cmp.Or(c.Attempts, defaultAttempts)
	// Namespaces have any number of queues.
	c.Logger = flood.Limit(c.Logger.With("pool", "matching"))
	return c, nil
}

// Matching serves the backlog of an installation, together with any number of others. [New] makes it.
type Matching struct {
	config  Config
	backlog backlog
	offers  *offer.Offerer
	gauges  *gauges
	ready   chan struct{}

	opening chan struct{} // has an element for each queue that is being looked at
	running sync.WaitGroup
	mu      sync.Mutex
	drains  map[offer.Queue]*drain
}

// New returns a matching that does nothing until Run is called. An error means that the configuration is wrong.
func New(config Config) (*Matching, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Matching{
		config: config, backlog: backlog{names: config.Names}, gauges: &gauges{},
		ready: make(chan struct{}), opening: make(chan struct{}, openings), drains: map[offer.Queue]*drain{},
	}, nil
}

// Ready is closed as soon as hints are heard.
func (m *Matching) Ready() <-chan struct{} { return m.ready }

// Run serves the backlog until ctx ends. Then it gives back the tasks that no poll has taken yet, and waits for the others. It may be called
// once. The error is that of a subscription.
func (m *Matching) Run(ctx context.Context) (err error) {
	conn := m.config.Conn
	m.backlog.bus = m.config.Bus
	if m.backlog.bus == nil {
		own := bus.New(m.config.JS)
		defer own.Close()
		m.backlog.bus = own
	}
	m.offers, err = offer.NewOfferer(offer.Config{
		Conn: conn, Names: m.config.Names, Logger: m.config.Logger, Now: m.config.Now,
	}, nil, metrics.OfferedBacklog)
	if err != nil {
		return err
	}
	defer m.offers.Close()
	hints := make(chan *nats.Msg, inbound)
	heard, err := conn.ChanQueueSubscribe(m.config.Names.BacklogHints(), group, hints)
	if err != nil {
		return err
	}
	close(m.ready)
	defer m.gauges.show()()
	defer m.running.Wait()
	defer conn.Unsubscribe(heard)
	m.running.Go(func() { m.look(ctx) })
	for {
		select {
		case hint := <-hints:
			if q, err := m.config.Names.ParseQueue(hint.Subject); err == nil {
				m.hint(ctx, q, offer.HintedPriority(hint))
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// look looks for queues with a backlog, again and again.
func (m *Matching) look(ctx context.Context) {
	for round := 0; ; round++ {
		contents, err := m.backlog.contents(ctx)
		switch {
		case err == nil:
			for q, has := range contents {
				m.hint(ctx, q, has.priorities...)
			}
			m.show(ctx, contents, round)
		case ctx.Err() == nil:
			m.config.Logger.WarnContext(ctx, "backlog not looked at", "error", err)
		}
		if sleep.For(ctx, m.config.Every) != nil {
			return
		}
	}
}

// hint begins to drain a queue, or tells its drain about priorities that may have tasks, and makes it look once more before it ends.
func (m *Matching) hint(ctx context.Context, q offer.Queue, priorities ...int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if d := m.drains[q]; d != nil {
		d.again = true
		for _, priority := range priorities {
			d.levels.expect(priority)
		}
		return
	}
	if ctx.Err() != nil {
		return
	}
	d := &drain{m: m, queue: q, again: true, levels: &levels{}}
	m.drains[q] = d
	m.running.Go(func() {
		for d.goOn() {
			d.run(ctx)
		}
	})
}

// goOn reports whether there was a hint since it was asked last. If not, the drain is over.
func (d *drain) goOn() bool {
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	if !d.again {
		delete(d.m.drains, d.queue)
		return false
	}
	d.again = false
	return true
}
