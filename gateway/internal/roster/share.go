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
	return r.config.Conn.PublishMsg(message)
}

// message is what a gateway tells the others about a worker.
func (r *Roster) message(namespace string, beat *worker.WorkerHeartbeat, ago time.Duration) (*nats.Msg, error) {
	data, err := proto.Marshal(&workflowservice.RecordWorkerHeartbeatRequest{
		Namespace: namespace, WorkerHeartbeat: []*worker.WorkerHeartbeat{beat},
	})
	if err != nil {
		return nil, fmt.Errorf("gateway: tell of a worker: %w", err)
	}
	header := nats.Header{headerAgo: []string{strconv.FormatInt(ago.Milliseconds(), 10)}}
	return &nats.Msg{Subject: r.config.Names.WorkerBeats(), Header: header, Data: data}, nil
}

// Run hears of the workers of other gateways, and tells of its own, until ctx ends. The error is that of a subscription. It may be called once.
func (r *Roster) Run(ctx context.Context) error {
	subs, err := r.listen()
	defer func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // it fails if the connection is closed
		}
		// Until NATS knows it, it may pass a question of a gateway that begins to this one, which does not answer any longer.
		_ = r.config.Conn.FlushTimeout(flushTimeout)
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

// flushTimeout bounds how long a gateway that stops waits for NATS.
const flushTimeout = time.Second

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
	subscribe(conn.Subscribe(names.WorkerBeats(), r.hear))
	if err == nil {
		err = conn.Publish(names.WorkerRoster(), nil)
	}
	subscribe(conn.QueueSubscribe(names.WorkerRoster(), "gateways", r.tell))
	return subs, err
}

// hear notes what a gateway tells. What cannot be read comes from nobody who knows better.
func (r *Roster) hear(message *nats.Msg) {
	ago, err := strconv.ParseUint(message.Header.Get(headerAgo), 10, 31)
	told := &workflowservice.RecordWorkerHeartbeatRequest{}
	if err != nil || proto.Unmarshal(message.Data, told) != nil {
		return
	}
	for _, beat := range told.WorkerHeartbeat {
		r.take(told.Namespace, beat, time.Duration(ago)*time.Millisecond)
	}
}

// tell tells all that this gateway knows, since another one has just begun. The subject is that of heartbeats, and no inbox of the one that asks:
// permissions may allow a single answer to a question.
func (r *Roster) tell(*nats.Msg) {
	for _, message := range r.messages() {
		if err := r.config.Conn.PublishMsg(message); err != nil {
			r.log.Warn("another gateway does not learn of all workers", "error", err)
			return
		}
	}
}

// messages are those about all workers that are known.
func (r *Roster) messages() (all []*nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now()
	for namespace, workers := range r.of {
		for _, known := range workers {
			if message, err := r.message(namespace, known.beat, max(0, now.Sub(known.at))); err == nil && !known.isSilent(now) {
				all = append(all, message)
			}
		}
	}
	return all
}
