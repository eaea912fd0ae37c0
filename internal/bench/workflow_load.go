package bench

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdkclient "go.temporal.io/sdk/client"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// sample collects the workflows of one load. It is safe for concurrent use.
type sample struct {
	within span

	mu           sync.Mutex
	code, result histogram
	// all, errs and completed count the workflows that were asked for, those that failed, and those whose result came within the span.
	all, errs, completed int
	last                 error
	// done is when the last result came.
	done time.Time
}

func newSample(within span) *sample {
	return &sample{within: within, code: newHistogram(), result: newHistogram()}
}

// add adds a workflow. Latencies are of those that were asked for within the span.
func (s *sample) add(r workflowRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all++
	if r.err != nil {
		s.errs++
		s.last = r.err
		return
	}
	if r.done.After(s.done) {
		s.done = r.done
	}
	if s.within.has(r.done) {
		s.completed++
	}
	if s.within.has(r.asked) {
		s.code.add(r.began.Sub(r.asked))
		s.result.add(r.done.Sub(r.asked))
	}
}

// closedLoad measures clients that wait for their results, and returns how many workflows were completed per second.
func (s *session) closedLoad(ctx context.Context, c sdkclient.Client, kind, load string, clients int) (Rate, error) {
	m, err := s.beginLoad(ctx, kind, load)
	if err != nil {
		return 0, err
	}
	m.load.Clients = clients
	var next atomic.Int64
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for ctx.Err() == nil && time.Now().Before(m.within.to) {
				m.add(s.runWorkflow(ctx, c, kind, s.workflowID(kind, load, int(next.Add(1)))))
			}
		})
	}
	if err := s.until(ctx, kind+", "+load, m.within.to); err != nil {
		return 0, err
	}
	running.Wait()
	return s.endLoad(ctx, m)
}

// openLoad measures starts at a rate, whatever is completed. Then it waits until everything is completed that was started.
func (s *session) openLoad(ctx context.Context, c sdkclient.Client, kind, load string, rate float64) error {
	m, err := s.beginLoad(ctx, kind, load)
	if err != nil {
		return err
	}
	m.load.Offered = Rate(rate)
	id := func(i int) string { return s.workflowID(kind, load, i) }
	s.startAtRate(ctx, c, m, id, func() bool {
		s.config.Progress(kind+", "+load, int(time.Since(m.began)/time.Second), int(m.within.to.Sub(m.began)/time.Second))
		return time.Now().Before(m.within.to)
	})
	_, err = s.endLoad(ctx, m)
	return err
}

// startAtRate starts the workflows of a load for as long as another one may begin, and waits until all of them have ended.
func (s *session) startAtRate(ctx context.Context, c sdkclient.Client, m *loadRun, id func(int) string, another func() bool) {
	atRate(ctx, m.began, float64(m.load.Offered), another, func(i int) { m.add(s.runWorkflow(ctx, c, m.load.Kind, id(i))) })
}

// atRate calls do with 0, 1 and so on, each in a goroutine, at a rate a second, for as long as another one may begin. It returns when all calls have.
func atRate(ctx context.Context, began time.Time, rate float64, another func() bool, do func(i int)) {
	var running sync.WaitGroup
	for begun := 0; ctx.Err() == nil && another(); _ = sleep.For(ctx, tickOfStarts) {
		for due := int(time.Since(began).Seconds() * rate); begun < due; begun++ {
			i := begun // the goroutine begins later
			running.Go(func() { do(i) })
		}
	}
	running.Wait()
}

// besideRate is how many small workflows a second run beside something else, if no rate is given.
const besideRate = 50

// beside starts small workflows at a rate while do works, and notes how long they took.
func (s *session) beside(ctx context.Context, c sdkclient.Client, load string, id func(int) string, do func() error) error {
	now := time.Now()
	m := &loadRun{sample: newSample(span{now, now.Add(time.Hour)}), load: WorkflowLoad{Kind: kindEmpty, Load: load}, began: now}
	m.load.Offered = Rate(cmp.Or(s.Rate, besideRate))
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		failed = do()
	}()
	s.startAtRate(ctx, c, m, id, func() bool { return !closed(done) })
	<-done
	if failed != nil {
		return failed
	}
	m.within.to = time.Now()
	s.note(ctx, m, m.figures())
	return context.Cause(ctx)
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// alone is [session.beside] with nothing else, for a time.
func (s *session) alone(ctx context.Context, c sdkclient.Client, load string, id func(int) string) error {
	return s.beside(ctx, c, load, id, func() error { return s.until(ctx, load, time.Now().Add(time.Duration(s.Duration))) })
}

// tickOfStarts is how often the workflows are started that are due.
const tickOfStarts = 5 * time.Millisecond

// loadRun is the measurement of one load.
type loadRun struct {
	*sample
	load  WorkflowLoad
	began time.Time
	from  loadGauge
}

// loadGauge is what was used up to a moment.
type loadGauge struct {
	gauge
	published, bytes uint64
}

func (s *session) loadGauge(ctx context.Context) (loadGauge, error) {
	g, err := s.gauge(ctx)
	if s.serverApart() || s.foreign() {
		return loadGauge{gauge: g}, err
	}
	stats := s.conn.Conn.Stats()
	return loadGauge{g, stats.OutMsgs, stats.OutBytes}, err
}

// beginLoad begins a load: first its warm-up, then the measurement.
func (s *session) beginLoad(ctx context.Context, kind, load string) (*loadRun, error) {
	from, err := s.loadGauge(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	begin := now.Add(time.Duration(s.Warmup))
	return &loadRun{
		sample: newSample(span{begin, begin.Add(time.Duration(s.Duration))}), load: WorkflowLoad{Kind: kind, Load: load}, began: now, from: from,
	}, nil
}

// endLoad notes the figures, once all workflows have ended. What was used is divided among all of them, those of the warm-up included.
func (s *session) endLoad(ctx context.Context, m *loadRun) (Rate, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err := s.awaitTimers(ctx); err != nil {
		return 0, err
	}
	to, err := s.loadGauge(ctx)
	if err != nil {
		return 0, err
	}
	w := m.figures()
	s.divide(&w, m.from, to, m.all-m.errs)
	s.note(ctx, m, w)
	return w.Completed, nil
}

// note adds the figures of a load to the result.
func (s *session) note(ctx context.Context, m *loadRun, w WorkflowLoad) {
	s.result.count(m.all, m.all-m.errs)
	s.result.Workflows = append(s.result.Workflows, w)
	if m.last != nil {
		s.config.Logger.WarnContext(ctx, "workflows failed", "kind", w.Kind, "load", w.Load, "count", m.errs, "last", m.last)
	}
}

// awaitTimers waits until all delayed messages have come, also those of workflows that have ended meanwhile: they are part of the load.
func (s *session) awaitTimers(ctx context.Context) error {
	if s.foreign() {
		return nil
	}
	most := 0
	err := s.await(ctx, "waiting for timers", func() (int, int, error) {
		left := 0
		for shard := range s.cluster.Facts.Shards {
			stream, err := s.js.Stream(ctx, s.names.TaskStream(shard))
			if err != nil {
				return 0, 0, fmt.Errorf("bench: look for timers: %w", err)
			}
			const others = 3 // that are always there: the pulse of the shard, its last beat, and the anchor
			left += max(int(stream.CachedInfo().State.Msgs)-others, 0)
		}
		most = max(most, left)
		return most - left, most, nil
	})
	return cmp.Or(err, s.settle(ctx))
}

// figures returns what was measured of the workflows themselves.
func (m *loadRun) figures() WorkflowLoad {
	w := m.load
	w.Completed, w.CompletedToTheLast = Rate(m.within.per(m.completed)), Rate(float64(m.all-m.errs)/m.done.Sub(m.began).Seconds())
	w.Count, w.Errors = int(m.result.hdr.TotalCount()), m.errs
	w.FirstCode, w.Result = m.code.quantiles(), m.result.quantiles()
	return w
}

// divide notes what each of the workflows has used.
func (s *session) divide(w *WorkflowLoad, from, to loadGauge, workflows int) {
	if workflows == 0 {
		return
	}
	n := float64(workflows)
	w.Messages, w.MessagesByStream = to.traffic.each(from.traffic, workflows)
	w.Bytes = Rate((float64(to.traffic.bytes) - float64(from.traffic.bytes)) / n)
	w.Published, w.PublishedBytes = Rate(float64(to.published-from.published)/n), Rate(float64(to.bytes-from.bytes)/n)
	each := func(d time.Duration) Milliseconds { return Milliseconds(d.Seconds() * 1000 / n) }
	w.CPU = each(total(to.usages).cpu - total(from.usages).cpu)
	w.WorkerCPU = each(to.usages[processWorker].cpu - from.usages[processWorker].cpu)
	if s.serverApart() {
		w.ServerCPU = each(s.server(to.usages).cpu - s.server(from.usages).cpu)
	}
}
