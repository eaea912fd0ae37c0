package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/workerbus"
	"github.com/carillon-scheduler/carillon/schedule"
)

// model is a worker as docs/worker-protocol.md describes it, in as few lines as possible. With some runs it breaks the
// protocol. The request ID of a run decides how it goes.
type model struct {
	node *node
	// held are the runs that it has, by run ID: a *schedule.ActionRequest each.
	held sync.Map
}

// heartbeat is how often a worker says that it has a run.
const heartbeat = 3 * time.Second

func (w *model) run(ctx context.Context) {
	unsubscribe, err := link{w.node}.Subscribe(w.node.world.names.AliveQueue(w.node.space, taskQueue), w.onQuestion)
	if err != nil {
		panic(err)
	}
	defer unsubscribe()
	var running sync.WaitGroup
	defer running.Wait()
	for ctx.Err() == nil && !w.node.Closed() {
		messages, err := w.node.Pull(ctx, w.node.world.names.ActionStream(), w.node.world.names.WorkerConsumer(w.node.space, taskQueue))
		if err != nil {
			_ = sleep.For(ctx, time.Second)
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

// onQuestion answers the question whether the worker has a run, if it has.
func (w *model) onQuestion(msg workerbus.Message) {
	run := msg.Subject[strings.LastIndexByte(msg.Subject, '.')+1:]
	if _, has := w.held.Load(run); !has {
		return
	}
	data, err := json.Marshal(schedule.Liveness{RunID: run, Worker: w.node.name})
	if err != nil {
		panic(err)
	}
	_ = msg.Respond(data)
}

// execute runs one request to its end.
func (w *model) execute(ctx context.Context, msg jetstream.Msg) {
	var request schedule.ActionRequest
	if json.Unmarshal(msg.Data(), &request) != nil {
		panic("simulation: the action stream holds what is no request")
	}
	begin, received := w.node.now(), time.Now()
	completion := &schedule.Completion{
		RequestID: request.RequestID, RunID: request.RunID, StartTime: begin.UTC(), Worker: w.node.name,
	}
	breach := w.breachOf(&request, msg)
	if breach == neverComesBack {
		w.node.note("never comes back "+request.RequestID, func() { w.node.trouble(time.Now()) })
		return
	}
	w.held.Store(request.RunID, &request)
	defer w.held.CompareAndDelete(request.RunID, &request) // it may have been delivered once more
	w.work(ctx, &request, msg, received, completion)
	switch {
	case ctx.Err() != nil:
		_ = msg.Nak()
		return
	case completion.Status != "" && !w.report(ctx, &request, completion):
		return
	case completion.Status != "" && breach == reportsTwice:
		w.reportAgain(ctx, &request, *completion)
	}
	for attempt := 0; attempt < 3 && msg.DoubleAck(ctx) != nil; attempt++ {
		_ = sleep.For(ctx, time.Second)
	}
}

// breach is how a worker breaks the protocol with a run.
type breach int

const (
	noBreach breach = iota
	// neverComesBack takes the run, and is not heard of again.
	neverComesBack
	// reportsTwice reports the run once more, with another status.
	reportsTwice
)

// breachOf draws what the worker does wrong with a delivery, as long as things go wrong.
func (w *model) breachOf(request *schedule.ActionRequest, msg jetstream.Msg) breach {
	meta, err := msg.Metadata()
	if err != nil {
		panic(err)
	}
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, request.RequestID, w.node.ids.prefix, meta.NumDelivered)
	switch dice := h.Sum32(); {
	case w.node.world.orderly.Load() || float64(dice%1000) >= w.node.world.plan.Unruly*1000:
		return noBreach
	case dice%2 == 0:
		return neverComesBack
	}
	return reportsTwice
}

// reportAgain reports a run with another status than before, at once or after the first report has been recorded.
func (w *model) reportAgain(ctx context.Context, request *schedule.ActionRequest, c schedule.Completion) {
	if c.Status == schedule.StatusCompleted {
		c.Status, c.Failure = schedule.StatusFailed, &schedule.Failure{Type: "broken", Message: "it broke after all"}
	} else {
		c.Status, c.Failure = schedule.StatusCompleted, nil
	}
	_ = sleep.For(ctx, time.Duration(diceOf(request)%3)*100*time.Millisecond)
	w.report(ctx, request, &c)
}

// work is the run itself. It says how the run ended; the status is empty if there is nothing to report.
func (w *model) work(
	ctx context.Context, request *schedule.ActionRequest, msg jetstream.Msg, received time.Time, c *schedule.Completion,
) {
	late := func() bool { return !request.Deadline.IsZero() && w.node.now().After(request.Deadline) }
	control, known := w.control(ctx, request)
	if !known && late() {
		c.Status, c.Failure = schedule.StatusTimedOut, failureOf("timeout", request)
		return
	}
	if !known {
		w.node.note("code "+request.RequestID, func() { w.node.world.ledger.begin(request, w.node, received) })
	}
	fate := fateOf(request)
	fate.duration += w.node.world.plan.Volume.lasts()
	for left := fate.duration; !known && left > 0 && ctx.Err() == nil; left -= heartbeat {
		_ = sleep.For(ctx, min(left, heartbeat))
		_ = msg.InProgress()
		control, known = w.control(ctx, request)
	}
	c.Attempt = fate.attempts
	switch {
	case control == schedule.ControlTerminate:
	case control == schedule.ControlCancel:
		c.Status, c.Failure = schedule.StatusCanceled, failureOf("canceled", request)
	case late():
		c.Status, c.Failure = schedule.StatusTimedOut, failureOf("timeout", request)
	case fate.fails:
		c.Status, c.Failure = schedule.StatusFailed, failureOf("broken", request)
	default:
		c.Status, c.Result = schedule.StatusCompleted, resultOf(request.RequestID)
	}
}

// failureOf is the failure of a run that does not complete: it contains the request ID.
func failureOf(kind string, request *schedule.ActionRequest) *schedule.Failure {
	return &schedule.Failure{Type: kind, Message: request.RequestID}
}

// control looks for a cancel or terminate of a run.
func (w *model) control(ctx context.Context, request *schedule.ActionRequest) (kind schedule.ControlKind, known bool) {
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
func (w *model) report(ctx context.Context, request *schedule.ActionRequest, c *schedule.Completion) bool {
	c.CloseTime = w.node.now().UTC()
	body, err := json.Marshal(c)
	if err != nil {
		panic(err)
	}
	msg := &nats.Msg{Subject: request.Callback, Header: nats.Header{}, Data: body}
	for w.node.Publish(ctx, msg) != nil {
		if ctx.Err() != nil || w.node.Closed() {
			return false
		}
		_ = sleep.For(ctx, time.Second)
	}
	return true
}

// fate is how a run goes.
type fate struct {
	duration time.Duration // of all attempts, and the pauses between them
	attempts int
	fails    bool // the last attempt did
}

// fateOf draws from the request ID how a run goes: it is the same on every worker.
func fateOf(request *schedule.ActionRequest) fate {
	dice := diceOf(request)
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

func diceOf(request *schedule.ActionRequest) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(request.RequestID))
	return h.Sum32()
}

// longestRun is how long an attempt takes, at most.
const longestRun = 12 * time.Second

// durationOf draws how long an attempt takes: no time as a rule, seconds now and then.
func durationOf(dice uint32) time.Duration {
	switch {
	case dice%2 == 0:
		return time.Duration(dice%100) * time.Millisecond
	case dice%5 > 0:
		return time.Duration(dice%3000) * time.Millisecond
	default:
		return time.Duration(dice) * time.Millisecond % longestRun
	}
}
