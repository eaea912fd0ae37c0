package offer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

var workflows = Queue{Namespace: "default", Kind: Workflow, Name: "q q"}

// gateway is a process with polls, and offerer one that offers.
type gateway struct {
	*Polls
	conn  *nats.Conn
	names subjects.Names
	stop  func()
}

func runGateway(t testing.TB, url string, names subjects.Names, reserve, linger time.Duration) *gateway {
	t.Helper()
	conn, _ := natstest.Connect(t, url)
	polls, err := NewPolls(Config{Conn: bus.Plain{Conn: conn}, Names: names, Logger: natstest.Logger(t), Reserve: reserve, Linger: linger})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { assert.NoError(t, polls.Run(ctx)) })
	g := &gateway{Polls: polls, conn: conn, names: names, stop: func() {
		cancel()
		running.Wait()
	}}
	t.Cleanup(g.stop)
	return g
}

func newOfferer(t testing.TB, url string, names subjects.Names) *Offerer {
	t.Helper()
	conn, js := natstest.Connect(t, url)
	o, err := NewOfferer(Config{Conn: bus.Plain{Conn: conn}, Names: names, Logger: natstest.Logger(t)}, natstest.Bus(t, js), metrics.OfferedNew)
	require.NoError(t, err)
	t.Cleanup(o.Close)
	return o
}

func url(t testing.TB) string { return natstest.Shared(t).ClientURL() }

// waiting is a poll in a goroutine.
type waiting struct {
	cancel context.CancelFunc
	task   chan string
}

func (g *gateway) poll(t testing.TB, q Queue, identity string) *waiting {
	t.Helper()
	before := g.count(q)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(cancel)
	w := &waiting{cancel, make(chan string, 1)}
	go func() {
		task, err := g.Wait(ctx, q, Poller{Identity: identity, BuildID: "b1"})
		assert.NoError(t, err)
		w.task <- string(task)
	}()
	natstest.Eventually(t, natstest.Patience, "the poll waits, or has a task", func() bool {
		return g.count(q) > before || len(w.task) > 0
	})
	require.NoError(t, g.conn.Flush())
	return w
}

func (g *gateway) count(q Queue) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.served[q]; s != nil {
		return len(s.line.polls)
	}
	return 0
}

func (w *waiting) got(t testing.TB) string {
	t.Helper()
	select {
	case task := <-w.task:
		return task
	case <-time.After(natstest.Patience):
		t.Fatal("the poll still waits")
		return ""
	}
}

// leave ends a poll that has no task, and returns when the gateway knows.
func (w *waiting) leave(t testing.TB) {
	t.Helper()
	w.cancel()
	require.Empty(t, w.got(t))
}

func offered(t testing.TB, o *Offerer, q Queue, patience time.Duration) Poller {
	t.Helper()
	found, err := o.Offer(t.Context(), q, patience)
	require.NoError(t, err)
	return found
}

// TestATaskFindsAPoll: who waits gets it, whole.
func TestATaskFindsAPoll(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, 0, 0), newOfferer(t, url(t), names)
	w := g.poll(t, workflows, "worker 1")
	found := offered(t, o, workflows, 0)
	assert.Equal(t, "worker 1", found.Identity)
	assert.Equal(t, "b1", found.BuildID)
	require.NoError(t, o.Hand(t.Context(), found, []byte("the task")))
	assert.Equal(t, "the task", w.got(t))
}

// TestNobody: nobody polls this queue, or this kind, or in this namespace.
func TestNobody(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, 0, 0), newOfferer(t, url(t), names)
	g.poll(t, workflows, "w")
	for _, q := range []Queue{
		{Namespace: "default", Kind: Activity, Name: "q q"},
		{Namespace: "other", Kind: Workflow, Name: "q q"},
		{Namespace: "default", Kind: Workflow, Name: "q"},
	} {
		_, err := o.Offer(t.Context(), q, natstest.Patience)
		require.ErrorIs(t, err, ErrNobody)
		require.NotErrorIs(t, err, ErrBusy)
	}
	_, err := o.Offer(t.Context(), Queue{Namespace: "default", Kind: Workflow}, 0)
	require.Error(t, err)
	_, err = g.Wait(t.Context(), Queue{Namespace: "a.b", Kind: Workflow, Name: "q"}, Poller{})
	require.Error(t, err)
}

// TestAWorkerThatComesBack: an offer waits for it, but not longer than its patience.
func TestAWorkerThatComesBack(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, 0, time.Hour), newOfferer(t, url(t), names)
	w := g.poll(t, workflows, "w")
	require.NoError(t, o.Hand(t.Context(), offered(t, o, workflows, 0), []byte("1")))
	assert.Equal(t, "1", w.got(t))
	for _, patience := range []time.Duration{0, time.Millisecond} {
		_, err := o.Offer(t.Context(), workflows, patience)
		require.ErrorIs(t, err, ErrBusy)
		require.ErrorIs(t, err, ErrNobody)
	}
	second := make(chan Poller, 1)
	go func() {
		found, err := o.Offer(t.Context(), workflows, natstest.Patience)
		assert.NoError(t, err)
		second <- found
	}()
	natstest.Eventually(t, natstest.Patience, "the offer stands", func() bool { return g.standing(workflows) == 1 })
	w = g.poll(t, workflows, "w")
	require.NoError(t, o.Hand(t.Context(), <-second, []byte("2")))
	assert.Equal(t, "2", w.got(t))
	natstest.Eventually(t, natstest.Patience, "no offer stands", func() bool { return g.standing(workflows) == 0 })
}

func (g *gateway) standing(q Queue) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.served[q]; s != nil {
		return s.line.offers.Len()
	}
	return 0
}

// TestAnOfferThatIsGivenUp leaves nothing behind.
func TestAnOfferThatIsGivenUp(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, time.Hour, time.Hour), newOfferer(t, url(t), names)
	g.poll(t, workflows, "w").leave(t)
	natstest.Eventually(t, natstest.Patience, "the poll has ended", func() bool { return g.count(workflows) == 0 })
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := o.Offer(ctx, workflows, time.Hour)
		ended <- err
	}()
	natstest.Eventually(t, natstest.Patience, "the offer stands", func() bool { return g.standing(workflows) == 1 })
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	natstest.Eventually(t, natstest.Patience, "no offer stands", func() bool { return g.standing(workflows) == 0 })
	assert.Empty(t, o.waiting)
}

// TestALateAnswer sets the poll free that was reserved for an offer that nobody waits for.
func TestALateAnswer(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, time.Hour, 0), newOfferer(t, url(t), names)
	w := g.poll(t, workflows, "w")
	require.NoError(t, o.config.Conn.PublishMsg(&nats.Msg{Subject: names.Poll(workflows), Reply: o.inbox + "unknown"}))
	natstest.Eventually(t, natstest.Patience, "the poll is free again", func() bool {
		found, err := o.Offer(t.Context(), workflows, time.Second)
		return err == nil && o.Hand(t.Context(), found, []byte("1")) == nil
	})
	assert.Equal(t, "1", w.got(t))
}

// TestASilentOfferer: the poll waits again when it has heard nothing for a while.
func TestASilentOfferer(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, 20*time.Millisecond, 0), newOfferer(t, url(t), names)
	w := g.poll(t, workflows, "w")
	first := offered(t, o, workflows, 0)
	second := offered(t, o, workflows, natstest.Patience)
	assert.NotEqual(t, first.Inbox, second.Inbox)
	require.NoError(t, o.Hand(t.Context(), second, []byte("2")))
	assert.Equal(t, "2", w.got(t))
}

// TestNobodyAfterAWhile: a gateway stops listening for a queue that nobody polls.
func TestNobodyAfterAWhile(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, 0, 50*time.Millisecond), newOfferer(t, url(t), names)
	g.poll(t, workflows, "w").leave(t)
	natstest.Eventually(t, natstest.Patience, "nobody is there", func() bool {
		_, err := o.Offer(t.Context(), workflows, 0)
		require.ErrorIs(t, err, ErrNobody)
		return !assert.ObjectsAreEqual(ErrBusy, err)
	})
	w := g.poll(t, workflows, "w")
	require.NoError(t, o.Hand(t.Context(), offered(t, o, workflows, 0), []byte("1")))
	assert.Equal(t, "1", w.got(t))
}

// TestStandingOffersKeepNobodyThere: offers that wait do not make it look as if somebody polled.
func TestStandingOffersKeepNobodyThere(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, 0, 50*time.Millisecond), newOfferer(t, url(t), names)
	g.poll(t, workflows, "w").leave(t)
	var offering sync.WaitGroup
	defer offering.Wait()
	for range 4 {
		offering.Go(func() {
			for err := ErrBusy; errors.Is(err, ErrBusy); {
				_, err = o.Offer(t.Context(), workflows, 20*time.Millisecond)
			}
		})
	}
}

// TestAPollSendsAHint when its gateway begins to listen, and only then.
func TestAPollSendsAHint(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g := runGateway(t, url(t), names, 0, time.Hour)
	hints, err := g.conn.SubscribeSync(names.BacklogHints())
	require.NoError(t, err)
	first := g.poll(t, workflows, "w")
	hint, err := hints.NextMsg(natstest.Patience)
	require.NoError(t, err)
	assert.Equal(t, names.BacklogHint(workflows), hint.Subject)
	g.poll(t, workflows, "w")
	first.cancel()
	other := Queue{Namespace: "default", Kind: Activity, Name: "other"}
	g.poll(t, other, "w")
	hint, err = hints.NextMsg(natstest.Patience)
	require.NoError(t, err)
	assert.Equal(t, names.BacklogHint(other), hint.Subject)
}

// TestStop: polls end without a task, except those that a task is on its way to.
func TestStop(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, time.Hour, 0), newOfferer(t, url(t), names)
	first, second := g.poll(t, workflows, "w1"), g.poll(t, workflows, "w2")
	found := offered(t, o, workflows, 0)
	stopped := make(chan struct{})
	go func() {
		g.stop()
		close(stopped)
	}()
	assert.Empty(t, second.got(t))
	_, err := o.Offer(t.Context(), workflows, 0)
	require.ErrorIs(t, err, ErrNobody)
	_, err = g.Wait(t.Context(), workflows, Poller{})
	require.ErrorIs(t, err, ErrStopped)
	require.NoError(t, o.Hand(t.Context(), found, []byte("1")))
	assert.Equal(t, "1", first.got(t))
	<-stopped
}

// TestAPollThatEnds: after its deadline it waits for the task that is on its way; if its worker is gone, the task goes to another poll.
func TestAPollThatEnds(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, time.Hour, 0), newOfferer(t, url(t), names)
	ctx := overdue{t.Context(), make(chan struct{})}
	ended := make(chan string, 1)
	go func() {
		task, err := g.Wait(ctx, workflows, Poller{Identity: "w1"})
		assert.NoError(t, err)
		ended <- string(task)
	}()
	var found Poller
	natstest.Eventually(t, natstest.Patience, "the poll is found", func() bool {
		var err error
		found, err = o.Offer(t.Context(), workflows, 0)
		return err == nil
	})
	close(ctx.over)
	natstest.Eventually(t, natstest.Patience, "the poll waits for nothing but this task", func() bool { return g.lasts(workflows) == 1 })
	require.NoError(t, o.Hand(t.Context(), found, []byte("1")))
	assert.Equal(t, "1", <-ended)

	gone := g.poll(t, workflows, "w2")
	found = offered(t, o, workflows, 0)
	gone.cancel()
	assert.Empty(t, gone.got(t))
	require.NoError(t, o.Hand(t.Context(), found, []byte("2")))
	assert.Equal(t, "2", g.poll(t, workflows, "w3").got(t))
}

// overdue is a context whose deadline passes when over is closed.
type overdue struct {
	context.Context
	over chan struct{}
}

func (c overdue) Done() <-chan struct{} { return c.over }

func (c overdue) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// lasts returns how many polls of a queue are over but for the task for which they are reserved.
func (g *gateway) lasts(q Queue) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.served[q].line.polls {
		if p.last {
			n++
		}
	}
	return n
}

// TestSeveralGateways: an offer finds the only poll there is, although it reaches another gateway first.
func TestSeveralGateways(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	o := newOfferer(t, url(t), names)
	idle, busy := runGateway(t, url(t), names, 0, time.Hour), runGateway(t, url(t), names, 0, time.Hour)
	idle.poll(t, workflows, "idle").leave(t)
	natstest.Eventually(t, natstest.Patience, "one gateway has no poll", func() bool { return idle.count(workflows) == 0 })
	for i := range 20 {
		w := busy.poll(t, workflows, "busy")
		require.NoError(t, o.Hand(t.Context(), offered(t, o, workflows, natstest.Patience), []byte(fmt.Sprint(i))))
		assert.Equal(t, fmt.Sprint(i), w.got(t))
	}
	natstest.Eventually(t, natstest.Patience, "no offer stands", func() bool { return idle.standing(workflows) == 0 })
}

// TestAGatewayThatComesLater: a standing offer finds the first poll of a gateway that did not know the queue before.
func TestAGatewayThatComesLater(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	o, old := newOfferer(t, url(t), names), runGateway(t, url(t), names, 0, time.Hour)
	old.poll(t, workflows, "w").leave(t)
	natstest.Eventually(t, natstest.Patience, "the poll has ended", func() bool { return old.count(workflows) == 0 })
	found := make(chan Poller, 1)
	go func() {
		poller, err := o.Offer(t.Context(), workflows, natstest.Patience)
		assert.NoError(t, err)
		found <- poller
	}()
	natstest.Eventually(t, natstest.Patience, "the offer stands", func() bool { return old.standing(workflows) == 1 })
	w := runGateway(t, url(t), names, 0, 0).poll(t, workflows, "w")
	require.NoError(t, o.Hand(t.Context(), <-found, []byte("1")))
	assert.Equal(t, "1", w.got(t))
}

// TestADeadGateway: NATS does not know yet that it is dead. The offer reaches the others all the same.
func TestADeadGateway(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	o, g := newOfferer(t, url(t), names), runGateway(t, url(t), names, 0, 0)
	dead, err := g.conn.QueueSubscribeSync(names.Poll(workflows), group)
	require.NoError(t, err)
	for i := range 10 {
		w := g.poll(t, workflows, "w")
		require.NoError(t, o.Hand(t.Context(), offered(t, o, workflows, natstest.Patience), []byte(fmt.Sprint(i))))
		assert.Equal(t, fmt.Sprint(i), w.got(t))
		if n, _, err := dead.Pending(); err == nil && n > 0 {
			return
		}
	}
}

// TestWhoPolls collects what all gateways know.
func TestWhoPolls(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	first, second := runGateway(t, url(t), names, 0, 0), runGateway(t, url(t), names, 0, 0)
	first.poll(t, workflows, "w1").leave(t)
	second.poll(t, workflows, "w1")
	second.poll(t, workflows, "w2")
	first.poll(t, Queue{Namespace: "default", Kind: Activity, Name: "q q"}, "w3")
	natstest.Eventually(t, natstest.Patience, "both gateways answer", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		polling, err := WhoPolls(ctx, first.conn, names, workflows)
		require.NoError(t, err)
		all := polling.Workers
		return len(all) == 2 && all[0].Identity == "w1" && all[1].Identity == "w2" && all[1].BuildID == "b1" && !all[0].Access.IsZero()
	})
	_, err := WhoPolls(t.Context(), first.conn, names, Queue{})
	require.Error(t, err)
}

// TestGarbage: what is no message of the protocol has no effect.
func TestGarbage(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	g, o := runGateway(t, url(t), names, 0, 0), newOfferer(t, url(t), names)
	w := g.poll(t, workflows, "w")
	for _, subject := range []string{
		names.StandingOffer(workflows), g.inbox + "x", g.inbox + "1.2", g.inbox + "1.2.3.4", g.inbox + "1.?.3", g.inbox + "99.1.1",
		names.Pollers(Queue{Namespace: "NOT-A-NAME", Kind: "x", Name: "y"}), o.inbox + "1",
	} {
		require.NoError(t, g.conn.Publish(subject, []byte("garbage")))
	}
	require.NoError(t, g.conn.Flush())
	require.NoError(t, o.Hand(t.Context(), offered(t, o, workflows, time.Minute), []byte("1")))
	assert.Equal(t, "1", w.got(t))
}

// TestHandToAnotherSubject: a request names the inbox, and so could name a subject where a task does harm.
func TestHandToAnotherSubject(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	o := newOfferer(t, url(t), names)
	for _, inbox := range []string{"", "inbox", names.Backlog(workflows), names.Journal(0, schedule.Key{Namespace: "default", ID: "w"})} {
		require.ErrorContains(t, o.Hand(t.Context(), Poller{Inbox: inbox}, []byte("1")), "is not the inbox of a poll")
	}
}

// TestStore: the task is in the backlog before the hint comes.
func TestStore(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, url(t))
	names := natstest.Names(t)
	for _, config := range names.StreamConfigs(1, 1) {
		if config.Name == names.BacklogStream() {
			_, err := js.CreateStream(t.Context(), config)
			require.NoError(t, err)
		}
	}
	hints, err := conn.SubscribeSync(names.BacklogHints())
	require.NoError(t, err)
	require.NoError(t, conn.Flush())
	o := newOfferer(t, url(t), names)
	task := Task{
		Namespace: "default", WorkflowID: "w", RunID: "r", Kind: Workflow, EventID: 5, Attempt: 1, Scheduled: start.UTC(), Expires: time.Unix(1, 0).UTC(),
	}
	require.NoError(t, o.Store(t.Context(), workflows, task))
	require.Error(t, o.Store(t.Context(), Queue{}, task))
	_, err = hints.NextMsg(natstest.Patience)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), names.BacklogStream())
	require.NoError(t, err)
	stored, err := stream.GetLastMsgForSubject(t.Context(), names.Backlog(workflows))
	require.NoError(t, err)
	assert.Equal(t, "60", stored.Header.Get(jetstream.MsgTTLHeader), "it has expired, and is kept for a minute")
	back, err := ParseTask(stored.Data)
	require.NoError(t, err)
	assert.Equal(t, task, back)
}

// TestRecords: what history, the backlog and matching tell each other is read as it was written, and nothing else is.
func TestRecords(t *testing.T) {
	t.Parallel()
	s := Start{Task: Task{Namespace: "n", WorkflowID: "w", RunID: "r", Kind: Activity, EventID: 1, Attempt: 2}, Poller: Poller{Inbox: "i"}}
	data, err := s.Marshal()
	require.NoError(t, err)
	back, err := ParseStart(data)
	require.NoError(t, err)
	assert.Equal(t, s, back)
	for _, bad := range []Start{{}, {Task: s.Task}, {Poller: s.Poller}} {
		data, err := bad.Marshal()
		require.NoError(t, err)
		_, err = ParseStart(data)
		require.Error(t, err)
	}
	for _, garbage := range [][]byte{nil, {1}, []byte("garbage")} {
		_, err1 := ParseStart(garbage)
		_, err2 := ParseTask(garbage)
		require.Error(t, err1)
		require.Error(t, err2)
	}
	empty, err := Task{}.Marshal()
	require.NoError(t, err)
	_, err = ParseTask(empty)
	require.Error(t, err)
}

// TestSeen: as many workers as there is room for, and for as long as said.
func TestSeen(t *testing.T) {
	t.Parallel()
	s := newSeen(time.Minute)
	for i := range maxSeen + 1 {
		s.note(start.Add(time.Duration(i)*time.Millisecond), Poller{Identity: fmt.Sprint(i)})
	}
	assert.Len(t, s.all(start), maxSeen)
	assert.NotContains(t, s.workers, "0")
	assert.Empty(t, s.all(start.Add(2*time.Minute)))
}
