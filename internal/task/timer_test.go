package task_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// late is how long after its time a message may come on a machine that is busy with other tests. The server itself
// looks every 250 ms.
const late = 10 * time.Second

func TestTimerFiresAtItsTargetAndVanishes(t *testing.T) {
	t.Parallel()
	b := setupTimer(t)
	// The time has a fraction: cut to the second, it would fire up to a second early.
	at := time.Now().Add(1200 * time.Millisecond)
	header := nats.Header{"Traceparent": {"00-trace"}, jetstream.MsgIDHeader: {"once"}}
	b.arm(t, at, header, "now")
	require.Len(t, header, 2, "the caller's header is left as it was")
	require.True(t, b.armed(t))

	msg := b.next(t)
	require.False(t, time.Now().Before(at), "it came before its time")
	require.Equal(t, b.target, msg.Subject())
	require.Equal(t, "now", string(msg.Data()))
	require.Equal(t, nats.Header{
		"Traceparent":        {"00-trace"},
		task.HeaderScheduler: {b.timer},
		task.HeaderNext:      {"purge"},
	}, msg.Headers())
	require.False(t, b.armed(t))
	b.requireNoMore(t)
}

func TestTimerInThePastMeansNow(t *testing.T) {
	t.Parallel()
	b := setupTimer(t)
	b.arm(t, time.Now().Add(-24*time.Hour), nil, "at once")
	require.Equal(t, "at once", string(b.next(t).Data()))
	require.False(t, b.armed(t))
}

func TestTimerReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	b := setupTimer(t)
	b.arm(t, time.Now().Add(500*time.Millisecond), nil, "first")
	b.arm(t, time.Now().Add(time.Hour), nil, "second") // also to a later time
	b.arm(t, time.Now().Add(time.Second), nil, "third")
	require.Equal(t, "third", string(b.next(t).Data()))
	b.requireNoMore(t)
}

// TestTimerRepeatOfAnArming is a crash between the arming and what comes after it: the same timer is armed again.
func TestTimerRepeatOfAnArming(t *testing.T) {
	t.Parallel()
	b := setupTimer(t)
	at := time.Now().Add(500 * time.Millisecond)
	b.arm(t, at, nil, "due")
	b.arm(t, at, nil, "due")
	require.Equal(t, "due", string(b.next(t).Data()))
	b.requireNoMore(t)
}

func TestPurgeHeaderRemovesATimer(t *testing.T) {
	t.Parallel()
	b := setupTimer(t)
	b.arm(t, time.Now().Add(time.Hour), nil, "never")
	require.True(t, b.armed(t))
	b.publishPurging(t, "instead")
	require.False(t, b.armed(t), "gone when the other message is acknowledged")
	require.Equal(t, "instead", string(b.next(t).Data()))

	b.publishPurging(t, "where there is none")
	require.Equal(t, "where there is none", string(b.next(t).Data()))
}

func TestPurgeHeaderWithoutATimer(t *testing.T) {
	t.Parallel()
	h := nats.Header{}
	task.PurgeHeader(h, "")
	require.Empty(t, h)
}

// TestTimerSurvivesKillMinusNine arms timers, kills the server, and has one fall due while it is down.
func TestTimerSurvivesKillMinusNine(t *testing.T) {
	t.Parallel()
	c := natstest.Cluster(t, 1)
	_, js := natstest.Connect(t, c.URLs())
	b := setupTimerOn(t, js)
	b.arm(t, time.Now().Add(100*time.Millisecond), nil, "due while the server was down")
	c.Kill(0)
	c.Restart(0)
	require.Equal(t, "due while the server was down", string(b.next(t).Data()))
	natstest.Eventually(t, late, "the timer has vanished", func() bool { return !b.armed(t) })
	b.requireNoMore(t)
}

func TestTimerRefusedWhereItMakesNoSense(t *testing.T) {
	t.Parallel()
	b := setupTimer(t)
	to := natstest.Bus(t, b.js)
	err := task.ArmMessage(t.Context(), to, b.timer, b.names.Action("default", "queue", "id"), time.Now(), nil, nil)
	require.ErrorIs(t, err, jetstream.ErrScheduleTargetInvalid, "the target is in another stream")
	require.ErrorContains(t, err, b.timer)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, task.ArmMessage(ctx, to, b.timer, b.target, time.Now(), nil, nil), context.Canceled)
}

func TestTimerKeepsNanoseconds(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 5400)
	msg := task.Delayed("timer", "target", time.Date(2030, 1, 2, 3, 4, 5, 123456789, zone), nil, []byte("body"))
	require.Equal(t, "timer", msg.Subject)
	require.Equal(t, nats.Header{
		task.HeaderAt:     {"@at 2030-01-02T01:34:05.123456789Z"},
		task.HeaderTarget: {"target"},
	}, msg.Header)
}

// bundle is one timer of one schedule, on the real stream, and the generator's consumer.
type bundle struct {
	js            jetstream.JetStream
	names         subjects.Names
	timer, target string
	consumer      jetstream.Consumer
}

func setupTimer(t *testing.T) bundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	return setupTimerOn(t, js)
}

func setupTimerOn(t *testing.T, js jetstream.JetStream) bundle {
	t.Helper()
	names, key := natstest.Names(t), schedule.Key{Namespace: "default", ID: "nightly run"}
	_, err := topology.Ensure(t.Context(), js, names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	consumer, err := js.Consumer(t.Context(), names.TaskStream(0), subjects.PoolGenerator)
	require.NoError(t, err)
	return bundle{
		js: js, names: names, consumer: consumer,
		timer: names.DueTimer(0, key), target: names.Generate(0, key, subjects.WhatDue),
	}
}

func (b bundle) arm(t *testing.T, at time.Time, header nats.Header, body string) {
	t.Helper()
	require.NoError(t, task.ArmMessage(t.Context(), natstest.Bus(t, b.js), b.timer, b.target, at, header, []byte(body)))
}

// armed reports whether a message waits on the timer's subject.
func (b bundle) armed(t *testing.T) bool {
	t.Helper()
	stream, err := b.js.Stream(t.Context(), b.names.TaskStream(0))
	require.NoError(t, err)
	info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(b.timer))
	require.NoError(t, err)
	return len(info.State.Subjects) > 0
}

func (b bundle) publishPurging(t *testing.T, body string) {
	t.Helper()
	msg := &nats.Msg{Subject: b.target, Header: nats.Header{}, Data: []byte(body)}
	task.PurgeHeader(msg.Header, b.timer)
	_, err := b.js.PublishMsg(t.Context(), msg)
	require.NoError(t, err)
}

// next waits for the next message and acknowledges it.
func (b bundle) next(t *testing.T) jetstream.Msg {
	t.Helper()
	msg, err := b.consumer.Next(jetstream.FetchMaxWait(late))
	require.NoError(t, err)
	require.NoError(t, msg.DoubleAck(t.Context()))
	return msg
}

// requireNoMore checks that the stream has at most its anchor: nothing to deliver, nothing armed.
func (b bundle) requireNoMore(t *testing.T) {
	t.Helper()
	stored, err := natstest.Stored(t.Context(), b.js, b.names.TaskStream(0))
	require.NoError(t, err)
	delete(stored, b.names.TaskAnchor(0))
	require.Empty(t, stored)
}

func TestNotAtOnce(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct{ fired, now, want time.Duration }{
		"no timer has fired":              {-time.Hour, -time.Hour, 0},
		"one has fired before":            {-time.Second, -time.Minute, 0},
		"the time has come":               {100 * time.Millisecond, 150 * time.Millisecond, 0},
		"it has not come here":            {100 * time.Millisecond, -time.Minute, 350 * time.Millisecond},
		"it has not for some time":        {600 * time.Millisecond, -time.Minute, 1200 * time.Millisecond},
		"it has not for a long time":      {time.Hour, -time.Minute, time.Hour + time.Second},
		"it has just not come here, late": {time.Second, -1, 2 * time.Second},
	} {
		fired := at.Add(test.fired)
		if test.fired == -time.Hour {
			fired = time.Time{}
		}
		require.Equal(t, at.Add(test.want), task.NotAtOnce(at, fired, at.Add(test.now), 250*time.Millisecond, time.Second), name)
	}
}
