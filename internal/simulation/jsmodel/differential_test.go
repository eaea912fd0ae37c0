package jsmodel_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/bus"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// patience is how long a busy server may take.
	patience = 10 * time.Second
	// notSoon is longer than any test takes.
	notSoon = time.Hour
	queue   = "q"
)

var keys = []schedule.Key{{Namespace: "default", ID: "a"}, {Namespace: "default", ID: "b"}}

// pair is an installation on a server, and the same in the model. Each operation is done to both, and the answers are compared.
type pair struct {
	require *require.Assertions
	test    *testing.T
	names   subjects.Names
	conn    *nats.Conn
	js      jetstream.JetStream
	bus     *bus.NATS
	bucket  jetstream.KeyValue
	model   *jsmodel.Server

	streams   []string
	consumers []consumer
	held      []held
	// sequence counts the random sequences on the installation. Message IDs are remembered beyond the end of a sequence.
	sequence int
}

type consumer struct {
	stream, name string
	server       jetstream.Consumer
}

// held is a delivery by the model, and the reply subject of the same delivery by the server.
type held struct {
	jsmodel.Delivery
	reply string
}

// client is a connection to the shared server.
type client struct {
	conn *nats.Conn
	js   jetstream.JetStream
	bus  *bus.NATS
}

func connect(t *testing.T) client {
	conn, js := natstest.Connect(t, natstest.Shared(t))
	return client{conn, js, natstest.Bus(t, js)}
}

// newPair makes an installation whose consumers wait ackWait for acknowledgements. It reports failures to failing.
func newPair(t *testing.T, failing require.TestingT, c client, ackWait time.Duration) *pair {
	names := natstest.Names(t)
	p := &pair{
		require: require.New(failing), test: t, names: names, conn: c.conn, js: c.js, bus: c.bus,
	}
	_, err := topology.Ensure(t.Context(), p.js, names, topology.Settings{Shards: 1, Replicas: 1})
	p.require.NoError(err)
	p.makeAnew(names.StreamConfigs(1, 1))
	p.bucket, err = p.js.KeyValue(t.Context(), names.StateBucket(0))
	p.require.NoError(err)
	configs := append(names.StreamConfigs(1, 1), jsmodel.Bucket(names.BucketConfig(names.StateBucket(0), 1)))
	for _, config := range configs {
		p.streams = append(p.streams, config.Name)
	}
	p.model = jsmodel.New(configs...)
	for _, of := range names.PoolConsumers(0) {
		p.addConsumer(of.Stream, of.Config, ackWait)
	}
	p.addConsumer(names.ActionStream(), names.WorkerConsumer("default", queue), ackWait)
	return p
}

// makeAnew makes the streams once more, without the pulse, which the model does not know.
func (p *pair) makeAnew(configs []jetstream.StreamConfig) {
	for _, config := range configs {
		p.require.NoError(p.js.DeleteStream(p.test.Context(), config.Name))
		_, err := p.js.CreateStream(p.test.Context(), config)
		p.require.NoError(err)
	}
}

func (p *pair) addConsumer(stream string, config jetstream.ConsumerConfig, ackWait time.Duration) {
	config.AckWait = ackWait
	var server jetstream.Consumer
	natstest.Eventually(p.test, natstest.Patience, "the server has made consumer "+config.Durable, func() (made bool) {
		var err error
		server, err = p.js.CreateOrUpdateConsumer(p.test.Context(), stream, config)
		if bus.CodeOf(err) == bus.CodeConsumerNotMade {
			return false
		}
		p.require.NoError(err)
		return true
	})
	p.model.AddConsumer(stream, config)
	p.consumers = append(p.consumers, consumer{stream, config.Durable, server})
}

func (p *pair) now() time.Time {
	now := time.Now()
	p.model.Advance(now)
	return now
}

// answer is the answer to a publish.
type answer struct {
	Stream    string              `json:"stream"`
	Sequence  uint64              `json:"seq"`
	Duplicate bool                `json:"duplicate"`
	Error     *jetstream.APIError `json:"error"`
}

// publish stores a message in both, and returns the error of both.
func (p *pair) publish(msg *nats.Msg) error {
	// Not through nats.go, which tries again when no stream has the subject.
	reply, err := p.conn.RequestMsg(msg, patience)
	ack, modelErr := p.model.Publish(p.now(), msg)
	if errors.Is(modelErr, nats.ErrNoResponders) {
		p.require.ErrorIs(err, nats.ErrNoResponders)
		return err
	}
	p.require.NoError(err)
	var got answer
	p.require.NoError(json.Unmarshal(reply.Data, &got))
	want := answer{Stream: ack.Stream, Sequence: ack.Sequence, Duplicate: ack.Duplicate}
	if errors.As(modelErr, &want.Error) && got.Error != nil {
		p.require.Equal(want.Error.ErrorCode, got.Error.ErrorCode, "%s\n%s %v", got.Error, msg.Subject, msg.Header)
		want.Error, got.Error = nil, nil
	}
	p.require.Equal(want, got, "%s %v", msg.Subject, msg.Header)
	return modelErr
}

func (p *pair) remove(stream string, sequence uint64) {
	p.now()
	s, err := p.js.Stream(p.test.Context(), stream)
	p.require.NoError(err)
	err = s.DeleteMsg(p.test.Context(), sequence)
	if p.model.Remove(stream, sequence) {
		p.require.NoError(err)
		return
	}
	p.require.ErrorIs(err, jetstream.ErrMsgDeleteUnsuccessful)
}

func (p *pair) purge(stream, subject string) {
	p.require.NoError(p.bus.Purge(p.test.Context(), stream, subject))
	p.model.Purge(stream, subject)
}

func (p *pair) last(stream, subject string) {
	got, err := p.bus.Last(p.test.Context(), stream, subject)
	p.now()
	want, ok := p.model.Last(stream, subject)
	if !ok {
		p.require.ErrorIs(err, bus.ErrNone)
		return
	}
	p.require.NoError(err)
	p.requireSame(want, got.Sequence, subject, got.Header, got.Data)
}

func (p *pair) requireSame(want jsmodel.Message, sequence uint64, subject string, header nats.Header, data []byte) {
	p.require.Equal(want.Sequence, sequence)
	p.require.Equal(want.Subject, subject)
	if len(want.Header)+len(header) > 0 {
		p.require.Equal(want.Header, header, "%s", subject)
	}
	p.require.Equal(string(want.Data), string(data))
}

// fetch takes up to so many messages of a consumer, and keeps them.
func (p *pair) fetch(c consumer, most int) {
	now := p.now()
	want := p.model.Deliverable(now, c.stream, c.name)
	want = want[:min(most, len(want))]
	if len(want) == 0 {
		p.requireNothing(c)
		return
	}
	batch, err := c.server.Fetch(len(want), jetstream.FetchMaxWait(patience))
	p.require.NoError(err)
	var got []uint64
	var messages []jetstream.Msg
	for msg := range batch.Messages() {
		about, err := msg.Metadata()
		p.require.NoError(err)
		got = append(got, about.Sequence.Stream)
		messages = append(messages, msg)
	}
	p.require.NoError(batch.Error())
	p.require.Equal(want, got, "the sequences that %s delivers", c.name)
	for i, msg := range messages {
		p.received(p.model.Deliver(now, c.stream, c.name, want[i]), msg)
	}
}

func (p *pair) received(d jsmodel.Delivery, msg jetstream.Msg) {
	about, err := msg.Metadata()
	p.require.NoError(err)
	p.requireSame(d.Message, about.Sequence.Stream, msg.Subject(), msg.Headers(), msg.Data())
	p.require.Equal(d.Deliveries, about.NumDelivered, "deliveries of %s", msg.Subject())
	p.held = append(p.held, held{d, msg.Reply()})
}

func (p *pair) requireNothing(c consumer) {
	batch, err := c.server.FetchNoWait(1)
	p.require.NoError(err)
	for msg := range batch.Messages() {
		p.require.Fail("the server delivers what the model does not", "%s: %s", c.name, msg.Subject())
	}
}

// requireSameBacklog waits, because a consumer counts removed messages for a while.
func (p *pair) requireSameBacklog(c consumer) {
	want := p.model.Backlog(c.stream, c.name)
	natstest.Eventually(p.test, patience, "the backlog of the consumer is that of the model", func() bool {
		info, err := c.server.Info(p.test.Context())
		return err == nil && int(info.NumPending)+info.NumAckPending == want
	})
}

// requireNoLaterFloor: the server does not regard a message as acknowledged that the model regards as unacknowledged.
func (p *pair) requireNoLaterFloor(c consumer) {
	info, err := c.server.Info(p.test.Context())
	p.require.NoError(err)
	p.require.LessOrEqual(info.AckFloor.Stream, p.model.Floor(c.stream, c.name), "the floor of %s", c.name)
}

// settle tells both about a delivery, as nats.go does, and waits until the server has heard of it.
func (p *pair) settle(h *held, verb string, delay time.Duration) {
	text := verb
	if delay > 0 {
		text += fmt.Sprintf(` {"delay": %d}`, delay.Nanoseconds())
	}
	_, err := p.conn.Request(h.reply, []byte(text), patience)
	p.require.NoError(err)
	switch now := p.now(); verb {
	case "+ACK":
		p.model.Ack(&h.Delivery)
	case "+TERM":
		p.model.Term(&h.Delivery)
	case "+WPI":
		p.model.Progress(now, &h.Delivery)
	case "-NAK":
		p.model.Nak(now, &h.Delivery, delay)
	}
}

// requireSameContents compares all messages, and the pending ones by giving all of them back.
func (p *pair) requireSameContents() {
	p.now()
	for _, name := range p.streams {
		p.requireSameStream(name)
	}
	for _, c := range p.consumers {
		p.fetch(c, 1000)
		p.requireNothing(c)
		p.requireSameBacklog(c)
		p.requireNoLaterFloor(c)
	}
	held := p.held
	for i := range held {
		p.settle(&held[i], "-NAK", 0)
	}
	for _, c := range p.consumers {
		p.fetch(c, 1000)
		p.requireNothing(c)
	}
}

// clear removes all messages from both, and leaves nothing pending.
func (p *pair) clear() {
	for i := range p.held {
		p.settle(&p.held[i], "+TERM", 0)
	}
	p.held = nil
	for _, name := range p.streams {
		for _, m := range p.model.Messages(name, ">") {
			p.purge(name, m.Subject)
		}
		p.requireSameStream(name)
	}
}

func (p *pair) requireSameStream(name string) {
	stream, err := p.js.Stream(p.test.Context(), name)
	p.require.NoError(err)
	want := p.model.Messages(name, ">")
	state := stream.CachedInfo().State
	p.require.Equal(p.model.LastSequence(name), state.LastSeq, name)
	p.require.EqualValues(len(want), state.Msgs, name)
	for _, m := range want {
		got, err := stream.GetMsg(p.test.Context(), m.Sequence)
		p.require.NoError(err)
		// Headers that a direct read adds to those of the message.
		for _, own := range []string{
			jetstream.SequenceHeader, jetstream.StreamHeader, jetstream.SubjectHeader, jetstream.TimeStampHeaer,
		} {
			got.Header.Del(own)
		}
		p.requireSame(m, got.Sequence, got.Subject, got.Header, got.Data)
	}
}

// fire waits until the server has delivered the delayed messages that are due, and does so in the model.
func (p *pair) fire() {
	for _, due := range p.model.Due(p.now()) {
		p.model.Fire(p.now(), due)
	}
	tasks := p.names.TaskStream(0)
	natstest.Eventually(p.test, patience, "the timers have fired", func() bool {
		stream, err := p.js.Stream(p.test.Context(), tasks)
		return err == nil && stream.CachedInfo().State.LastSeq >= p.model.LastSequence(tasks)
	})
}

// tasks are subjects of all kinds, few enough to meet again.
func (p *pair) tasks() (all []string) {
	for _, key := range keys {
		all = append(all, p.names.Generate(0, key, subjects.WhatDue), p.names.InvokeWake(0, key),
			p.names.Callback(0, key, queue, "r"), p.names.Backfill(0, key, "x"))
	}
	return all
}

func (p *pair) timers() []string {
	return []string{p.names.DueTimer(0, keys[0]), p.names.DueTimer(0, keys[1]), p.names.RetryTimer(0, keys[0])}
}

func (p *pair) actions() []string {
	return []string{p.names.Action("default", queue, "w1"), p.names.Action("default", queue, "w2")}
}

func (p *pair) records() []string {
	prefix := "$KV." + p.names.StateBucket(0) + "."
	return []string{prefix + recordKeys[0], prefix + recordKeys[1]}
}

var recordKeys = []string{subjects.StateKey(keys[0], subjects.KindDefinition), subjects.StateKey(keys[1], subjects.KindInvoker)}

func (p *pair) all() []string {
	return slices.Concat(p.tasks(), p.timers(), p.actions(), p.records(), []string{
		p.names.Control("default", queue, "w1"), p.names.Event(keys[0], schedule.EventStarted), p.names.DeadLetter("invoker"),
	})
}

func (p *pair) streamOf(subject string) string {
	for _, name := range p.streams {
		for _, config := range p.names.StreamConfigs(1, 1) {
			if config.Name == name && slices.ContainsFunc(config.Subjects, func(f string) bool { return jsmodel.Matches(f, subject) }) {
				return name
			}
		}
	}
	return "KV_" + p.names.StateBucket(0)
}

// TestSameAsTheServer does the same random things to the model and to a server.
func TestSameAsTheServer(t *testing.T) {
	t.Parallel()
	c := connect(t)
	var kept *pair // of a sequence that has ended well: a new installation takes much longer than a sequence
	rapid.Check(t, func(rt *rapid.T) {
		p := kept
		kept = nil
		if p == nil {
			p = newPair(t, rt, c, notSoon)
		}
		p.require = require.New(rt)
		p.sequence++
		rt.Repeat(map[string]func(*rapid.T){
			"publish": p.publishSomething,
			"arm":     p.armSomething,
			"disarm":  p.disarmSomething,
			"strange": p.publishStrange,
			"record":  p.writeRecord,
			"fetch":   p.fetchSome,
			"fetch 2": p.fetchSome,
			"settle":  p.settleSome,
			"remove":  p.removeSome,
			"fire":    p.fireSome,
		})
		p.requireSameContents()
		p.clear()
		kept = p
	})
}

func pick[T any](rt *rapid.T, what string, from ...T) T {
	return rapid.SampledFrom(from).Draw(rt, what)
}

// expected is the sequence that a message expects of its subject: often the right one.
func (p *pair) expected(rt *rapid.T, header nats.Header, subject string) {
	last, _ := p.model.Last(p.streamOf(subject), subject)
	switch pick(rt, "expected", "none", "none", "right", "right", "0", "1") {
	case "right":
		header.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(last.Sequence, 10))
	case "0":
		header.Set(nats.ExpectedLastSubjSeqHdr, "0")
	case "1":
		header.Set(nats.ExpectedLastSubjSeqHdr, "1")
	}
}

func (p *pair) message(rt *rapid.T, subject string) *nats.Msg {
	msg := &nats.Msg{Subject: subject, Header: nats.Header{}, Data: []byte(pick(rt, "data", "", "x", "yy"))}
	if id := pick(rt, "id", "", "", "m1", "m2"); id != "" {
		msg.Header.Set(jetstream.MsgIDHeader, id+"-"+strconv.Itoa(p.sequence))
	}
	if rapid.Bool().Draw(rt, "traced") {
		msg.Header.Set("traceparent", "00-1")
	}
	p.expected(rt, msg.Header, subject)
	return msg
}

func (p *pair) publishSomething(rt *rapid.T) {
	_ = p.publish(p.message(rt, pick(rt, "subject", p.all()...)))
}

func at(at time.Time) string { return "@at " + at.UTC().Format(time.RFC3339Nano) }

func (p *pair) arm(rt *rapid.T, when time.Time) error {
	msg := p.message(rt, pick(rt, "timer", p.timers()...))
	msg.Header.Set("Nats-Schedule", at(when))
	msg.Header.Set("Nats-Schedule-Target", pick(rt, "target", p.tasks()...))
	return p.publish(msg)
}

func (p *pair) armSomething(rt *rapid.T) { _ = p.arm(rt, time.Now().Add(notSoon)) }

func (p *pair) disarmSomething(rt *rapid.T) {
	msg := p.message(rt, pick(rt, "subject", p.tasks()...))
	scheduler := pick(rt, "scheduler", append(p.timers(), p.tasks()...)...)
	msg.Header.Set("Nats-Scheduler", scheduler)
	msg.Header.Set("Nats-Schedule-Next", "purge")
	if slices.Contains(p.timers(), scheduler) || p.mayPurge(msg.Subject, scheduler) {
		_ = p.publish(msg)
	}
}

// publishStrange combines headers that do not go together.
func (p *pair) publishStrange(rt *rapid.T) {
	all := p.all()
	msg := p.message(rt, pick(rt, "subject", append(all, p.names.Prefix()+".nobody")...))
	maybe := func(name string, values ...string) {
		if rapid.Bool().Draw(rt, name) {
			msg.Header.Set(name, pick(rt, name, values...))
		}
	}
	odd := append(all, "", "a..b", "nobody", "*", p.names.Prefix()+".task.0.generate.*")
	maybe("Nats-Schedule", at(time.Now().Add(notSoon)), "@at tomorrow", "now", "@at 0001-01-01T00:00:00Z")
	maybe("Nats-Schedule-Target", odd...)
	maybe("Nats-Scheduler", odd...)
	maybe("Nats-Schedule-Next", "purge", "purge", "later")
	rollups := []string{"sub", "sub", "sub", "nothing"}
	if slices.Contains(p.actions(), msg.Subject) {
		rollups = rollups[3:] // of several messages at once, which is not modelled
	}
	maybe(jetstream.MsgRollup, rollups...)
	maybe(jetstream.MsgTTLHeader, "1h0m0s", "3600", "never", "10ms", "soon")
	if len(msg.Header[jetstream.MsgRollup])+len(msg.Header["Nats-Scheduler"]) == 0 || p.mayPurge(msg.Subject, msg.Header.Get("Nats-Scheduler")) {
		_ = p.publish(msg)
	}
}

// mayPurge reports whether something may be purged together with the messages of subjects. The server contradicts itself when
// a delivered message is removed, and something else is purged before its consumers have noticed: from then on it may or may
// not ignore that older deliveries are given back.
func (p *pair) mayPurge(gone ...string) bool {
	if slices.ContainsFunc(p.held, func(h held) bool { return slices.Contains(gone, h.Subject) }) {
		return false
	}
	for _, c := range p.consumers {
		natstest.Eventually(p.test, patience, "the consumer has noticed what is gone", func() bool {
			info, err := c.server.Info(p.test.Context())
			return err == nil && info.NumAckPending <= p.model.Pending(c.stream, c.name)
		})
	}
	return true
}

// writeRecord writes to a bucket as nats.go does: it creates over a tombstone with the revision of the tombstone.
func (p *pair) writeRecord(rt *rapid.T) {
	i := rapid.IntRange(0, len(recordKeys)-1).Draw(rt, "record")
	last, ok := p.model.Last(p.streamOf(p.records()[i]), p.records()[i])
	gone := !ok || last.Header.Get("KV-Operation") != ""
	switch pick(rt, "write", "create", "create", "update", "update", "purge") {
	case "create":
		revision, err := p.bucket.Create(p.test.Context(), recordKeys[i], []byte("new"))
		want := nats.Header{nats.ExpectedLastSubjSeqHdr: {"0"}}
		if gone && ok {
			want.Set(nats.ExpectedLastSubjSeqHdr, strconv.FormatUint(last.Sequence, 10))
		}
		p.written(&nats.Msg{Subject: p.records()[i], Header: want, Data: []byte("new")}, revision, err)
	case "update":
		revision := pick(rt, "revision", last.Sequence, last.Sequence, 0, 1)
		next, err := p.bucket.Update(p.test.Context(), recordKeys[i], []byte("more"), revision)
		header := nats.Header{nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(revision, 10)}}
		p.written(&nats.Msg{Subject: p.records()[i], Header: header, Data: []byte("more")}, next, err)
	case "purge":
		revision := pick(rt, "revision", last.Sequence, last.Sequence, 1)
		if revision == 0 {
			return // nats.go would purge everything
		}
		err := p.bucket.Purge(p.test.Context(), recordKeys[i],
			jetstream.LastRevision(revision), jetstream.PurgeTTL(subjects.TombstoneAge))
		header := nats.Header{
			"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {jetstream.MsgRollupSubject},
			jetstream.MsgTTLHeader:      {subjects.TombstoneAge.String()},
			nats.ExpectedLastSubjSeqHdr: {strconv.FormatUint(revision, 10)},
		}
		p.written(&nats.Msg{Subject: p.records()[i], Header: header}, 0, err)
	}
}

// written does in the model what the server has answered already.
func (p *pair) written(msg *nats.Msg, revision uint64, err error) {
	ack, modelErr := p.model.Publish(p.now(), msg)
	var want *jetstream.APIError
	if errors.As(modelErr, &want) {
		var got *jetstream.APIError
		p.require.ErrorAs(err, &got)
		p.require.Equal(want.ErrorCode, got.ErrorCode)
		return
	}
	p.require.NoError(err)
	if revision > 0 {
		p.require.Equal(ack.Sequence, revision)
	}
}

func (p *pair) fetchSome(rt *rapid.T) {
	p.fetch(pick(rt, "consumer", p.consumers...), rapid.IntRange(1, 4).Draw(rt, "most"))
}

// settleSome also settles deliveries that are settled, replaced or delivered again.
func (p *pair) settleSome(rt *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(rt, "times") {
		if len(p.held) == 0 {
			return
		}
		i := rapid.IntRange(0, len(p.held)-1).Draw(rt, "which")
		verb := pick(rt, "verb", "+ACK", "+ACK", "-NAK", "-NAK", "-NAK later", "+WPI", "+TERM")
		var delay time.Duration
		if verb == "-NAK later" {
			verb, delay = "-NAK", notSoon
		}
		p.settle(&p.held[i], verb, delay)
	}
}

func (p *pair) removeSome(rt *rapid.T) {
	subject := pick(rt, "subject", p.all()...)
	stream := p.streamOf(subject)
	switch pick(rt, "remove", "last", "purge", "remove") {
	case "last":
		p.last(stream, subject)
	case "purge":
		if p.mayPurge(subject) {
			p.purge(stream, subject)
		}
	case "remove":
		if last := p.model.LastSequence(stream); last > 0 && stream != "KV_"+p.names.StateBucket(0) {
			p.remove(stream, last+1-rapid.Uint64Range(0, min(last, 9)).Draw(rt, "back"))
		}
	}
}

// fireSome is rare, because the server takes its time.
func (p *pair) fireSome(rt *rapid.T) {
	if rapid.IntRange(0, 9).Draw(rt, "dice") < 9 {
		return
	}
	for range rapid.IntRange(1, 3).Draw(rt, "timers") {
		_ = p.arm(rt, time.Now().Add(-time.Duration(rapid.IntRange(0, 3).Draw(rt, "ago"))*time.Second))
	}
	p.fire()
}
