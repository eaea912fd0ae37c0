package roster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// headerAgo says for how many milliseconds a heartbeat has been known.
const headerAgo = "Carillon-Heard-Ago"

// Record notes the heartbeat of a worker, here and in the other gateways. Each namespace has room for 20,000 workers; further ones are not listed.
// The heartbeat belongs to the roster from then on. An error means that the others do not learn of it.
func (r *Roster) Record(namespace string, beat *worker.WorkerHeartbeat) error {
	message, err := r.message(namespace, beat, 0)
	if err != nil {
		return err
	}
	r.take(namespace, beat, 0)
	message.Subject = r.config.Names.WorkerBeats()
	return r.config.Conn.PublishMsg(message)
}

// message is what a gateway tells another one about a worker.
func (r *Roster) message(namespace string, beat *worker.WorkerHeartbeat, ago time.Duration) (*nats.Msg, error) {
	data, err := proto.Marshal(&workflowservice.RecordWorkerHeartbeatRequest{
		Namespace: namespace, WorkerHeartbeat: []*worker.WorkerHeartbeat{beat},
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: tell of a worker: %w", err)
	}
	return &nats.Msg{Data: data, Header: nats.Header{headerAgo: []string{strconv.FormatInt(ago.Milliseconds(), 10)}}}, nil
}

// Run hears of the workers of other gateways, and tells of its own, until ctx ends. The error is that of a subscription. It may be called once.
func (r *Roster) Run(ctx context.Context) error {
	subs, err := r.listen()
	defer func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // it fails if the connection is closed
		}
	}()
	if err != nil {
		return fmt.Errorf("gateway: hear of workers: %w", err)
	}
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweep.C:
			r.forget()
		}
	}
}

// listen subscribes to what other gateways tell, asks one of them for all it knows, and then answers such questions itself. In this order nothing is
// missed in between, and no gateway asks itself.
func (r *Roster) listen() (subs []*nats.Subscription, err error) {
	conn, names := r.config.Conn, r.config.Names
	subscribe := func(sub *nats.Subscription, failure error) {
		if failure == nil {
			subs = append(subs, sub)
		}
		err = errors.Join(err, failure)
	}
	inbox := conn.NewInbox()
	subscribe(conn.Subscribe(names.WorkerBeats(), r.hear))
	subscribe(conn.Subscribe(inbox, r.hear))
	if err == nil {
		err = conn.PublishRequest(names.WorkerRoster(), inbox, nil)
	}
	subscribe(conn.QueueSubscribe(names.WorkerRoster(), "gateways", r.tell))
	return subs, err
}

// hear notes what another gateway tells. What cannot be read comes from nobody who knows better.
func (r *Roster) hear(message *nats.Msg) {
	ago, err := strconv.ParseUint(message.Header.Get(headerAgo), 10, 31)
	told := &workflowservice.RecordWorkerHeartbeatRequest{}
	if err != nil || proto.Unmarshal(message.Data, told) != nil {
		return // nobody answers, for example
	}
	for _, beat := range told.WorkerHeartbeat {
		r.take(told.Namespace, beat, time.Duration(ago)*time.Millisecond)
	}
}

// tell tells a gateway that has just begun all that this one knows.
func (r *Roster) tell(question *nats.Msg) {
	if question.Reply == "" || r.config.Names.IsOwn(question.Reply) { // on such a subject, an answer would have an effect
		return
	}
	for _, answer := range r.answers() {
		if err := question.RespondMsg(answer); err != nil {
			r.log.Warn("another gateway does not learn of all workers", "error", err)
			return
		}
	}
}

// answers are the messages about all workers that are known.
func (r *Roster) answers() (all []*nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now()
	for namespace, workers := range r.of {
		for _, known := range workers {
			if answer, err := r.message(namespace, known.beat, max(0, now.Sub(known.at))); err == nil {
				all = append(all, answer)
			}
		}
	}
	return all
}
