package offer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/subjects"
)

// askWait bounds the wait for one gateway. A gateway answers at once, unless it is dead and NATS does not know that yet.
const askWait = time.Second

// keepExpired is how much longer than it is wanted a task stays in the backlog: the clocks of NATS and of history may differ.
const keepExpired = time.Minute

// Offerer offers tasks to polls. [NewOfferer] makes it. It is safe for concurrent use.
type Offerer struct {
	config  Config
	bus     bus.Bus
	source  string
	inbox   string // what the subjects of all answers begin with
	answers *nats.Subscription
	asked   *nats.Subscription // for the rates
	counts  *counts

	mu      sync.Mutex
	last    uint64
	waiting map[string]chan reply // by the last token of the subject
}

// reply is an answer, or ErrNobody.
type reply struct {
	poller Poller
	err    error
}

// NewOfferer returns an offerer. The bus stores what goes into the backlog, and may be nil for an offerer that stores nothing. source says
// for the metrics what is offered: metrics.OfferedNew or metrics.OfferedBacklog. It answers [AskRates] with what it is told of. The caller must call Close.
func NewOfferer(config Config, bus bus.Bus, source string) (*Offerer, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	o := &Offerer{config: config, bus: bus, source: source, inbox: config.Conn.NewInbox() + ".", waiting: map[string]chan reply{}}
	o.counts = newCounts(config.Now(), maxCounted)
	o.answers, err = config.Conn.QueueSubscribe(o.inbox+"*", "", o.take)
	if err != nil {
		return nil, err
	}
	o.asked, err = config.Conn.QueueSubscribe(config.Names.AllTaskRates(), "", o.tellRates)
	if err != nil {
		config.Conn.Unsubscribe(o.answers)
		return nil, err
	}
	return o, nil
}

// Close ends the subscriptions; the connection stays open. No offer may be made afterwards.
func (o *Offerer) Close() {
	o.config.Conn.Unsubscribe(o.asked)
	o.config.Conn.Unsubscribe(o.answers)
}

// Offer finds a poll that waits on a queue, and reserves it for some seconds. The caller then calls Hand, once. patience is how long the
// offer stands if there are pollers and none is free, as for a worker that has just got a task and comes right back. Without patience,
// one gateway is asked and no other. Errors: [ErrBusy], [ErrNobody], that of ctx, a queue that is not valid, or those of NATS. After an
// error no poll is reserved for long.
func (o *Offerer) Offer(ctx context.Context, q Queue, patience time.Duration) (Poller, error) {
	if err := cmp.Or(ctx.Err(), q.Validate()); err != nil {
		return Poller{}, err
	}
	found, err := o.request(ctx, q, nil)
	if patience > 0 && errors.Is(err, ErrBusy) {
		found, err = o.stand(ctx, q, patience)
	}
	metrics.Offers.Add(ctx, 1, q.Namespace, string(q.Kind), o.source, outcome(err))
	return found, err
}

// Polled reports whether there may be a poll on a queue now or soon. It reserves none. Errors are that of ctx, and those of NATS.
func (o *Offerer) Polled(ctx context.Context, q Queue) (bool, error) {
	_, err := o.request(ctx, q, []byte(probe))
	switch {
	case errors.Is(err, ErrBusy):
		return true, nil
	case errors.Is(err, ErrNobody):
		return false, nil
	}
	return false, err
}

func outcome(err error) string {
	switch {
	case err == nil:
		return metrics.OfferTaken
	case errors.Is(err, ErrBusy):
		return metrics.OfferBusy
	case errors.Is(err, ErrNobody):
		return metrics.OfferNobody
	}
	return metrics.OutcomeError
}

// request asks one gateway.
func (o *Offerer) request(ctx context.Context, q Queue, what []byte) (Poller, error) {
	token, answers := o.expect()
	defer o.forget(token, answers)
	if err := o.config.Conn.PublishMsg(&nats.Msg{Subject: o.config.Names.Poll(q), Reply: o.inbox + token, Data: what}); err != nil {
		return Poller{}, err
	}
	return wait(ctx, answers, askWait)
}

// stand asks all gateways, and waits until one has a free poll. It asks again now and then, because the worker may come back to a gateway
// that it has not used before.
func (o *Offerer) stand(ctx context.Context, q Queue, patience time.Duration) (found Poller, err error) {
	token, answers := o.expect()
	defer o.forget(token, answers)
	offer := standing{ID: o.inbox + token, Patience: patience}
	for err = ErrBusy; errors.Is(err, ErrBusy) && offer.Patience > 0; offer.Patience -= askWait {
		if err := o.standing(q, offer); err != nil {
			return Poller{}, err
		}
		found, err = wait(ctx, answers, min(offer.Patience, askWait))
	}
	if !errors.Is(err, ErrNobody) || errors.Is(err, ErrBusy) {
		// If this fails, the offer ends by itself, and forget or take sets a poll free that is reserved until then.
		_ = o.standing(q, standing{ID: offer.ID})
	}
	return found, err
}

// standing sends a standing offer, or its end.
func (o *Offerer) standing(q Queue, s standing) error {
	data, err := codec.Marshal(&s)
	if err != nil {
		return err
	}
	if s.Patience == 0 {
		return o.config.Conn.PublishMsg(&nats.Msg{Subject: o.config.Names.StandingOffer(q), Data: data})
	}
	return o.config.Conn.PublishMsg(&nats.Msg{Subject: o.config.Names.StandingOffer(q), Reply: s.ID, Data: data})
}

// wait waits for an answer. No answer in time is ErrBusy.
func wait(ctx context.Context, answers <-chan reply, limit time.Duration) (Poller, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case r := <-answers:
		return r.poller, r.err
	case <-timer.C:
		return Poller{}, ErrBusy
	case <-ctx.Done():
		return Poller{}, ctx.Err()
	}
}

// expect prepares for answers. The caller must pass what it returns to forget.
func (o *Offerer) expect() (token string, answers chan reply) {
	answers = make(chan reply, 1)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last++
	token = strconv.FormatUint(o.last, inboxBase)
	o.waiting[token] = answers
	return token, answers
}

// forget ends the wait for answers. A poll that was found meanwhile is set free.
func (o *Offerer) forget(token string, answers <-chan reply) {
	o.mu.Lock()
	delete(o.waiting, token)
	o.mu.Unlock()
	select {
	case r := <-answers:
		o.release(r)
	default:
	}
}

// take takes an answer. A poll that nobody has waited for is set free.
func (o *Offerer) take(msg *nats.Msg) {
	r, ok := parseReply(msg)
	if !ok {
		return
	}
	o.mu.Lock()
	answers, late := o.waiting[strings.TrimPrefix(msg.Subject, o.inbox)], true
	if answers != nil {
		select {
		case answers <- r:
			late = false
		default: // another gateway was faster
		}
	}
	o.mu.Unlock()
	if late {
		o.release(r)
	}
}

func (o *Offerer) release(r reply) {
	if r.err == nil {
		_ = o.send(r.poller, nil) // if it fails, the reservation ends by itself
	}
}

// parseReply reads an answer to an offer.
func parseReply(msg *nats.Msg) (reply, bool) {
	if bus.NobodyListens(msg) {
		return reply{err: ErrNobody}, true
	}
	var a answer
	if codec.Unmarshal(msg.Data, &a) != nil {
		return reply{}, false
	}
	if a.Poller.Inbox == "" {
		return reply{err: ErrBusy}, true
	}
	return reply{poller: a.Poller}, true
}

// Hand gives a task to the poll that Offer has found. Without a task, the offer is withdrawn, and the poll goes on waiting. If the poll has
// ended meanwhile, the task goes to another poll of the queue, if there is one within a few seconds, and is lost otherwise: nil does not
// mean that a worker has the task. Errors: the poller has no inbox of a poll, that of ctx, and those of NATS.
func (o *Offerer) Hand(ctx context.Context, to Poller, task []byte) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return o.send(to, task)
}

// send publishes to a poll. A request names the subject, so the subject is checked: on another one, a task could have any effect.
func (o *Offerer) send(to Poller, task []byte) error {
	if !o.config.Names.IsPollInbox(to.Inbox) {
		return fmt.Errorf("offer: %q is not the inbox of a poll", to.Inbox)
	}
	return o.config.Conn.PublishMsg(&nats.Msg{Subject: to.Inbox, Data: task})
}

// Store stores a task in the backlog of a queue, notes that it has come there, and tells matching. A task that expires is removed soon afterwards, even if nobody polls. Errors are those of NATS. After one that is not a refusal
// (jetstream.APIError) the task may be stored. A queue that is full refuses it.
func (o *Offerer) Store(ctx context.Context, q Queue, task Task) error {
	msg, err := Waiting(o.config.Names, q, task, o.config.Now())
	if err != nil {
		return err
	}
	if err := o.bus.Publish(ctx, msg); err != nil {
		return err
	}
	o.Count(q, task.Priority, 1, 0)
	_ = o.config.Conn.PublishMsg(hint(o.config.Names, q, task.Priority)) // matching looks by itself, too
	return nil
}

// hint returns the message that tells matching about a task with a priority in the backlog of a queue. 0 stands for the usual priority.
func hint(names subjects.Names, q Queue, priority int) *nats.Msg {
	msg := &nats.Msg{Subject: names.BacklogHint(q)}
	if priority != 0 {
		msg.Data = strconv.AppendInt(nil, int64(priority), 10)
	}
	return msg
}

// HintedPriority returns the priority of a hint. A hint without one, or with garbage, has the usual priority.
func HintedPriority(hint *nats.Msg) int {
	priority, err := strconv.Atoi(string(hint.Data))
	if err != nil || priority < subjects.FirstPriority || priority > subjects.LastPriority {
		return subjects.DefaultPriority
	}
	return priority
}

// Waiting returns the message that stores a task in the backlog of a queue. An error means that the queue is not valid.
func Waiting(names subjects.Names, q Queue, task Task, now time.Time) (*nats.Msg, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	data, err := task.Marshal()
	if err != nil {
		return nil, err
	}
	msg := &nats.Msg{Subject: names.BacklogAt(q, cmp.Or(task.Priority, subjects.DefaultPriority)), Data: data}
	if !task.Expires.IsZero() {
		keep := max(task.Expires.Sub(now), 0) + keepExpired
		msg.Header = nats.Header{jetstream.MsgTTLHeader: {strconv.FormatInt(int64(keep/time.Second), 10)}}
	}
	return msg, nil
}
