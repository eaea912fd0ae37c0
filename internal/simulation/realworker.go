package simulation

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/internal/workerbus"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// serveQueue runs a real worker. Its code is userCode.
func (n *node) serveQueue(ctx context.Context) {
	w, err := worker.NewOn(link{n}, worker.Config{
		Namespace: n.space, TaskQueue: taskQueue, Identity: n.name, Logger: slog.New(slog.DiscardHandler),
		Concurrency: n.concurrency(),
	})
	if err != nil {
		panic(err) // the configuration is ours
	}
	w.Register("t", func(ctx context.Context, run *worker.Run) (any, error) { return outcomeOf(run), n.userCode(ctx, run) })
	_ = w.Run(ctx)
}

// concurrency is how many runs a worker has at once. Where there is very much to do, workers must not hold it back.
func (n *node) concurrency() int {
	if n.world.plan.Volume != "" {
		return 500
	}
	return []int{2, 10, 100}[(n.world.seed+uint64(n.number))%3]
}

// outcomeOf is what the code of a run returns: see resultOf.
func outcomeOf(run *worker.Run) any {
	if result := resultOf(run.RequestID); result != nil {
		return result
	}
	return nil
}

// userCode is the code of one attempt. As a rule it heeds its context. Now and then it reports its progress.
func (n *node) userCode(ctx context.Context, run *worker.Run) error {
	begun := time.Now()
	n.note("code 1 begins "+run.RequestID, func() {
		if !n.dead {
			n.world.ledger.begin(&run.ActionRequest, n, begun)
		}
	})
	a := attemptOf(&run.ActionRequest, run.Attempt)
	a.duration += n.world.plan.Volume.lasts()
	if a.deaf {
		ctx = context.WithoutCancel(ctx)
	}
	if a.tells && sleep.For(ctx, a.duration/2) == nil {
		_ = worker.Heartbeat(ctx, run.Attempt)
		a.duration /= 2
	}
	if sleep.For(ctx, a.duration) != nil {
		return context.Cause(ctx)
	}
	if !a.fails {
		return nil
	}
	if policy := run.RetryPolicy; policy != nil && run.Attempt < policy.MaximumAttempts {
		n.note("code 2 breaks "+run.RequestID, func() { n.world.ledger.run(run.RequestID).again = true })
	}
	return &worker.Error{Type: "broken", Message: run.RequestID}
}

// attempt is how one attempt of a run goes.
type attempt struct {
	duration time.Duration
	fails    bool
	deaf     bool // it goes on although it was asked to stop
	tells    bool // it reports its progress
}

// attemptOf draws from the request ID how an attempt goes: it is the same on every worker.
func attemptOf(request *schedule.ActionRequest, number int) attempt {
	dice := diceOf(request)
	return attempt{
		duration: durationOf(dice), fails: dice%11 == 0 && number <= 1+int(dice%3), deaf: dice%17 == 0, tells: dice%7 == 0,
	}
}

// link is what a real worker has for NATS: a process of the simulation.
type link struct{ node *node }

var _ workerbus.Bus = link{}

// Subscribe implements workerbus.Bus.
func (l link) Subscribe(subject string, handle func(workerbus.Message)) (unsubscribe func(), err error) {
	sub := l.node.subscribe(subject, "", func(msg *nats.Msg) {
		handle(workerbus.Message{Subject: msg.Subject, Reply: msg.Reply, Data: msg.Data, Respond: func(data []byte) error {
			return l.node.PublishMsg(&nats.Msg{Subject: msg.Reply, Data: data})
		}})
	})
	return func() { l.node.Unsubscribe(sub) }, nil
}

// Attach implements workerbus.Bus.
func (l link) Attach(ctx context.Context, stream string, config jetstream.ConsumerConfig) (workerbus.Queue, error) {
	err := l.node.do(ctx, "attach", stream+" "+config.Durable, func(time.Time) error {
		l.node.world.server.AddConsumer(stream, config)
		return nil
	})
	return queue{l.node, consumerName{stream, config.Durable}}, err
}

// Last implements workerbus.Bus. The replica that answers may not have seen the newest writes.
func (l link) Last(ctx context.Context, stream, subject string) ([]byte, error) {
	return ask(ctx, l.node, whatGet, subject, func(time.Time) ([]byte, error) {
		found, ok := l.node.world.server.LastAt(stream, subject, l.node.world.seen(stream))
		if !ok {
			return nil, jetstream.ErrMsgNotFound
		}
		return found.Data, nil
	})
}

// Publish implements workerbus.Bus.
func (l link) Publish(ctx context.Context, msg *nats.Msg) error { return l.node.Publish(ctx, msg) }

// PublishAll implements workerbus.Bus.
func (l link) PublishAll(ctx context.Context, msgs []*nats.Msg) error {
	return l.node.PublishAll(ctx, msgs)
}

func (l link) Connected() bool     { return l.node.Connected() }
func (l link) Closed() bool        { return l.node.Closed() }
func (l link) Reconnects() uint64  { return l.node.world.reconnects.Load() }
func (l link) MaxPayload() int64   { return maxPayload }
func (l link) Flush(time.Duration) {}
func (l link) Close()              {}

// queue is the task queue of a real worker.
type queue struct {
	node     *node
	consumer consumerName
}

// AckWait implements workerbus.Queue.
func (q queue) AckWait() time.Duration { return subjects.ActionAckWait }

// Pull implements workerbus.Queue. Nobody answers where the consumer has been deleted, which may happen while the worker pulls
// nothing.
func (q queue) Pull(count int) (workerbus.Deliveries, error) {
	p := &pull{node: q.node, consumer: q.consumer, stopped: make(chan struct{}), left: count, bounded: true}
	q.node.note("pull "+q.consumer.name, func() {
		if !q.node.world.server.HasConsumer(q.consumer.stream, q.consumer.name) {
			p.end()
			return
		}
		q.node.begin(p)
	})
	return p, nil
}

// isControl reports whether workers listen to a subject.
func (w *world) isControl(subject string) bool {
	return strings.HasPrefix(subject, w.names.Prefix()+".control.")
}
