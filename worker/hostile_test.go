package worker_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

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
