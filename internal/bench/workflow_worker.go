package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// WorkflowCommand is the hidden command of the program that runs the worker of workflows: [RunWorkflows].
const WorkflowCommand = "bench-worker"

const (
	// taskPollers is how many polls the worker has for workflow tasks, and for activities. The two of an SDK by default would be the limit.
	taskPollers = 16
	// shortTimer is how long the workflow of the kind timer waits.
	shortTimer = 10 * time.Millisecond
	// longTimer is how long a sleeping workflow waits.
	longTimer = 24 * time.Hour
)

// The kinds of measured workflows, which are the names of their types.
const (
	kindEmpty    = "empty"
	kindActivity = "activity"
	kindTimer    = "timer"
	kindSignal   = "signal"

	kindSleeping = "sleeping"
	kindLong     = "long"
)

// WorkflowKinds returns the kinds of workflows that can be measured.
func WorkflowKinds() []string { return []string{kindEmpty, kindActivity, kindTimer, kindSignal} }

// The signal and the query of the measured workflows.
const (
	signalName = "go"
	queryName  = "state"
)

// RunWorkflows runs a worker on Temporal's SDK, at the address of a gateway, until ctx ends. It knows nothing of Carillon. It writes a line to
// out when it polls.
func RunWorkflows(ctx context.Context, out io.Writer, address string) error {
	c, err := dialSDK(ctx, address)
	if err != nil {
		return err
	}
	defer c.Close()
	w := sdkworker.New(c, taskQueue, sdkworker.Options{
		MaxConcurrentWorkflowTaskPollers: taskPollers, MaxConcurrentActivityTaskPollers: taskPollers, WorkerStopTimeout: drain,
	})
	register(w)
	if err := w.Start(); err != nil {
		return fmt.Errorf("bench: start the worker: %w", err)
	}
	defer w.Stop()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return fmt.Errorf("bench: tell that the worker is ready: %w", err)
	}
	<-ctx.Done()
	return nil
}

// dialSDK connects to a gateway as users do.
func dialSDK(ctx context.Context, address string) (sdkclient.Client, error) {
	c, err := sdkclient.DialContext(ctx, sdkclient.Options{HostPort: address, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("bench: connect to the gateway: %w", err)
	}
	return c, nil
}

func register(w sdkworker.Registry) {
	var s stopwatch
	for kind, code := range map[string]func(workflow.Context) error{
		kindEmpty: nothing, kindActivity: oneActivity, kindTimer: oneTimer, kindSignal: oneSignal, kindSleeping: sleeper,
	} {
		w.RegisterWorkflowWithOptions(s.timed(code), workflow.RegisterOptions{Name: kind})
	}
	w.RegisterWorkflowWithOptions(long, workflow.RegisterOptions{Name: kindLong})
	w.RegisterActivity(noWork)
}

// stopwatch remembers when the code of each workflow began. A replay does not change that.
type stopwatch struct{ began sync.Map }

// timed makes a workflow of some code, whose result is when the code began, in nanoseconds since 1970 by the clock of this machine.
func (s *stopwatch) timed(code func(workflow.Context) error) func(workflow.Context) (int64, error) {
	return func(ctx workflow.Context) (int64, error) {
		run := workflow.GetInfo(ctx).WorkflowExecution.RunID
		at, _ := s.began.LoadOrStore(run, time.Now().UnixNano())
		err := code(ctx)
		s.began.Delete(run)
		return at.(int64), err
	}
}

func nothing(workflow.Context) error { return nil }

func oneActivity(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	return workflow.ExecuteActivity(ctx, noWork).Get(ctx, nil)
}

// noWork is the activity. It does nothing.
func noWork(context.Context) error { return nil }

func oneTimer(ctx workflow.Context) error { return workflow.Sleep(ctx, shortTimer) }

func oneSignal(ctx workflow.Context) error {
	workflow.GetSignalChannel(ctx, signalName).Receive(ctx, nil)
	return nil
}

// sleeper waits for a day, or for a signal that wakes it.
func sleeper(ctx workflow.Context) error {
	timer, stop := workflow.WithCancel(ctx)
	defer stop()
	woken := false
	workflow.NewSelector(ctx).
		AddFuture(workflow.NewTimer(timer, longTimer), func(workflow.Future) {}).
		AddReceive(workflow.GetSignalChannel(ctx, signalName), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			woken = true
		}).
		Select(ctx)
	if !woken {
		return errors.New("nobody has woken it for a day")
	}
	return nil
}

// long takes signals forever, and tells how many it has taken.
func long(ctx workflow.Context) error {
	taken := 0
	if err := workflow.SetQueryHandler(ctx, queryName, func() (int, error) { return taken, nil }); err != nil {
		return err
	}
	for signals := workflow.GetSignalChannel(ctx, signalName); ; taken++ {
		signals.Receive(ctx, nil)
	}
}
