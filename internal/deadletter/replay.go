package deadletter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Replayed is the result of a replay. Its letter is gone.
type Replayed struct {
	Letter
	// Superseded is set if nothing had to be sent, because a newer message waits for the same pool to do the same thing.
	Superseded bool `json:"superseded,omitempty"`
}

// Replay sends the message of a letter again on its original subject, stores an event about it for the schedule, and removes the
// letter. If it fails, the letter stays, with one exception: if the message was sent and its event could not be stored, the
// letter is removed, because a second replay would be worse than a gap in the history.
//
// To repeat a replay does no harm. Within subjects.DuplicateWindow the stream drops the second message, and later the pools find
// that there is nothing to do. A start request runs once more if it is repeated after that window; the request ID is the
// idempotency key of the action, as for every run whose worker has died.
//
// The error has schedule.CodeNotFound if there is no such letter, and schedule.CodeFailedPrecondition if the message cannot be
// sent as it is, or not now.
//
// Replay sends a letter only where its owner and its origin match: a letter of a worker to the task queue that its subject names,
// a letter of a pool to a subject of the pool. It refuses a letter that does not prove its owner ([Letter].Unproven);
// [Reader.ReplaySeen] sends it.
func (r *Reader) Replay(ctx context.Context, number Number) (Replayed, error) {
	return r.replay(ctx, number, false)
}

// ReplaySeen is Replay of a letter that a person has looked at. It also sends a letter that does not prove its origin, but only
// as a start request for a task queue.
func (r *Reader) ReplaySeen(ctx context.Context, number Number) (Replayed, error) {
	return r.replay(ctx, number, true)
}

func (r *Reader) replay(ctx context.Context, number Number, seen bool) (Replayed, error) {
	message, err := r.Get(ctx, number)
	if err != nil {
		return Replayed{}, err
	}
	if message.Unproven && !seen {
		return Replayed{}, schedule.Errorf(schedule.CodeFailedPrecondition, "letter %s cannot be replayed unseen: any worker may have written it; "+
			"look at it with carillon dlq show %[1]s, then replay it by its number", number)
	}
	p, err := planReplay(r.names, &message)
	if err != nil {
		return Replayed{}, err
	}
	superseded, err := r.send(ctx, &p)
	if err != nil {
		return Replayed{}, err
	}
	var unrecorded error
	if !p.ofWorkflow() {
		unrecorded = r.record(ctx, replayedEvent(&message, p.meaning, r.identity, r.now()))
	}
	if err := r.Delete(ctx, number); err != nil && schedule.CodeOf(err) != schedule.CodeNotFound {
		return Replayed{}, err
	}
	return Replayed{Letter: message.Letter, Superseded: superseded}, unrecorded
}

// plan is how to send a message again.
type plan struct {
	meaning
	number    Number // of the letter
	origin    Origin
	messageID string
	msg       *nats.Msg
}

// planReplay decides whether and how a message can be sent again.
func planReplay(names subjects.Names, m *Message) (plan, error) {
	refuse := func(format string, args ...any) (plan, error) {
		reason := fmt.Sprintf(format, args...)
		return plan{}, schedule.Errorf(schedule.CodeFailedPrecondition, "letter %s cannot be replayed: %s", m.Number, reason)
	}
	p := plan{meaning: m.about, number: m.Number, origin: m.Origin}
	switch {
	case m.Cut && p.kind != kindEntry: // an entry is still in its journal
		return refuse("it has only the first %d of %d bytes of the message", len(m.Data), m.Size)
	case m.Origin.Subject == "" || m.Origin.Stream == "":
		return refuse("it does not say where the message was")
	case m.Foreign:
		// A worker may be restricted to one task queue. It must not reach others through a helpful person.
		return refuse("%s has no messages on %s", m.owner(), m.Origin.Subject)
	case p.kind == kindUnknown && m.Pool == Worker:
		return refuse("its body is not a start request for %s", m.Origin.Subject)
	case p.kind == kindUnknown || p.stream != m.Origin.Stream && (p.former == "" || p.former != m.Origin.Stream):
		return refuse("no pool takes messages on %s from stream %s", m.Origin.Subject, m.Origin.Stream)
	}
	// The ID comes from the message and not from the letter, so that two letters about one message send it once.
	p.messageID = "replay-" + m.Origin.id()
	if p.kind == kindRequest {
		p.messageID = p.requestID // readers of the stream know the request by this ID
	}
	p.msg = &nats.Msg{Subject: m.Origin.Subject, Header: nats.Header(m.Headers), Data: m.Data}
	if p.kind == kindEntry {
		p.askForWork(names)
	}
	return p, nil
}

// askForWork makes the plan ask history for the work of an entry. The entry itself is still in its journal.
func (p *plan) askForWork(names subjects.Names) {
	shard, key, _ := names.ParseJournal(p.origin.Subject) // it has been parsed before
	p.stream = names.TaskStream(shard)
	p.msg = &nats.Msg{Subject: names.ExecutionRedo(shard, key, p.origin.Sequence), Header: nats.Header{}}
}

// owner names the writer of a letter.
func (l *Letter) owner() string {
	switch {
	case l.Pool != Worker:
		return "the " + l.Pool
	case l.Unproven:
		return "a worker"
	}
	return fmt.Sprintf("a worker of task queue %q in namespace %s", l.TaskQueue, l.Namespace)
}

// send publishes a message unless its subject has one: an old message must not replace a newer one, and one workflow ID has only
// one run at a time. superseded reports whether the newer message replaces this one.
func (r *Reader) send(ctx context.Context, p *plan) (superseded bool, err error) {
	conditions := []jetstream.PublishOpt{jetstream.WithMsgID(p.messageID), jetstream.WithExpectStream(p.stream)}
	if p.kind != kindTask { // a queue has many tasks
		conditions = append(conditions, jetstream.WithExpectLastSequencePerSubject(0))
	}
	ack, err := r.js.PublishMsg(ctx, p.msg, conditions...)
	switch {
	case err == nil && ack.Duplicate && ack.Sequence == p.origin.Sequence:
		// The stream has dropped it as a repeat of the message that became the letter.
		return false, p.refuse("NATS takes it for a repeat until %s after it was first sent; try again then", subjects.DuplicateWindow)
	case err == nil:
		return false, nil
	case bus.IsWrongSequence(err):
		return r.compare(ctx, p)
	case isElsewhere(err):
		return false, p.refuse("stream %s does not take messages on %s any more", p.stream, p.origin.Subject)
	}
	return false, fmt.Errorf("deadletter: replay letter %s on %s: %w", p.number, p.origin.Subject, err)
}

// compare looks at the message that is in the way.
func (r *Reader) compare(ctx context.Context, p *plan) (superseded bool, err error) {
	there, err := bus.LeaderLast(ctx, r.js, p.stream, p.origin.Subject)
	switch {
	case errors.Is(err, bus.ErrNone):
		return false, p.refuse("another message was on its subject and has just gone; try again")
	case err != nil:
		return false, err
	}
	return p.judge(there.Sequence, there.Header.Get(jetstream.MsgIDHeader))
}

// judge decides what the message that is in the way means.
func (p *plan) judge(sequence uint64, messageID string) (superseded bool, err error) {
	switch {
	case sequence == p.origin.Sequence:
		return false, p.refuse("the message is still in stream %s; try again in a moment", p.stream)
	case messageID == p.messageID:
		return false, nil // an earlier replay that did not finish
	case p.kind == kindRequest:
		return false, p.refuse("another run of its workflow ID is queued or running")
	case p.kind == kindCompletion:
		return false, p.refuse("another completion of the run waits to be processed; try again in a moment")
	}
	return true, nil
}

func (p *plan) refuse(format string, args ...any) error {
	reason := fmt.Sprintf(format, args...)
	return schedule.Errorf(schedule.CodeFailedPrecondition, "letter %s was not replayed: %s", p.number, reason)
}

// isElsewhere reports whether a publish was refused because no stream, or another one, takes its subject.
func isElsewhere(err error) bool {
	return bus.CodeOf(err) == bus.CodeNotExpectedStream || errors.Is(err, jetstream.ErrNoStreamResponse)
}

// eventWait is how long a replay waits for the event stream.
const eventWait = 5 * time.Second

// record stores an event, unless it concerns no schedule.
func (r *Reader) record(ctx context.Context, event schedule.Event) error {
	if event.ScheduleID == "" {
		return nil
	}
	own := bus.New(r.js)
	defer own.Close()
	ctx, cancel := context.WithTimeout(ctx, eventWait)
	defer cancel()
	if err := events.NewPublisher(own, r.names, nil).Publish(ctx, event); err != nil {
		return fmt.Errorf("deadletter: sent again, but the history does not say so: %w", err)
	}
	return nil
}
