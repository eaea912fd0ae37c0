package streamwatch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// defaultEvery is how often a watch looks. While something is wrong, it looks twice as often.
	defaultEvery = 10 * time.Second
	// suspectFor is for how long the watch tests all streams after a message got no acknowledgement. A message is given up after
	// 5 s, and sent again after 10 s at most.
	suspectFor = 30 * time.Second
	// listLimit limits the request for the names of all streams. silentRounds is how many of these requests may stay unanswered:
	// elections are over by then.
	listLimit    = 5 * time.Second
	silentRounds = 2
	// atOnce limits how many streams are tested at a time.
	atOnce = 8
)

// Config is what a [Watch] needs. All fields except Every are required.
type Config struct {
	JS     jetstream.JetStream
	Names  subjects.Names
	Shards int
	Logger *slog.Logger
	// Unanswered returns how many messages of this process no stream has acknowledged in time, like bus.Unanswered.
	Unanswered func() uint64
	// Every is how often the watch looks; 10 s by default.
	Every time.Duration
}

// Watch watches the streams of an installation for one process. It is safe for concurrent use.
type Watch struct {
	config  Config
	streams []string
	turn    chan struct{} // has an element while a caller runs the watch

	// Only the caller that runs the watch uses these.
	next       int // the stream to test next
	unanswered uint64
	suspected  time.Time // when a message was last found without acknowledgement
	unlisted   int       // rounds in a row that did not get the names

	mu     sync.Mutex
	silent error // why the names are unknown
	bad    map[string]ProbeResult
}

// New returns a watch that has not looked yet.
func New(config Config) *Watch {
	if config.Every == 0 {
		config.Every = defaultEvery
	}
	w := &Watch{config: config, turn: make(chan struct{}, 1), unanswered: config.Unanswered(), bad: map[string]ProbeResult{}}
	for _, bucket := range config.Names.Buckets(config.Shards) {
		w.streams = append(w.streams, subjects.BucketStream(bucket))
	}
	for _, stream := range config.Names.StreamConfigs(config.Shards, 1) {
		w.streams = append(w.streams, stream.Name)
	}
	return w
}

// Run watches until ctx ends. Several roles of a process may call it: one at a time does the work, and another takes over when
// that one ends.
func (w *Watch) Run(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-w.turn }()
	defer metrics.Observe(w.observe, metrics.StreamWritable)()
	for {
		pause := w.config.Every
		if w.Waits() != "" || w.suspects() {
			pause /= 2
		}
		if sleep.For(ctx, pause) != nil {
			return nil
		}
		w.look(ctx)
	}
}

// Waits tells users which streams are missing or accept no writes, and what to do; empty while all is well. It suits the Waits of
// a health check.
func (w *Watch) Waits() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.silent != nil {
		return fmt.Sprintf("JetStream to answer, which has a quorum and its data: %v", w.silent)
	}
	for _, stream := range w.streams {
		if result, is := w.bad[stream]; is {
			return explain(w.config.Names, stream, result, len(w.bad)-1)
		}
	}
	return ""
}

// explain describes the fault of a stream, and how many other streams have one.
func explain(names subjects.Names, stream string, result ProbeResult, others int) string {
	and := ""
	if others > 0 {
		and = fmt.Sprintf("; there is something wrong with %d more, see carillon cluster health", others)
	}
	title := "stream " + stream
	switch {
	case result.Missing:
		return fmt.Sprintf("%s, which is gone: %s%s", title, topology.WhenMissing(names, stream), and)
	case result.Silent:
		return fmt.Sprintf("%s, which does not acknowledge what is stored: see whether it has a leader%s", title, and)
	}
	return fmt.Sprintf("%s, to which NATS refuses all writes since one has failed (%s): %s%s", title, result.Refused, WhenRefused, and)
}

// WhenRefused is the advice about a stream that accepts no writes.
const WhenRefused = "make room on the disk of the NATS server that leads it, and restart that server"

// look does one round.
func (w *Watch) look(ctx context.Context) {
	suspects := w.suspects()
	missing, err := w.missing(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		w.unlisted++
	} else {
		w.unlisted = 0
	}
	w.mu.Lock()
	if w.silent = nil; w.unlisted >= silentRounds {
		w.silent = err
	}
	w.mu.Unlock()
	if err != nil {
		return // no other request would be answered
	}
	results := w.try(ctx, w.due(suspects, missing), missing)
	if ctx.Err() == nil {
		w.note(results, suspects)
	}
}

// suspects reports whether messages got no acknowledgement recently.
func (w *Watch) suspects() bool {
	if count := w.config.Unanswered(); count != w.unanswered {
		w.unanswered, w.suspected = count, time.Now() //permit:time.Now it measures NATS
	}
	return !w.suspected.IsZero() && time.Since(w.suspected) < suspectFor
}

// missing returns the streams that do not exist.
func (w *Watch) missing(ctx context.Context) (missing []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, listLimit)
	defer cancel()
	there := map[string]bool{}
	names := w.config.JS.StreamNames(ctx)
	for name := range names.Name() {
		there[name] = true
	}
	if err := names.Err(); err != nil {
		return nil, err
	}
	for _, stream := range w.streams {
		if !there[stream] {
			missing = append(missing, stream)
		}
	}
	return missing, nil
}

// due returns the streams to test: all if there is a reason, otherwise the next one.
func (w *Watch) due(suspects bool, missing []string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if suspects || len(missing) > 0 || len(w.bad) > 0 {
		return w.streams
	}
	w.next = (w.next + 1) % len(w.streams)
	return w.streams[w.next : w.next+1]
}

// try tests streams in parallel, except missing ones.
func (w *Watch) try(ctx context.Context, streams, missing []string) map[string]ProbeResult {
	var mu sync.Mutex
	results := map[string]ProbeResult{}
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, stream := range streams {
		group.Go(func() error {
			result := ProbeResult{Missing: true}
			if !slices.Contains(missing, stream) {
				result = Probe(ctx, w.config.JS, stream)
			}
			mu.Lock()
			defer mu.Unlock()
			results[stream] = result
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	return results
}

// note records the results. Silence counts only if messages get no acknowledgement, because the process may lack the permission
// for the test.
func (w *Watch) note(results map[string]ProbeResult, suspects bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for stream, result := range results {
		_, was := w.bad[stream]
		switch {
		case result.OK() || result.Silent && !suspects:
			delete(w.bad, stream)
			if was {
				w.config.Logger.Info("the stream takes writes again", "stream", stream)
			}
			continue
		case !was:
			w.config.Logger.Error("the stream takes no writes", "stream", stream, "reason", explain(w.config.Names, stream, result, 0))
		}
		w.bad[stream] = result
	}
}

func (w *Watch) observe(_ context.Context, o metrics.Observer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, stream := range w.streams {
		_, bad := w.bad[stream]
		o.Bool(metrics.StreamWritable, !bad, stream)
	}
}
