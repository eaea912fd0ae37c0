package bench

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

func triggerScenario() Scenario {
	return Scenario{
		Name:  "trigger",
		Short: "triggers, from the request to the code of the worker, one after the other",
		Takes: []string{ParamClients, ParamWarmup, ParamDuration},
		Defaults: Parameters{
			Clients: 1, Warmup: Seconds(2 * time.Second), Duration: Seconds(10 * time.Second),
		},
		measure: measureTrigger,
	}
}

// triggers are the triggers of all clients. Each client has a schedule of its own and waits for the run of one trigger before
// it asks for the next, so that a run belongs to the newest trigger of its schedule.
type triggers struct {
	arrived map[string]chan time.Time // by schedule

	mu     sync.Mutex
	seen   map[string]bool // by request ID
	counts tally
	// answers is how long the answers to the requests took.
	answers histogram
}

func newTriggers(clients int) *triggers {
	t := &triggers{arrived: map[string]chan time.Time{}, seen: map[string]bool{}, answers: newHistogram()}
	t.counts.lateness = newHistogram()
	for i := range clients {
		t.arrived[benchID(i)] = make(chan time.Time, 1)
	}
	return t
}

// note notes a run.
func (t *triggers) note(run *worker.Run, at time.Time) {
	t.mu.Lock()
	again := t.seen[run.RequestID]
	t.seen[run.RequestID] = true
	if again {
		t.counts.doubled++
	}
	t.mu.Unlock()
	if again {
		return
	}
	select {
	case t.arrived[run.ScheduleID] <- at:
	default:
		t.mu.Lock()
		t.counts.unexpected++
		t.mu.Unlock()
	}
}

// record notes the outcome of a trigger; late is negative if its run has not come.
func (t *triggers) record(answered, late time.Duration, measured bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.due++
	if late < 0 {
		t.counts.missed++
		return
	}
	t.counts.started++
	if measured {
		t.counts.lateness.add(late)
		t.answers.add(answered)
	}
}

func measureTrigger(ctx context.Context, s *session) error {
	if err := s.create(ctx, "creating schedules", s.Clients, benchID, dormant(time.Now())); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	t := newTriggers(s.Clients)
	note := t.note
	s.onRun.Store(&note)
	event, err := s.nextEvent(ctx)
	if err != nil {
		return err
	}
	begin := time.Now()
	measured := span{begin.Add(time.Duration(s.Warmup)), begin.Add(time.Duration(s.Warmup + s.Duration))}
	group, asking := errgroup.WithContext(ctx)
	for i := range s.Clients {
		group.Go(func() error { return s.triggerAgainAndAgain(asking, t, benchID(i), measured) })
	}
	group.Go(func() error { return s.gaugeBetween(asking, measured, t) })
	if err := group.Wait(); err != nil {
		return err
	}
	return s.accountTriggers(ctx, t, event, measured)
}

// triggerAgainAndAgain triggers a schedule until the measurement is over.
func (s *session) triggerAgainAndAgain(ctx context.Context, t *triggers, id string, measured span) error {
	for time.Now().Before(measured.to) {
		if err := s.triggerOnce(ctx, t, id, measured); err != nil {
			return err
		}
	}
	return nil
}

// triggerOnce triggers a schedule and waits until the code runs.
func (s *session) triggerOnce(ctx context.Context, t *triggers, id string, measured span) error {
	asked := time.Now()
	if _, err := s.client.Trigger(ctx, schedule.TriggerRequest{ID: id}); err != nil {
		return err
	}
	answered := time.Since(asked)
	late := time.Duration(-1)
	patience := time.NewTimer(s.config.Patience)
	defer patience.Stop()
	select {
	case at := <-t.arrived[id]:
		late = max(at.Sub(asked), 0)
	case <-patience.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t.record(answered, late, measured.has(asked))
	return nil
}

// gaugeBetween reads what is used during the measurement.
func (s *session) gaugeBetween(ctx context.Context, measured span, t *triggers) error {
	if err := s.until(ctx, "warming up", measured.from); err != nil {
		return err
	}
	from, err := s.begin(ctx)
	if err != nil {
		return err
	}
	t.mu.Lock()
	before := t.counts.started
	t.mu.Unlock()
	if err := s.until(ctx, "measuring", measured.to); err != nil {
		return err
	}
	to, err := s.end(ctx, from)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.result.Messages, s.result.MessagesByStream = to.traffic.each(from.traffic, t.counts.started-before)
	return nil
}

func (s *session) accountTriggers(ctx context.Context, t *triggers, event uint64, measured span) error {
	stored, err := s.completions(ctx, event, t.counts.started)
	if err != nil {
		return err
	}
	completed, _ := momentsIn(measured, stored)
	answers := t.answers.quantiles()
	if answers == nil {
		return errNothing
	}
	asked := int(t.answers.hdr.TotalCount())
	s.result.apply(t.counts)
	s.result.Lateness = t.counts.lateness.quantiles()
	s.result.Offered, s.result.Completed = Rate(measured.per(asked)), Rate(measured.per(completed))
	s.result.Operations = map[string]Operation{
		"trigger": {Count: asked, PerS: Rate(measured.per(asked)), Latency: answers},
	}
	return nil
}
