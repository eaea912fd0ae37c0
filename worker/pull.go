package worker

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/workerbus"
)

// drainRead bounds the wait for messages that were on their way when the worker stopped.
const drainRead = time.Second

// attach finds or makes the consumer of the queue. It tries until ctx is done or the connection is closed, and then returns nil.
func (w *Worker) attach(ctx context.Context) (queue workerbus.Queue) {
	w.attached.Store(false)
	config := w.names.WorkerConsumer(w.config.Namespace, w.config.TaskQueue)
	_ = w.retry(ctx, "waiting for the streams of the installation", func(ctx context.Context) (err error) {
		queue, err = w.bus.Attach(ctx, w.names.ActionStream(), config)
		return err
	})
	w.attached.Store(true)
	return queue
}

// pull takes runs until the pull phase is over. An error means that the connection was closed.
func (w *Worker) pull(p phases, queue workerbus.Queue) error {
	reading, cancel := linger(p.pull, drainRead, context.Canceled)
	defer cancel()
	for {
		reserved := w.reserve(p.pull)
		if reserved == 0 {
			return nil
		}
		taken, err := w.pullBatch(p, reading, queue, reserved)
		w.release(reserved - taken)
		switch {
		case err == nil:
		case w.bus.Closed():
			return w.closedError()
		case p.pull.Err() != nil:
			return nil
		default:
			w.log.Warn("cannot pull, will look for the consumer again", keyError, err)
			if sleep.For(p.pull, ioBackoff(1)) == nil {
				queue = w.attach(p.pull)
			}
			if queue == nil {
				return w.closedError()
			}
		}
	}
}

// pullBatch takes as many runs as slots are reserved. It returns how many it got before an error or the end of the pull phase. It asks the
// server for no more than that, so that no run waits here while another worker is free. Messages that the server has sent when the phase
// ends are still received.
func (w *Worker) pullBatch(p phases, reading context.Context, queue workerbus.Queue, reserved int) (taken int, err error) {
	messages, err := queue.Pull(reserved)
	if err != nil {
		return 0, err
	}
	defer messages.Stop()
	defer context.AfterFunc(p.pull, messages.Drain)()
	for taken < reserved {
		msg, err := messages.Next(reading)
		if err != nil {
			return taken, err
		}
		taken++
		w.running.Go(func() {
			s := slot{worker: w}
			defer s.end()
			w.receive(p, &s, msg)
		})
	}
	return taken, nil
}

// reserve waits for a free slot, takes all free slots, and returns their number; 0 if ctx is done.
func (w *Worker) reserve(ctx context.Context) int {
	if ctx.Err() != nil {
		return 0
	}
	select {
	case w.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	for n := 1; ; n++ {
		select {
		case w.slots <- struct{}{}:
		default:
			return n
		}
	}
}

func (w *Worker) release(n int) {
	for range n {
		<-w.slots
	}
}

// retry calls a function until it succeeds. It returns an error if ctx is done or the connection is closed first. Each call is bounded in
// time.
func (w *Worker) retry(ctx context.Context, what string, call func(context.Context) error) error {
	for attempt := 1; ; attempt++ {
		err := w.callOnce(ctx, call)
		if err == nil {
			return nil
		}
		if attempt%10 == 1 && ctx.Err() == nil {
			w.log.WarnContext(ctx, what, keyError, err)
		}
		if w.bus.Closed() || sleep.For(ctx, ioBackoff(attempt)) != nil {
			return err
		}
	}
}

// callOnce makes no call without a connection: nats.go would queue the messages of every attempt.
func (w *Worker) callOnce(ctx context.Context, call func(context.Context) error) error {
	if !w.bus.Connected() {
		return nats.ErrDisconnected
	}
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errNoAnswer)
	defer cancel()
	err := call(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return errNoAnswer
	}
	return err
}

var errNoAnswer = errors.New("no answer from NATS within 5s; a missing permission has the same effect")

// ioBackoff returns the wait after a failed call to NATS.
func ioBackoff(attempt int) time.Duration {
	return min(50*time.Millisecond<<min(attempt-1, 10), 2*time.Second)
}
