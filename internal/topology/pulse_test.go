package topology

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/subjects"
)

// pulseSetup makes an installation of one shard.
func pulseSetup(t *testing.T) (builder, subjects.Names, jetstream.Stream) {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	_, err := Ensure(t.Context(), js, names, Settings{Shards: 1})
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), names.TaskStream(0))
	require.NoError(t, err)
	return builder{js: js}, names, stream
}

// TestPulseComesAgainAndAgain: so the server never sets a stream's timer for longer than the time between two pulses.
func TestPulseComesAgainAndAgain(t *testing.T) {
	t.Parallel()
	b, names, stream := pulseSetup(t)
	b.arm(t.Context(), names.TaskStream(0), task.Every(names.PulseTimer(0), names.Pulse(0), time.Second))
	var last uint64
	for range 2 {
		natstest.Eventually(t, natstest.Patience, "the next pulse", func() bool {
			pulse, err := stream.GetLastMsgForSubject(t.Context(), names.Pulse(0))
			if err != nil || pulse.Sequence == last {
				return false
			}
			require.Equal(t, names.PulseTimer(0), pulse.Header.Get(task.HeaderScheduler))
			last = pulse.Sequence
			return true
		})
	}
	stored, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{names.PulseTimer(0): 1, names.Pulse(0): 1}, stored.State.Subjects, "each replaces the one before")
	for _, config := range names.ConsumersByStream(1)[names.TaskStream(0)] {
		consumer, err := stream.Consumer(t.Context(), config.Durable)
		require.NoError(t, err)
		require.Zero(t, consumer.CachedInfo().NumPending, "no pool gets it")
	}
}

// TestPulseIsArmedWhereItIsMissing: it is armed nowhere else.
func TestPulseIsArmedWhereItIsMissing(t *testing.T) {
	t.Parallel()
	b, names, stream := pulseSetup(t)
	want := pulse(names, 0)
	sequence := func() uint64 {
		armed, err := stream.GetLastMsgForSubject(t.Context(), want.Subject)
		require.NoError(t, err)
		return armed.Sequence
	}
	first := sequence()
	b.arm(t.Context(), names.TaskStream(0), want)
	require.Equal(t, first, sequence(), "it is there")

	_, err := b.js.PublishMsg(t.Context(), task.Every(want.Subject, names.Pulse(0), time.Hour))
	require.NoError(t, err)
	other := sequence()
	b.arm(t.Context(), names.TaskStream(0), want)
	require.Greater(t, sequence(), other, "another interval")

	require.NoError(t, natstest.StopPulse(t.Context(), b.js, names.TaskStream(0), want.Subject, names.Pulse(0)))
	b.arm(t.Context(), names.TaskStream(0), want)
	sequence()
}

// TestArmWaitsForNoServer: if the server accepts no messages, the start of a process continues.
func TestArmWaitsForNoServer(t *testing.T) {
	t.Parallel()
	b, names, stream := pulseSetup(t)
	config := stream.CachedInfo().Config
	config.MaxMsgSize = 1
	_, err := b.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	before := stream.CachedInfo().State.LastSeq
	b.arm(t.Context(), names.TaskStream(0), &nats.Msg{Subject: names.PulseTimer(0), Header: nats.Header{task.HeaderAt: {"@every 5s"}}})
	after, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, after.State.LastSeq, before+1, "at most the pulse before has come")
}

func TestIsFresh(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	day := 24 * time.Hour
	for name, test := range map[string]struct {
		armed, last time.Time
		want        bool
	}{
		"just armed":                   {now, time.Time{}, true},
		"it beats":                     {now.Add(-day), now.Add(-subjects.PulseEvery), true},
		"it beats, the clocks differ":  {now.Add(-day), now.Add(time.Second), true},
		"armed long ago, and silent":   {now.Add(-day), time.Time{}, false},
		"it has stopped":               {now.Add(-day), now.Add(-pulseOverdue), false},
		"the clock has been set back":  {now.Add(time.Hour), now.Add(2 * time.Hour), false},
		"armed since it was set back":  {now.Add(-time.Second), now.Add(2 * time.Hour), true},
		"it beats since it was set on": {now.Add(-day), now.Add(-time.Second), true},
	} {
		require.Equal(t, test.want, isFresh(now, test.armed, test.last), name)
	}
}
