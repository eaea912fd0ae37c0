package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// The defaults of a [Config].
const (
	DefaultDuration  = 2 * time.Minute
	DefaultSchedules = 200
	DefaultWorkflows = 200
	DefaultSettle    = 3 * time.Minute
)

// The bounds of a [Config].
const (
	MinDuration  = 10 * time.Second
	MaxSchedules = 10_000
	MaxWorkflows = 10_000
)

// startTimeout bounds the start of the installation.
const startTimeout = 2 * time.Minute

// Config describes a run. All fields are required.
type Config struct {
	// Duration is how long schedules fire and faults happen. Setting up and coming to rest take longer.
	Duration time.Duration
	// Seed decides which faults happen when, and which requests are made.
	Seed uint64
	// Schedules is the number of schedules.
	Schedules int
	// Workflows is the number of workflows that are started beside them, from 0.
	Workflows int
	// Settle bounds how long everything may take to come to rest after the last fault.
	Settle time.Duration
	// Dir is an empty folder for the data and the logs.
	Dir string
	// Binary is the program to run, which has the commands of the roles, [NodeCommand], [WorkerCommand] and [WorkflowsCommand].
	Binary string
	// FillDisks lets faults fill the disks of the NATS nodes. Each node then has its own file system in memory, which needs
	// Linux and the right to mount.
	FillDisks bool
	// Progress is called about every second, with one line on what is going on.
	Progress func(string)
}

// Run runs an installation under faults and judges the result. When it returns, all its processes are gone. An error means that
// the run could not be made; findings are in the report.
func Run(ctx context.Context, config Config) (*Report, error) {
	if supported != nil {
		return nil, supported
	}
	in, err := newInstallation(ctx, config.Dir, config.Binary, config.FillDisks)
	if err != nil {
		return nil, err
	}
	defer in.close()
	journal, err := openJournal(config.Dir)
	if err != nil {
		return nil, err
	}
	defer journal.close()
	r := &trial{config: config, installation: in, journal: journal, faults: map[Kind]int{}}
	if err := r.setUp(ctx); err != nil {
		return nil, fmt.Errorf("the installation does not start; its logs are in %s: %w", config.Dir, err)
	}
	defer r.observer.close()
	defer r.journeys.client.Close()
	if err := r.endure(ctx); err != nil {
		return nil, err
	}
	return r.settle(ctx)
}

// trial is one run.
type trial struct {
	config       Config
	installation *installation
	journal      *journal
	observer     *observer
	caller       *caller
	journeys     *journeys
	calls        chan struct{} // closed when the caller and the journeys have ended
	stopCalls    context.CancelFunc
	began        time.Time

	mu      sync.Mutex
	faults  map[Kind]int
	outages []period
	now     []string // the faults in effect
}

// setUp starts the installation and waits until it answers.
func (r *trial) setUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	r.progress("starting")
	if err := r.installation.start(slices.Concat(nodeNames(), roleNames())...); err != nil {
		return err
	}
	var err error
	if r.observer, err = observe(r.installation.urls); err != nil {
		return err
	}
	if err := r.observer.awaitAPI(ctx); err != nil {
		r.observer.close()
		return err
	}
	if r.journeys, err = newJourneys(r.installation.gateways); err != nil {
		r.observer.close()
	}
	return err
}

// endure makes the requests and the faults, at their times.
func (r *trial) endure(ctx context.Context) error {
	r.began = time.Now()
	operations := newWorkload(r.config.Seed, r.config.Schedules, r.config.Duration, r.began.Add(r.config.Duration))
	r.caller = newCaller(r.observer.client, operations)
	calls, stop := context.WithCancel(ctx)
	r.stopCalls, r.calls = stop, make(chan struct{})
	go func() {
		defer close(r.calls)
		var group sync.WaitGroup
		group.Go(func() { r.journeys.run(calls, r.config.Workflows, r.config.Duration*9/10) })
		r.caller.run(calls)
		group.Wait()
	}()
	err := r.follow(ctx, operations, steps(newPlan(r.config.Seed, r.config.Duration, r.config.FillDisks)))
	r.caller.done()
	if err != nil {
		r.endCalls()
	}
	return err
}

// endCalls gives up the requests without an answer.
func (r *trial) endCalls() {
	r.stopCalls()
	<-r.calls
}

// follow goes through the operations and the steps of the faults, both in order of time.
func (r *trial) follow(ctx context.Context, operations []operation, steps []step) error {
	for second := time.Duration(0); ; {
		at := r.config.Duration
		if len(operations) > 0 {
			at = min(at, operations[0].At)
		}
		if len(steps) > 0 {
			at = min(at, steps[0].at)
		}
		at = min(at, second)
		_ = sleep.For(ctx, time.Until(r.began.Add(at)))
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case len(operations) > 0 && operations[0].At <= at:
			r.caller.request(operations[0])
			operations = operations[1:]
		case len(steps) > 0 && steps[0].at <= at:
			if err := r.take(steps[0]); err != nil {
				return err
			}
			steps = steps[1:]
		case at >= r.config.Duration:
			return nil
		default:
			r.report(at)
			second += time.Second
		}
	}
}

// take begins or ends a fault.
func (r *trial) take(s step) error {
	name := s.fault.String()
	if !s.begin {
		err := r.installation.end(s.fault)
		r.ended(s.fault, name)
		return err
	}
	r.mu.Lock()
	r.faults[s.fault.Kind]++
	r.now = append(r.now, name)
	if s.fault.Kind.ofNATS() {
		r.outages = append(r.outages, period{From: time.Now()})
	}
	r.mu.Unlock()
	r.journal.note("begin "+name, nil)
	return r.installation.begin(s.fault)
}

func (r *trial) ended(f *fault, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.now, name); i >= 0 {
		r.now = slices.Delete(r.now, i, i+1)
	}
	if f.Kind.ofNATS() {
		r.outages[len(r.outages)-1].To = time.Now() // they never overlap
	}
	r.journal.note("end "+name, nil)
}

func (r *trial) report(at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	total := 0
	for _, count := range r.faults {
		total += count
	}
	r.progress("%s of %s: %d faults, %d requests, %d without an answer yet; now: %v",
		at, r.config.Duration, total, len(r.caller.all()), r.caller.open(), r.now)
}

func (r *trial) progress(format string, args ...any) { r.config.Progress(fmt.Sprintf(format, args...)) }

const (
	settlePoll = 2 * time.Second
	// stillFor is how long nothing may happen before the run is at its end: longer than the acknowledgement wait of an action,
	// after which a lost lease would show.
	stillFor = 12 * time.Second
)

// settle ends all faults, waits until everything has come to rest, and judges.
func (r *trial) settle(ctx context.Context) (*Report, error) {
	defer r.endCalls()
	if err := r.installation.heal(); err != nil {
		return nil, err
	}
	r.journal.note("all faults are over", nil)
	healed := time.Now()
	deadline := healed.Add(r.config.Settle)
	var last rest
	for {
		now, err := r.look(ctx)
		if err != nil && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil {
			r.journal.note("cannot look", err)
		}
		now.still(&last)
		last = now
		overdue := time.Now().After(deadline)
		if overdue && err != nil {
			return nil, fmt.Errorf("the installation does not answer %s after the last fault: %w", r.config.Settle, err)
		}
		if err == nil && (overdue || now.over()) {
			return r.judge(now, healed), nil
		}
		r.progress("waiting for rest: %d schedules are busy, %d requests without an answer, %d workflows not over, %d events, %d problems as yet",
			now.busy, r.caller.open(), r.journeys.open(), now.events, len(now.findings.Problems))
		_ = sleep.For(ctx, settlePoll)
	}
}

// rest is how much is going on at a moment.
type rest struct {
	evidence    *evidence
	findings    Findings
	busy, open  int
	events, ran int
	// since is when the events and the ledger had last grown.
	since time.Time
}

func (n *rest) still(last *rest) {
	if n.evidence == nil || last.evidence == nil || n.events != last.events || n.ran != last.ran {
		n.since = time.Now()
		return
	}
	n.since = last.since
}

// over reports whether nothing more is to be expected: nothing goes on, and nothing has for a while. A missing action may just
// be late, so it gets all the time there is.
func (n *rest) over() bool {
	return n.busy == 0 && n.open == 0 && n.findings.Missed+n.findings.Lost+n.findings.Unexplained == 0 && time.Since(n.since) >= stillFor
}

// look gathers the present evidence, and judges it.
func (r *trial) look(ctx context.Context) (rest, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	// In this order: what is described is in the history by then, unless something still goes on.
	all, busy, err := r.observer.schedules(ctx)
	if err != nil {
		return rest{}, err
	}
	if err := r.observer.readEvents(ctx); err != nil {
		return rest{}, err
	}
	ledger, err := readLedgers(ledgerDir(r.config.Dir))
	if err != nil {
		return rest{}, err
	}
	workflows, err := r.journeys.look(ctx)
	if err != nil {
		return rest{}, err
	}
	r.mu.Lock()
	outages := slices.Clone(r.outages)
	r.mu.Unlock()
	e := &evidence{
		Namespace: r.observer.client.Namespace(), Now: time.Now(), Requests: r.caller.all(), Events: r.observer.told, Ledger: ledger,
		Lives: r.installation.lives(), Outages: outages, Schedules: all, Workflows: workflows,
	}
	return rest{
		evidence: e, findings: check(e), busy: busy, open: r.caller.open() + r.journeys.open(), events: len(e.Events), ran: len(ledger),
	}, nil
}

// judge makes the report.
func (r *trial) judge(now rest, healed time.Time) *Report {
	report := &Report{
		Seed: r.config.Seed, DurationSeconds: r.config.Duration.Seconds(), Schedules: r.config.Schedules,
		SettleSeconds: now.since.Sub(healed).Round(time.Millisecond).Seconds(),
		Settled:       now.busy == 0 && now.open == 0, Findings: now.findings,
		Faults: r.faults, Requests: map[Verb]int{}, Exits: r.installation.exits(),
		Events: now.events,
	}
	for i := range now.evidence.Requests {
		q := &now.evidence.Requests[i]
		switch {
		case q.Refused != "":
			report.Refused++
			r.journal.note("refused "+string(q.Verb)+" "+q.ID, errors.New(q.Refused))
		case q.Answered.IsZero():
			report.Unanswered++
		default:
			report.Requests[q.Verb]++
		}
	}
	for i := range now.evidence.Ledger {
		if !now.evidence.Ledger[i].End {
			report.Begun++
		}
	}
	r.journal.evidence(now.evidence)
	return report
}

// EnsureEmpty makes sure that a folder for a run exists and is empty.
func EnsureEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	return nil
}
