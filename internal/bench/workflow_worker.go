package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	sdkclient "go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// WorkflowCommand is the hidden command of the program that runs the worker of workflows: [RunWorkflows].
const WorkflowCommand = "bench-worker"

// taskPollers is how many polls the worker has for workflow tasks, and for activities. The two of an SDK by default would be the limit.
const taskPollers = 16

// The signal, the query and the update of the measured workflows.
const (
	signalName = "go"
	queryName  = "state"
	updateName = "steps"
)

// RunWorkflows runs a worker on Temporal's SDK, for a task queue of a gateway, until ctx ends. It knows nothing of Carillon. It writes a line to
// out when it polls, and then one with its counts whenever they have changed.
func RunWorkflows(ctx context.Context, out io.Writer, address, namespace, queue string) error {
	c, err := dialSDK(ctx, address, namespace)
	if err != nil {
		return err
	}
	defer c.Close()
	w := sdkworker.New(c, queue, sdkworker.Options{
		MaxConcurrentWorkflowTaskPollers: taskPollers, MaxConcurrentActivityTaskPollers: taskPollers, WorkerStopTimeout: drain,
	})
	var work measured
	work.register(w)
	if err := w.Start(); err != nil {
		return fmt.Errorf("bench: start the worker: %w", err)
	}
	defer w.Stop()
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return fmt.Errorf("bench: tell that the worker is ready: %w", err)
	}
	return work.report(ctx, out)
}

// dialSDK connects to a gateway as users do.
func dialSDK(ctx context.Context, address, namespace string) (sdkclient.Client, error) {
	c, err := sdkclient.DialContext(ctx, sdkclient.Options{HostPort: address, Namespace: namespace, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("bench: connect to the gateway: %w", err)
	}
	return c, nil
}

// workerCounts is what a worker tells about itself.
type workerCounts struct {
	// begun and ended are workflows whose code has begun and ended, activities those that have run.
	begun, ended, activities atomic.Int64
}

// countEvery is how often a worker looks whether its counts have changed.
const countEvery = 20 * time.Millisecond

// report writes the counts until ctx ends.
func (n *workerCounts) report(ctx context.Context, out io.Writer) error {
	last := ""
	for ; ctx.Err() == nil; _ = sleep.For(ctx, countEvery) {
		line := fmt.Sprintln(n.begun.Load(), n.ended.Load(), n.activities.Load())
		if line == last {
			continue
		}
		if _, err := io.WriteString(out, line); err != nil {
			return fmt.Errorf("bench: tell the counts of the worker: %w", err)
		}
		last = line
	}
	return nil
}

// follow reads the lines of a worker until they end.
func (n *workerCounts) follow(lines *bufio.Reader) {
	for {
		var begun, ended, activities int64
		if _, err := fmt.Fscanln(lines, &begun, &ended, &activities); err != nil {
			return
		}
		n.begun.Store(begun)
		n.ended.Store(ended)
		n.activities.Store(activities)
	}
}
