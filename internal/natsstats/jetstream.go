package natsstats

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// freshFor is for how long an answer of JetStream is recent enough.
	freshFor = 10 * time.Second
	// patience is how long a collection of metrics waits for JetStream.
	patience = 2 * time.Second
)

// Config is what [ObserveJetStream] needs. All fields are required.
type Config struct {
	JS     jetstream.JetStream
	Names  subjects.Names
	Shards int
	Logger *slog.Logger
	Now    func() time.Time
}

// ObserveJetStream shows the state of the streams and consumers of an installation until stop is called. While JetStream does not
// answer, it shows only that.
func ObserveJetStream(config Config) (stop func()) {
	s := &site{Config: config}
	return metrics.Observe(s.observe, metrics.JetStreamUp, metrics.StreamMessages, metrics.StreamSize, metrics.StreamReplicas,
		metrics.StreamReplicasWanted, metrics.ConsumerPending, metrics.ConsumerAckPending, metrics.ConsumerRedelivered,
		metrics.TimersPending)
}

// site is an installation. It is safe for concurrent use: callers that come during a request wait for its answer.
type site struct {
	Config

	mu      sync.Mutex
	asked   time.Time
	up      bool
	streams []stream
}

// stream is what JetStream has said about a stream.
type stream struct {
	name      string
	state     jetstream.StreamState
	current   int // replicas that are up to date
	wanted    int
	delayed   bool // it has timers
	anchors   int  // messages that nobody takes, and that are not timers
	consumers []*jetstream.ConsumerInfo
}

func (s *site) observe(ctx context.Context, o metrics.Observer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh(ctx)
	o.Bool(metrics.JetStreamUp, s.up)
	for i := range s.streams {
		s.streams[i].observe(o)
	}
}

// refresh asks JetStream, unless it did so a moment ago.
func (s *site) refresh(ctx context.Context) {
	now := s.Now()
	if !s.asked.IsZero() && now.Sub(s.asked) < freshFor {
		return
	}
	s.asked = now
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	streams, err := s.survey(ctx)
	if err != nil {
		s.Logger.WarnContext(ctx, "no metrics of JetStream", "error", err)
	}
	s.up, s.streams = err == nil, streams
}

func (s *stream) observe(o metrics.Observer) {
	o.Gauge(metrics.StreamMessages, float64(s.state.Msgs), s.name)
	o.Gauge(metrics.StreamSize, float64(s.state.Bytes), s.name)
	o.Gauge(metrics.StreamReplicas, float64(s.current), s.name)
	o.Gauge(metrics.StreamReplicasWanted, float64(s.wanted), s.name)
	for _, c := range s.consumers {
		o.Gauge(metrics.ConsumerPending, float64(c.NumPending), s.name, c.Name)
		o.Gauge(metrics.ConsumerAckPending, float64(c.NumAckPending), s.name, c.Name)
		o.Gauge(metrics.ConsumerRedelivered, float64(c.NumRedelivered), s.name, c.Name)
	}
	if s.delayed {
		o.Gauge(metrics.TimersPending, float64(s.timers()), s.name)
	}
}

// pulses is how many messages of a task stream belong to its pulse: the timer, and its last delivery.
const pulses = 2

// timers returns how many messages no consumer has to handle. The number is not exact, because the counts are from different
// moments.
func (s *stream) timers() int {
	timers := int(s.state.Msgs) - s.anchors - pulses
	for _, c := range s.consumers {
		timers -= int(c.NumPending) + c.NumAckPending
	}
	return max(timers, 0)
}
