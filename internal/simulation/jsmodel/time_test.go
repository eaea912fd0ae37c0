package jsmodel_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
)

// Tests that depend on time leave nothing to chance: the server and the model each have a clock, and must be asked when both
// agree.

// TestComesAgain covers unacknowledged messages: given back with a delay, or never answered.
func TestComesAgain(t *testing.T) {
	t.Parallel()
	const wait, delay = 300 * time.Millisecond, 20 * time.Millisecond
	p := newPair(t, t, connect(t), wait)
	invoker := p.consumers[1]
	for _, key := range keys {
		require.NoError(t, p.publish(&nats.Msg{Subject: p.names.InvokeWake(0, key)}))
	}
	p.fetch(invoker, 2)
	p.settle(&p.held[1], "-NAK", delay)
	p.fetchWhenDue(invoker, delay, 1)
	require.EqualValues(t, 2, p.held[2].Sequence, "what was given back comes first")
	p.fetchWhenDue(invoker, wait, 2)
	require.Equal(t, []uint64{1, 2}, []uint64{p.held[3].Sequence, p.held[4].Sequence})
	require.EqualValues(t, 3, p.held[4].Deliveries)
	for i := range p.held {
		p.settle(&p.held[i], "+ACK", 0) // the first by an old delivery
	}
	p.requireSameContents()
	require.Empty(t, p.model.Messages(p.names.TaskStream(0), ">"))
}

// fetchWhenDue takes messages that come again, which both say are due after some time, and not before.
func (p *pair) fetchWhenDue(c consumer, after time.Duration, count int) {
	begin := time.Now()
	p.require.Empty(p.model.Deliverable(begin, c.stream, c.name))
	next := p.model.NextDelivery()
	p.require.WithinDuration(begin.Add(after), next, after)
	natstest.Eventually(p.test, patience, "it is due in the model", func() bool {
		return len(p.model.Deliverable(p.now(), c.stream, c.name)) == count
	})
	p.fetch(c, count)
}

// TestPurgeForgetsWhatComesAgain: with a purge, the server forgets which messages it was to deliver again at once, also of
// other subjects, until the time for their acknowledgement is over.
func TestPurgeForgetsWhatComesAgain(t *testing.T) {
	t.Parallel()
	p := newPair(t, t, connect(t), notSoon)
	invoker := p.consumers[1]
	require.NoError(t, p.publish(&nats.Msg{Subject: p.names.InvokeWake(0, keys[0])}))
	p.fetch(invoker, 1)
	p.settle(&p.held[0], "-NAK", 0)
	p.purge(p.names.TaskStream(0), p.names.InvokeWake(0, keys[1])) // a subject without messages
	require.Empty(t, p.model.Deliverable(p.now(), invoker.stream, invoker.name))
	p.fetch(invoker, 1)
	p.settle(&p.held[0], "-NAK", 0)
	p.purge(p.names.TaskStream(0), p.timers()[0]) // the consumer does not get its messages
	require.Len(t, p.model.Deliverable(p.now(), invoker.stream, invoker.name), 1)
	p.fetch(invoker, 1)
	p.requireSameContents()
}

// TestFires covers delayed messages: several at once, replaced, and on top of each other's targets.
func TestFires(t *testing.T) {
	t.Parallel()
	p := newPair(t, t, connect(t), notSoon)
	arm := func(timer, target string, when time.Time, data string) {
		t.Helper()
		header := nats.Header{
			"Nats-Schedule": {at(when)}, "Nats-Schedule-Target": {target}, "traceparent": {"00-1"},
			jetstream.MsgIDHeader: {data}, nats.ExpectedLastSubjSeqHdr: {"0"},
		}
		require.NoError(t, p.publish(&nats.Msg{Subject: timer, Header: header, Data: []byte(data)}))
	}
	timers, tasks := p.timers(), p.tasks()
	soon := time.Now().Add(400 * time.Millisecond)
	arm(timers[0], tasks[0], soon, "first")
	arm(timers[1], tasks[0], soon.Add(-time.Hour), "second")
	arm(timers[2], tasks[1], soon.Add(time.Hour), "never")
	require.True(t, soon.Add(-time.Hour).Equal(p.model.Next()))
	p.fire()
	natstest.Eventually(t, patience, "the first is due", func() bool { return len(p.model.Due(p.now())) == 1 })
	p.fire()
	p.requireSameContents()
	last, ok := p.model.Last(p.names.TaskStream(0), tasks[0])
	require.True(t, ok)
	require.Equal(t, "first", string(last.Data))
	require.Equal(t, nats.Header{
		"traceparent": {"00-1"}, "Nats-Scheduler": {timers[0]}, "Nats-Schedule-Next": {"purge"},
	}, last.Header)
}

// TestFirstRefusal: if there are two reasons for a refusal the client learns one, and the server looks for a repeat only after
// the checks.
func TestFirstRefusal(t *testing.T) {
	t.Parallel()
	p := newPair(t, t, connect(t), notSoon)
	subject := p.actions()[0]
	require.NoError(t, p.publish(&nats.Msg{Subject: subject, Header: nats.Header{
		jetstream.MsgIDHeader: {"x"}, nats.ExpectedLastSubjSeqHdr: {"0"},
	}}))
	for name, header := range map[string]nats.Header{
		"wrong last sequence": {jetstream.MsgIDHeader: {"x"}, nats.ExpectedLastSubjSeqHdr: {"0"}},
		"TTL disabled":        {nats.ExpectedLastSubjSeqHdr: {"0"}, jetstream.MsgTTLHeader: {"1h"}},
		"schedules disabled":  {"Nats-Schedule": {"nonsense"}, jetstream.MsgIDHeader: {"x"}},
		"rollup failed":       {jetstream.MsgRollup: {"nothing"}, jetstream.MsgTTLHeader: {"nonsense"}},
	} {
		err := p.publish(&nats.Msg{Subject: subject, Header: header})
		var refusal *jetstream.APIError
		require.ErrorAs(t, err, &refusal, name)
		require.Equal(t, jsmodel.Codes[name], refusal.ErrorCode, name)
	}
	require.NoError(t, p.publish(&nats.Msg{Subject: subject, Header: nats.Header{jetstream.MsgIDHeader: {"x"}}}), "a repeat")
	p.requireSameContents()
}

// TestTombstoneExpires: a tombstone goes without a trace, although the bucket marks other messages that expire.
func TestTombstoneExpires(t *testing.T) {
	t.Parallel()
	p := newPair(t, t, connect(t), notSoon)
	subject, stream := p.records()[0], "KV_"+p.names.StateBucket(0)
	require.NoError(t, p.publish(&nats.Msg{Subject: subject, Data: []byte("x")}))
	require.NoError(t, p.publish(&nats.Msg{Subject: subject, Header: nats.Header{
		"KV-Operation": {"PURGE"}, jetstream.MsgRollup: {"sub"}, jetstream.MsgTTLHeader: {"1s"},
	}}))
	p.requireSameStream(stream)
	natstest.Eventually(t, patience, "the tombstone is gone in the model", func() bool {
		p.now()
		_, ok := p.model.Last(stream, subject)
		return !ok
	})
	natstest.Eventually(t, patience, "the tombstone is gone", func() bool {
		s, err := p.js.Stream(t.Context(), stream)
		return err == nil && s.CachedInfo().State.Msgs == 0
	})
	p.requireSameContents()
}

// TestPurgeOfManySubjects: a purge may have wildcards, if no consumer reads what it removes.
func TestPurgeOfManySubjects(t *testing.T) {
	t.Parallel()
	p := newPair(t, t, connect(t), notSoon)
	for i := range 3 {
		of := keys[i%2]
		when := time.Now().Add(time.Duration(i+1) * time.Hour)
		require.NoError(t, p.publish(&nats.Msg{Subject: p.names.ExecutionTimer(0, of, when), Header: nats.Header{
			"Nats-Schedule": {at(when)}, "Nats-Schedule-Target": {p.names.ExecutionDue(0, of)},
		}}))
	}
	p.purge(p.names.TaskStream(0), p.names.ExecutionTimers(0, keys[0]))
	p.requireSameContents()
	require.Len(t, p.model.Messages(p.names.TaskStream(0), ">"), 1)
}
