package simulation

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/idle"
	"github.com/carillon-scheduler/carillon/internal/timer"
	"github.com/carillon-scheduler/carillon/schedule"
)

// worker is a worker as docs/worker-protocol.md describes one. How long a run takes is drawn from its request ID.
type worker struct {
	node *node
}

// heartbeat is how often a worker says that it has a run.
const heartbeat = 3 * time.Second

func (w *worker) run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil && !w.node.Closed() {
		messages, err := w.node.Pull(ctx, w.node.world.names.ActionStream(), w.node.world.names.WorkerConsumer(namespace, taskQueue))
		if err != nil {
			_ = idle.For(ctx, time.Second)
			continue
		}
		for {
			msg, err := messages.Next(ctx)
			if err != nil {
				break
			}
			running.Go(func() { w.execute(ctx, msg) })
		}
		messages.Stop()
	}
}

// execute runs one request to its end.
func (w *worker) execute(ctx context.Context, msg jetstream.Msg) {
	var request schedule.ActionRequest
	if json.Unmarshal(msg.Data(), &request) != nil {
		panic("simulation: the action stream holds what is no request")
	}
	begin, received := w.node.now(), time.Now()
	completion := &schedule.Completion{
		RequestID: request.RequestID, RunID: request.RunID, StartTime: begin.UTC(), Worker: w.node.name,
	}
	w.work(ctx, &request, msg, received, completion)
	switch {
	case ctx.Err() != nil:
		_ = msg.Nak()
		return
	case completion.Status != "" && !w.report(ctx, &request, completion):
		return
	}
	for attempt := 0; attempt < 3 && msg.DoubleAck(ctx) != nil; attempt++ {
		_ = idle.For(ctx, time.Second)
	}
}

// work is the run itself. It says how the run ended; the status is empty if there is nothing to report.
func (w *worker) work(
	ctx context.Context, request *schedule.ActionRequest, msg jetstream.Msg, received time.Time, c *schedule.Completion,
) {
	late := func() bool { return !request.Deadline.IsZero() && w.node.now().After(request.Deadline) }
	control, known := w.control(ctx, request)
	if !known && late() {
		c.Status = schedule.StatusTimedOut
		return
	}
	if !known {
		w.node.note("code "+request.RequestID, func() { w.node.world.ledger.begin(request, w.node, received) })
	}
	fate := fateOf(request)
	for left := fate.duration; !known && left > 0 && ctx.Err() == nil; left -= heartbeat {
		_ = idle.For(ctx, min(left, heartbeat))
		_ = msg.InProgress()
		control, known = w.control(ctx, request)
	}
	c.Attempt = fate.attempts
	switch {
	case control == schedule.ControlTerminate:
	case control == schedule.ControlCancel:
		c.Status = schedule.StatusCanceled
	case late():
		c.Status = schedule.StatusTimedOut
	case fate.fails:
		c.Status, c.Failure = schedule.StatusFailed, &schedule.Failure{Type: "broken", Message: "it broke"}
	default:
		c.Status = schedule.StatusCompleted
	}
}

// control looks for a cancel or terminate of a run.
func (w *worker) control(ctx context.Context, request *schedule.ActionRequest) (kind schedule.ControlKind, known bool) {
	names := w.node.world.names
	subject := names.Control(request.Namespace, request.TaskQueue, request.WorkflowID)
	found, err := w.node.Last(ctx, names.ControlStream(), subject)
	var control schedule.Control
	if err != nil || json.Unmarshal(found.Data, &control) != nil || control.RunID != request.RunID {
		return "", false
	}
	return control.Kind, true
}

// report stores the completion, as long as it takes.
func (w *worker) report(ctx context.Context, request *schedule.ActionRequest, c *schedule.Completion) bool {
	c.CloseTime = w.node.now().UTC()
	body, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	msg := &nats.Msg{Subject: request.Callback, Header: nats.Header{}, Data: body}
	timer.PurgeHeader(msg.Header, request.TimeoutTimer)
	for w.node.Publish(ctx, msg) != nil {
		if ctx.Err() != nil || w.node.Closed() {
			return false
		}
		_ = idle.For(ctx, time.Second)
	}
	return true
}

// fate is how a run goes.
type fate struct {
	duration time.Duration // of all attempts, and the pauses between them
	attempts int
	fails    bool // the last attempt did
}

// fateOf draws from its request ID how a run goes: whatever worker it comes to, it goes the same.
func fateOf(request *schedule.ActionRequest) fate {
	h := fnv.New32a()
	_, _ = h.Write([]byte(request.RequestID))
	dice := h.Sum32()
	f := fate{duration: durationOf(dice), attempts: 1}
	if dice%11 > 0 {
		return f
	}
	f.fails = true
	for failures := 1 + dice%3; f.fails && request.RetryPolicy != nil && f.attempts < request.RetryPolicy.MaximumAttempts; {
		f.attempts++
		f.duration += time.Second + durationOf(dice)
		f.fails = f.attempts <= int(failures)
	}
	return f
}

// durationOf draws how long an attempt takes: not at all as a rule, seconds now and then.
func durationOf(dice uint32) time.Duration {
	switch {
	case dice%2 == 0:
		return time.Duration(dice%100) * time.Millisecond
	case dice%5 > 0:
		return time.Duration(dice%3000) * time.Millisecond
	default:
		return time.Duration(dice%12000) * time.Millisecond
	}
}
