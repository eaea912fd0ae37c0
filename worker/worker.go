package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/workerbus"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// handBackTime is the time after the drain timeout to report or give back the remaining runs.
	handBackTime = 500 * time.Millisecond
	// finishedRuns and finishedAge bound the memory of runs that need not run again if NATS forgets an acknowledgement. retriedRuns bounds
	// the memory of runs that will come again, recentControls the memory of controls.
	finishedRuns   = 10_000
	finishedAge    = 10 * time.Minute
	retriedRuns    = 10_000
	retriedAge     = time.Hour
	recentControls = 1_000
	controlAge     = time.Minute
)

// Worker serves one task queue. Make one with [New], register handlers, and call [Worker.Run] once.
type Worker struct {
	config Config
	names  subjects.Names
	bus    workerbus.Bus
	log    *slog.Logger
	// others logs messages of other programs, which decide how many there are.
	others *slog.Logger
	now    func() time.Time

	mu       sync.RWMutex
	handlers map[string]Handler

	ran     atomic.Bool
	slots   chan struct{}  // a token for each run that is executed or asked for
	answers chan struct{}  // a token for each run that is over and being answered
	running sync.WaitGroup // a goroutine for each message that is being dealt with

	executor executor
	turns    turns // of the action types with a limit

	held     *table
	finished *recent[struct{}]
	retried  *recent[time.Time] // when their code first began
	controls *recent[error]     // by run ID

	listening listening

	ready    chan struct{} // closed when it takes runs
	attached atomic.Bool   // it takes them now

	progressFrom atomic.Int64 // when details of heartbeats are stored and read again, in nanoseconds since 1970
}

// New returns a worker on a connection. The caller keeps the connection and closes it after Run has returned. The connection should
// reconnect forever (nats.MaxReconnects(-1)): the worker survives any outage of NATS, but not the end of its connection. An error names the
// field of the configuration that is wrong.
func New(nc *nats.Conn, config Config) (*Worker, error) {
	if err := config.validateAPIPrefix(); err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	bus, err := workerbus.New(nc, config.JetStreamAPIPrefix)
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w, err := NewOn(bus, config)
	if err != nil {
		bus.Close()
	}
	return w, err
}

// NewOn is New for a bus that is not a NATS connection. Programs outside of this module cannot use it. Run closes the bus.
func NewOn(bus workerbus.Bus, config Config) (*Worker, error) {
	config = config.withDefaults()
	names, err := config.validate()
	if err != nil {
		return nil, fmt.Errorf("worker: %w", err)
	}
	w := &Worker{
		config: config, names: names, bus: bus, now: time.Now, //permit:time.Now tests replace it
		log:      config.Logger.With(keyNamespace, config.Namespace, keyTaskQueue, config.TaskQueue),
		handlers: map[string]Handler{},
		ready:    make(chan struct{}),
		slots:    make(chan struct{}, config.Concurrency),
		answers:  make(chan struct{}, answersAtOnce),
		held:     newTable(),
		finished: newRecent[struct{}](finishedRuns, finishedAge),
		retried:  newRecent[time.Time](retriedRuns, retriedAge),
		controls: newRecent[error](recentControls, controlAge),
	}
	w.others = flood.Limit(w.log)
	w.turns = newTurns(config.ConcurrencyByType)
	w.executor = executor{now: w.now, log: w.log, strays: newStrays(w.slots), maxResult: w.maxResult}
	return w, nil
}

// maxResult leaves room in a completion for its other contents.
func (w *Worker) maxResult() int { return min(MaxResultBytes, int(w.bus.MaxPayload())*3/4) }

// Register makes a handler responsible for an action type, before or while the worker runs. It panics if the type is empty or already has a
// handler, or if the handler or its middleware is nil: each is a mistake in the program.
func (w *Worker) Register(actionType string, handler Handler) {
	if actionType == "" || handler == nil {
		panic("worker: Register needs an action type and a handler")
	}
	if handler = wrapped(handler, w.config.Middleware); handler == nil {
		panic(fmt.Sprintf("worker: a middleware returns no handler for action type %q", actionType))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.handlers[actionType]; ok {
		panic(fmt.Sprintf("worker: action type %q is registered twice", actionType))
	}
	w.handlers[actionType] = handler
}

// handler returns the handler of an action type; nil if there is none.
func (w *Worker) handler(actionType string) Handler {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.handlers[actionType]
}

// types returns the registered action types, sorted.
func (w *Worker) types() []string {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return slices.Sorted(maps.Keys(w.handlers))
}

// Waits says, for people, what the worker waits for before it takes runs (again). It is empty while the worker takes runs or ends.
func (w *Worker) Waits() string {
	if w.attached.Load() {
		return ""
	}
	return "the streams of the installation, to take runs from its task queue"
}

// Ready returns a channel that is closed when the worker has found its task queue and takes runs from it.
func (w *Worker) Ready() <-chan struct{} { return w.ready }

// Run serves the task queue until ctx is done, and then until every run that the worker holds is finished or given back; handlers have
// Config.DrainTimeout for that. If NATS or the streams of the installation are not there, Run waits for them.
//
// It returns
//
//   - nil after an orderly end;
//   - ErrHandlersLeft if handlers ignored the end of their contexts;
//   - another error if the connection was closed. Only this can happen before ctx is done. Another worker then gets the runs after their
//     acknowledgement wait.
//
// Run may be called once.
func (w *Worker) Run(ctx context.Context) error {
	if w.ran.Swap(true) {
		return ErrAlreadyRun
	}
	p := newPhases(ctx, w.config.DrainTimeout)
	defer p.end()
	defer w.bus.Close()
	defer w.observe()()
	stopControls, err := w.bus.Subscribe(w.names.ControlQueue(w.config.Namespace, w.config.TaskQueue), w.onControl)
	if err != nil {
		return fmt.Errorf("worker: subscribe to controls: %w", err)
	}
	defer stopControls()
	w.listening.begin(w.bus.Reconnects(), w.now())
	stopQuestions, err := w.bus.Subscribe(w.names.AliveQueue(w.config.Namespace, w.config.TaskQueue), w.onQuestion)
	if err != nil {
		return fmt.Errorf("worker: subscribe to questions: %w", err)
	}
	defer stopQuestions()
	stopTypes, err := w.bus.Subscribe(w.names.ActionTypes(w.config.Namespace, w.config.TaskQueue), w.onTypes)
	if err != nil {
		return fmt.Errorf("worker: subscribe to questions about action types: %w", err)
	}
	defer stopTypes()

	err = w.serve(p)
	w.flush()
	return errors.Join(err, w.awaitStrays(p.final))
}

// serve takes runs from the queue until the pull phase is over. It extends the leases of all held runs until the last one is answered.
func (w *Worker) serve(p phases) error {
	queue := w.attach(p.pull)
	if queue == nil {
		return w.closedError()
	}
	ackWait := queue.AckWait()
	close(w.ready)
	w.log.Info("worker started", "identity", w.config.Identity, "action_types", w.types())
	defer w.log.Info("worker stopped")
	holding, done := context.WithCancel(p.final)
	defer done()
	var keepers sync.WaitGroup
	keepers.Go(func() { w.keepAlive(holding, ackWait/3) })
	keepers.Go(func() { w.recoverControls(holding, ackWait/3) })
	keepers.Go(func() { w.keepProgress(holding, ackWait/3) })

	err := w.pull(p, queue)
	close(p.pulled)
	p.endPull()
	if w.bus.Closed() {
		p.endWork() // results of the handlers can no longer be reported
	}
	w.running.Wait()
	done()
	keepers.Wait()
	return err
}

// keepAlive extends all leases at intervals until ctx is done.
func (w *Worker) keepAlive(ctx context.Context, interval time.Duration) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if !w.bus.Connected() {
			continue // messages sent now would only pile up until the connection is back
		}
		for _, h := range w.held.all() {
			h.extend()
		}
	}
}

// flush makes sure that the last answers have reached NATS, so that the caller may close the connection.
func (w *Worker) flush() {
	if w.bus.Connected() {
		w.bus.Flush(handBackTime)
	}
}

// awaitStrays gives the handlers that were left as much time to return as the others had.
func (w *Worker) awaitStrays(ctx context.Context) error {
	if left := w.executor.strays.wait(ctx); left > 0 {
		return fmt.Errorf("%w: %d", ErrHandlersLeft, left)
	}
	return nil
}

// closedError returns an error if the connection is closed.
func (w *Worker) closedError() error {
	if w.bus.Closed() {
		return fmt.Errorf("worker: %w", nats.ErrConnectionClosed)
	}
	return nil
}
