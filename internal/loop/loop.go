package loop

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Handler is what a pool does. Its methods are called concurrently, but Handle never twice at a time for one schedule.
type Handler[M any] interface {
	// Decode reads a message. An error sends it to the dead letter stream.
	Decode(task subjects.Task, msg jetstream.Msg) (M, error)
	// Handle makes one transition for the messages of one schedule. When the loop stops, the context ends after the drain timeout.
	Handle(ctx context.Context, key schedule.Key, group []Message[M]) Verdict
}

// Patient is a [Handler] for which some messages may wait while their schedule rests. Any other message ends the rest.
type Patient[M any] interface {
	// MayWait reports whether a message may wait. It is called with the loop locked.
	MayWait(body M) bool
}

// Causal is a [Handler] that chooses the message whose trace a transition continues. If that message has been held, a new trace begins: a
// schedule that is due every second holds one message forever.
type Causal[M any] interface {
	// Cause returns the index of that message.
	Cause(group []Message[M]) int
}

// Describer is a [Handler] that adds information to the span of a transition.
type Describer[M any] interface {
	// Describe adds the contents of the messages to the spans.
	Describe(span *telemetry.Transition, group []Message[M])
}

// Config sets up a Loop. Zero fields take the defaults they name.
type Config struct {
	// Bus delivers the messages of the pool and takes its dead letters. The loop does not close it.
	Bus   bus.Bus
	Names subjects.Names
	// Pool is the name of the pool and of its consumers, such as subjects.PoolGenerator.
	Pool   string
	Shards int
	// Namespaces says how long the events of dead letters are kept; nil means as long as the stream keeps them.
	Namespaces namespaces.Source
	// Logger should name the pool; slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time
	// Concurrency is how many groups are handled at once; 64 by default.
	Concurrency int
	// MaxInFlight bounds the messages held at once; 8,192 by default, and at least one for each consumer.
	MaxInFlight int
	// MaxDeliveries is the number of deliveries after which a message that fails permanently becomes a dead letter; 10 by default. With the
	// pauses between them, 200 ms doubling to 10 s, that takes 43 s. This is long enough for the effects of a rolling release or a slow
	// replica, and short enough for a person who waits for the schedule.
	MaxDeliveries uint64
	// DrainTimeout is how long a stop waits for groups in progress before it ends their context; 3 s by default.
	DrainTimeout time.Duration
	// Vitals receive the state of the loop; may be nil.
	Vitals *Vitals

	// consumers are the consumers of the pool, in all shards.
	consumers []subjects.PoolConsumer
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	if c.Concurrency == 0 {
		c.Concurrency = 64
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 8192
	}
	c.consumers = nil
	for shard := range c.Shards {
		c.consumers = append(c.consumers, c.Names.ConsumersOfPool(shard, c.Pool)...)
	}
	c.MaxInFlight = max(c.MaxInFlight, len(c.consumers)) // each pull reserves one while it waits
	if c.MaxDeliveries == 0 {
		c.MaxDeliveries = 10
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 3 * time.Second
	}
	return c
}

// Loop runs one pool. Make it with New, run it once.
type Loop[M any] struct {
	config  Config
	handler Handler[M]
	slots   chan struct{} // one for each message in flight
	metrics instruments
	events  *events.Publisher // of dead letters

	mu       sync.Mutex
	groups   map[schedule.Key]*group[M]
	ready    []turn[M]        // groups to handle, in order; empty while a handler is idle
	handlers int              // goroutines that handle groups
	idle     []chan<- turn[M] // where idle handlers wait
	stopping bool
	running  sync.WaitGroup

	keepTimer *time.Timer // for the next extension of held messages
	keepSet   bool        // the timer runs

	tellMu sync.Mutex
	told   map[string]*rate.Limiter // limits of events about completions, by namespace
}

// New returns a loop that is not running yet.
func New[M any](config Config, handler Handler[M]) *Loop[M] {
	config = config.withDefaults()
	config.Logger = flood.Limit(config.Logger) // others decide how many messages there are, and of what kind
	return &Loop[M]{
		config:  config,
		handler: handler,
		slots:   make(chan struct{}, config.MaxInFlight),
		metrics: instruments{config.Pool},
		events:  events.NewPublisher(config.Bus, config.Names, config.Namespaces),
		groups:  map[schedule.Key]*group[M]{},
		told:    map[string]*rate.Limiter{},
	}
}

// Run handles messages until ctx ends. Then it stops in order: it pulls no more messages, gives back what it holds, and waits for the
// groups in progress. It returns nil after such a stop. It returns an error if the messages of a consumer permanently cannot be pulled.
func (l *Loop[M]) Run(ctx context.Context) error {
	work, cancelWork := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelWork()

	var keeping sync.WaitGroup
	keep, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	l.mu.Lock()
	l.keepTimer, l.keepSet = time.NewTimer(keepEvery), true
	l.mu.Unlock()
	keeping.Go(func() { l.keepAlive(keep) })
	defer l.metrics.observe(l.inFlight)()

	l.config.Vitals.begin(len(l.config.consumers), l.longest)
	pulling, pullCtx := errgroup.WithContext(ctx)
	for _, consumer := range l.config.consumers {
		pulling.Go(func() error { return l.pull(pullCtx, work, consumer) })
	}
	err := pulling.Wait()

	l.stop(cancelWork)
	stopKeeping() // not before: groups in progress need their messages until the end
	keeping.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// inFlight returns about how many messages the loop has. Each pull reserves a slot while it waits, which does not count.
func (l *Loop[M]) inFlight() int { return max(len(l.slots)-len(l.config.consumers), 0) }

// pull takes the messages of one consumer until ctx ends. A consumer that vanishes or fails is looked up again.
func (l *Loop[M]) pull(ctx, work context.Context, consumer subjects.PoolConsumer) error {
	for ctx.Err() == nil {
		err := l.pullOnce(ctx, work, consumer)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		if l.config.Bus.Closed() {
			return fmt.Errorf("loop: pull %s of stream %s: %w", l.config.Pool, consumer.Stream, err)
		}
		l.config.Logger.WarnContext(ctx, "pull failed, will try again", "stream", consumer.Stream, "error", err)
		_ = sleep.For(ctx, time.Second)
	}
	return nil
}

const (
	// drainLimit is how long a stop waits for NATS to confirm that it sends no more messages.
	drainLimit = 2 * time.Second
	// flushLimit is how long a stop waits for the last acknowledgements to leave.
	flushLimit = time.Second
)

func (l *Loop[M]) pullOnce(ctx, work context.Context, consumer subjects.PoolConsumer) error {
	messages, err := l.config.Bus.Pull(ctx, consumer.Stream, consumer.Config)
	if err != nil {
		return err
	}
	defer messages.Stop()
	defer l.config.Vitals.pulls()()
	// Drain lets Next return the messages that the server has already sent, so that they can be given back. If NATS is away, it takes its
	// time.
	drained, cancelDrain := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelDrain()
	stopDrain := context.AfterFunc(ctx, func() {
		messages.Drain()
		_ = sleep.For(drained, drainLimit)
		cancelDrain()
	})
	defer stopDrain()
	for {
		if !l.reserve(ctx) {
			return l.giveBackRest(drained, messages)
		}
		raw, err := messages.Next(drained)
		if err != nil {
			<-l.slots
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		l.take(work, raw)
	}
}

// reserve waits for room for one more message. It returns false if ctx has ended.
func (l *Loop[M]) reserve(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false // even if there is room: a stop would have to wait for the message
	}
	select {
	case l.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *Loop[M]) giveBackRest(ctx context.Context, messages bus.Deliveries) error {
	for {
		raw, err := messages.Next(ctx)
		if err != nil {
			return nil
		}
		l.giveBack(raw)
	}
}

// take decodes one message, for which a slot is reserved, and adds it to its group.
func (l *Loop[M]) take(work context.Context, raw jetstream.Msg) {
	it, err := l.decode(raw)
	if err != nil {
		// In a goroutine: the dead letter stream may be slow, and the deadlines of the messages in the client run.
		l.running.Go(func() {
			l.deadLetter(work, raw, err)
			<-l.slots
		})
		return
	}
	l.metrics.arrived(it.Deliveries)
	l.add(work, it)
}

func (l *Loop[M]) decode(raw jetstream.Msg) (*item[M], error) {
	meta, err := raw.Metadata()
	if err != nil {
		return nil, err
	}
	task, err := l.config.Names.ParseTask(raw.Subject())
	if err != nil {
		return nil, err
	}
	body, err := l.handler.Decode(task, raw)
	if err != nil {
		return nil, err
	}
	return &item[M]{
		place: place{meta.Stream, meta.Sequence.Stream},
		Message: Message[M]{
			Task: task, Body: body, Header: raw.Headers(), Stored: meta.Timestamp, Deliveries: meta.NumDelivered,
		},
		raw: raw, touched: l.config.Now(),
	}, nil
}

// stop gives back the messages that are held or waiting, and waits for the groups in progress.
func (l *Loop[M]) stop(cancelWork context.CancelFunc) {
	l.mu.Lock()
	l.stopping = true
	l.handlers -= len(l.idle)
	for _, turns := range l.idle {
		close(turns)
	}
	l.idle = nil
	for key, g := range l.groups {
		g.cancelHold()
		l.returnItems(g.take())
		if !g.busy {
			delete(l.groups, key)
		}
	}
	l.mu.Unlock()

	timer := time.AfterFunc(l.config.DrainTimeout, cancelWork)
	defer timer.Stop()
	l.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), flushLimit) //permit:context.Background the run is over
	defer cancel()
	if err := l.config.Bus.Flush(ctx); err != nil {
		l.config.Logger.Debug("acknowledgements may be lost, they are repeated after the acknowledgement wait", "error", err)
	}
}
