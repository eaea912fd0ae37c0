// Package owners sends the requests about an execution to the process of the pool history that has it in memory.
//
// Each execution has an owner among the processes that answer: the one that comes first when all of them are ranked by a hash of the process
// and the execution. So all who ask choose the same process, nobody has to agree on anything, and when a process comes or goes, only the
// executions that it gets or had change their owner.
//
// The owner matters for speed alone. Any process of the pool answers any request, and the journal decides who was first. If the owner is
// unknown, or gone, the request goes to any process. So an old list of the processes costs time, and never an answer.
//
// If the owner is in the process that sends the request, it gets the request by a call, and NATS has nothing to do: [Owners.Stay].
//
// Whoever sends requests asks for the processes, at most once a second. Nothing is sent while there are no requests.
//
// The package may import schedule, subjects, internal/bus, internal/call and internal/metrics. It must never decide what a request means, and
// nothing may depend on which process answers.
package owners

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// askEvery is how often the processes are asked for, while there are requests.
	askEvery = time.Second
	// missed is how many questions in a row a process may leave unanswered. It may be busy, or the answer is still on its way.
	missed = 2
)

// Owners knows the processes of the pool history of one installation. [New] makes it. It is safe for concurrent use.
type Owners struct {
	conn  bus.Conn
	names subjects.Names
	now   func() time.Time
	inbox string

	mu sync.Mutex
	// asked is when the last question was sent, and questions how many there were.
	asked     time.Time
	questions uint64
	// processes are the known processes, and the last question that each has answered.
	processes map[string]uint64
	// here are those that run in this process.
	here map[string]Here
}

// Here answers a request as RequestMsgWithContext of a connection does, in this process: see [call.Server.Here].
type Here func(ctx context.Context, request *nats.Msg) (*nats.Msg, error)

// New returns Owners that know nobody yet. They listen for answers until the connection ends. now is the clock; nil is that of the system. The
// error is that of the subscription.
func New(conn bus.Conn, names subjects.Names, now func() time.Time) (*Owners, error) {
	if now == nil {
		now = time.Now //permit:time.Now the default
	}
	o := &Owners{conn: conn, names: names, now: now, inbox: conn.NewInbox(), processes: map[string]uint64{}, here: map[string]Here{}}
	if _, err := conn.QueueSubscribe(o.inbox, "", o.note); err != nil {
		return nil, err
	}
	return o, nil
}

// Router knows what sends requests about an execution. [Owners] are one.
type Router interface {
	// For returns what sends requests about one execution. Their subject is that for all processes: see [subjects.Names.Execution].
	For(execution schedule.Key) call.Requester
}

// Anybody returns a router that leaves each request to any process.
func Anybody(conn call.Requester) Router { return anybody{conn} }

type anybody struct{ conn call.Requester }

func (a anybody) For(schedule.Key) call.Requester { return a.conn }

// For implements [Router].
func (o *Owners) For(execution schedule.Key) call.Requester { return requester{o, execution} }

// requester sends requests about one execution.
type requester struct {
	*Owners
	execution schedule.Key
}

// MaxPayload implements call.Requester.
func (r requester) MaxPayload() int64 { return r.conn.MaxPayload() }

// RequestMsgWithContext implements call.Requester. It sends a request to the owner, and to any process if the owner is not there.
func (r requester) RequestMsgWithContext(ctx context.Context, msg *nats.Msg) (*nats.Msg, error) {
	process := r.Owner(r.execution)
	if process == "" {
		metrics.HistoryRouted.Add(ctx, 1, metrics.RoutedAnybody)
		return r.conn.RequestMsgWithContext(ctx, msg)
	}
	own := *msg
	own.Subject = r.names.ExecutionAt(process, msg.Subject)
	send := r.conn.RequestMsgWithContext
	if here := r.hereIs(process); here != nil {
		send = here
	}
	answer, err := send(ctx, &own)
	if !errors.Is(err, nats.ErrNoResponders) {
		metrics.HistoryRouted.Add(ctx, 1, metrics.RoutedOwner)
		return answer, err
	}
	r.forget(process)
	metrics.HistoryRouted.Add(ctx, 1, metrics.RoutedGone)
	return r.conn.RequestMsgWithContext(ctx, msg)
}

// Owner returns the process that comes first for an execution; "" if none is known. It waits for nothing, so it knows nobody at first.
func (o *Owners) Owner(execution schedule.Key) (first string) {
	o.ask()
	o.mu.Lock()
	defer o.mu.Unlock()
	var most uint64
	for process := range o.processes {
		rank := subjects.Rank(process, execution)
		if first == "" || rank > most || rank == most && process < first {
			first, most = process, rank
		}
	}
	return first
}

// ask asks for the processes, if it is time, and forgets those that have not answered for some time. It waits for nothing.
func (o *Owners) ask() {
	now := o.now()
	o.mu.Lock()
	due := o.asked.IsZero() || now.Sub(o.asked) >= askEvery
	if due {
		o.asked = now
		for process, answered := range o.processes {
			if answered+missed < o.questions {
				delete(o.processes, process)
			}
		}
		o.questions++
	}
	o.mu.Unlock()
	if due {
		_ = o.conn.PublishMsg(&nats.Msg{Subject: o.names.HistoryProcesses(), Reply: o.inbox}) // it is asked again
	}
}

// note notes that a process has answered.
func (o *Owners) note(answer *nats.Msg) {
	if process := string(answer.Data); process != "" && process == subjects.Escape(process) { // NATS itself answers if there is none
		o.mu.Lock()
		defer o.mu.Unlock()
		o.processes[process] = o.questions
	}
}

// forget forgets a process until it answers again.
func (o *Owners) forget(process string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.processes, process)
}

// Stay says that a process of the pool is this one, until the function is called that it returns. The requests that the process owns are passed to
// here, and not to NATS.
func (o *Owners) Stay(process string, here Here) (leave func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.here[process] = here
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.here, process)
	}
}

// hereIs returns what answers for a process, if it is this one; nil otherwise.
func (o *Owners) hereIs(process string) Here {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.here[process]
}

// Announce answers for a process of the pool history until the function is called that it returns. The process is one token, different for each,
// and already serves its requests: see [subjects.Names.ExecutionsAt]. The error is that of the subscription.
func Announce(conn bus.Conn, names subjects.Names, process string) (end func(), err error) {
	sub, err := conn.QueueSubscribe(names.HistoryProcesses(), "", func(question *nats.Msg) {
		if question.Reply != "" && !names.IsOwn(question.Reply) { // on such a subject, an answer would have an effect
			_ = conn.PublishMsg(&nats.Msg{Subject: question.Reply, Data: []byte(process)}) // whoever asks will ask again
		}
	})
	return func() { conn.Unsubscribe(sub) }, err
}
