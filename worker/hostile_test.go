package worker_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// hostile is what a handler may return without knowing it: its methods panic, as those of a nil pointer do.
type hostile struct{}

func (hostile) Error() string                { panic("Error") }
func (hostile) MarshalJSON() ([]byte, error) { panic("MarshalJSON") }

// quitting ends the goroutine that writes it.
type quitting struct{}

func (quitting) MarshalJSON() ([]byte, error) {
	runtime.Goexit()
	return nil, nil
}

type talkative struct{}

func (talkative) Error() string     { return "declined" }
func (talkative) ErrorType() string { panic("ErrorType") }

// TestValuesThatPanicAreFailures makes sure that what a handler returns ends its run, and not the worker.
func TestValuesThatPanicAreFailures(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(worker.Config{})
	for name, handler := range map[string]worker.Handler{
		"result":  func(context.Context, *worker.Run) (any, error) { return hostile{}, nil },
		"error":   func(context.Context, *worker.Run) (any, error) { return nil, hostile{} },
		"type":    func(context.Context, *worker.Run) (any, error) { return nil, talkative{} },
		"details": func(context.Context, *worker.Run) (any, error) { return nil, &worker.Error{Details: hostile{}} },
		"cause":   func(context.Context, *worker.Run) (any, error) { return nil, &worker.Error{Err: hostile{}} },
		"panic":   func(context.Context, *worker.Run) (any, error) { panic(hostile{}) },
		"beat":    func(ctx context.Context, _ *worker.Run) (any, error) { return nil, worker.Heartbeat(ctx, hostile{}) },
		"exit":    func(context.Context, *worker.Run) (any, error) { return quitting{}, nil },
		"fine":    func(context.Context, *worker.Run) (any, error) { return 1, nil },
	} {
		w.Register(name, handler)
	}
	w.start()
	for _, name := range []string{"result", "error", "type", "details", "cause", "panic", "beat"} {
		b.submit(b.request(name, name))
		done := b.completion()
		assert.Equal(t, schedule.StatusFailed, done.Status, name)
		assert.Equal(t, worker.TypePanic, done.Failure.Type, name)
		assert.Contains(t, string(done.Failure.Details), "hostile_test.go", name)
	}
	b.submit(b.request("exit", "exit"))
	assert.Contains(t, b.completion().Failure.Message, "Goexit")
	b.submit(b.request("fine", "fine"))
	assert.Equal(t, schedule.StatusCompleted, b.completion().Status, "the worker lives")
}

// TestFloodOfControls: whoever may send controls does not choose how much is logged. What is said of runs is not counted with it.
func TestFloodOfControls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var lines natstest.Lines
	s := b.worker(worker.Config{Logger: lines.Logger()})
	s.Register("report", func(context.Context, *worker.Run) (any, error) { return nil, nil })
	s.start()
	<-s.Ready()
	const flood = 2000
	for range flood {
		require.NoError(t, b.nc.Publish(b.names.Control(namespace, queue, "wf"), []byte("no control")))
	}
	for range flood / 100 {
		_, err := b.js.Publish(t.Context(), b.names.Action(namespace, queue, "wf"), []byte("no request"))
		require.NoError(t, err)
	}
	b.submit(b.request("1", "report"))
	require.Equal(t, schedule.StatusCompleted, b.completion().Status)
	b.queueEmpty()
	natstest.Eventually(t, limit, "the controls are there", func() bool { return s.nc.Stats().InMsgs >= flood })
	require.NoError(t, s.stop())
	controls, letters := lines.Count("control ignored"), lines.Count("message is a dead letter")
	assert.GreaterOrEqual(t, controls, 1)
	assert.Less(t, controls, 2*linesAtOnce)
	assert.GreaterOrEqual(t, letters, 1)
	assert.LessOrEqual(t, letters, linesAtOnce)
}

// linesAtOnce is how many lines of a kind are logged before the rate counts.
const linesAtOnce = 20
