package taskqueue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The defaults of [Config].
const (
	defaultPeriod    = 15 * time.Second
	defaultThreshold = time.Minute
)

// Config is what a [Watcher] needs. JS is required; the zero value of every other field means its default.
type Config struct {
	JS jetstream.JetStream
	// Names are the names of the installation. Default: subjects.Default().
	Names subjects.Names
	// Period is how often to look. Default: 15 s.
	Period time.Duration
	// Threshold is how long runs must wait on a queue without a worker before the event history is told. Default: 1 minute.
	Threshold time.Duration
	// Namespaces says how long events are kept. Default: as long as the event stream keeps them.
	Namespaces namespaces.Source
	// Logger logs failures. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() (Config, error) {
	if c.JS == nil {
		return c, errors.New("taskqueue: Config.JS is required")
	}
	if c.Names == (subjects.Names{}) {
		c.Names = subjects.Default()
	}
	if c.Period <= 0 {
		c.Period = defaultPeriod
	}
	if c.Threshold <= 0 {
		c.Threshold = defaultThreshold
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	return c, nil
}

// Watcher watches all task queues of an installation. [New] makes it.
type Watcher struct {
	config    Config
	bus       *bus.NATS
	events    *events.Publisher
	survey    *survey
	listeners *listeners
	tracker   *tracker
	gauges    *instruments
}

// New returns a watcher that does nothing until Run is called. An error means that the configuration is wrong.
func New(config Config) (*Watcher, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	own := bus.New(config.JS)
	// Clients choose how many queues there are.
	config.Logger = flood.Limit(config.Logger.With("component", "taskqueue"))
	return &Watcher{
		config: config, bus: own, events: events.NewPublisher(own, config.Names, config.Namespaces),
		survey:    &survey{js: config.JS, names: config.Names, strays: map[Queue]struct{}{}},
		listeners: &listeners{conn: config.JS.Conn(), names: config.Names, open: map[Queue]*listener{}},
		tracker:   newTracker(config.Threshold),
	}, nil
}

// Run looks at the queues every Config.Period until ctx ends, and then returns nil. It logs failures and tries again the next
// time. It may be called once.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.bus.Close()
	defer w.listeners.close()
	w.gauges = newInstruments()
	defer w.gauges.close()
	tick := time.NewTicker(w.config.Period)
	defer tick.Stop()
	for {
		if err := w.round(ctx); err != nil && ctx.Err() == nil {
			w.config.Logger.WarnContext(ctx, "task queues not looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// round looks at all queues once.
func (w *Watcher) round(ctx context.Context) error {
	all, err := w.survey.run(ctx)
	if err != nil {
		return err
	}
	failed := w.listeners.listen(all)
	for _, a := range w.tracker.observe(w.config.Now(), all) {
		if err := w.raise(ctx, a); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		w.tracker.told(a.Queue)
	}
	if w.gauges != nil {
		w.gauges.set(w.tracker.gauges())
	}
	return failed
}

// raise tells the history of an alarm, unless another watcher has done so.
func (w *Watcher) raise(ctx context.Context, a alarm) error {
	w.config.Logger.WarnContext(ctx, "no worker on a task queue",
		"namespace", a.Namespace, "task_queue", a.Name, "waiting", a.Waiting, "since", a.Since)
	event := eventOf(w.config.Names, a, w.config.Now())
	if schedule.ValidateNamespace(event.Namespace) != nil || event.ScheduleID == "" {
		return nil // the request names no schedule whose history could tell of it
	}
	key := schedule.Key{Namespace: event.Namespace, ID: event.ScheduleID}
	last, err := w.bus.Last(ctx, w.config.Names.EventStream(), w.config.Names.Event(key, event.Kind))
	switch {
	case err == nil && last.Header.Get(jetstream.MsgIDHeader) == event.ID:
		return nil
	case err != nil && !errors.Is(err, bus.ErrNone):
		return err
	}
	return w.events.Publish(ctx, event)
}
