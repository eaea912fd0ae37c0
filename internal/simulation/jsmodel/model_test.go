package jsmodel_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		filter, subject string
		want            bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a.b", false},
		{"a.b", "a", false},
		{"a.b", "a.b", true},
		{"*", "a", true},
		{"*", "a.b", false},
		{"a.*", "a.b", true},
		{"a.*", "a", false},
		{"a.*", "a.b.c", false},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "a", false},
		{"a.>", "b.c", false},
		{"*.>", "a.b", true},
	} {
		require.Equal(t, c.want, jsmodel.Matches(c.filter, c.subject), "%s %s", c.filter, c.subject)
	}
}

func TestDelay(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 2, 3, 4, 5, 6, 789_000_000, time.UTC)
	for text, want := range map[string]time.Time{
		"":                                  {},
		"@at 0001-01-01T00:00:00Z":          {}, // no time at all, for the server too
		"@at 2026-02-03T04:05:06.789Z":      at,
		"@at 2026-02-03T04:05:06Z":          at.Truncate(time.Second),
		"@at 2026-02-03T05:05:06.789+01:00": at,
	} {
		got, err := jsmodel.Delay(nats.Header{"Nats-Schedule": {text}})
		require.NoError(t, err, text)
		require.True(t, want.Equal(got), "%s: %s", text, got)
	}
	for _, text := range []string{"@at ", "@at tomorrow", "2026-02-03T04:05:06Z", "@at 2026-02-03 04:05:06", "@every 1h", "now"} {
		_, err := jsmodel.Delay(nats.Header{"Nats-Schedule": {text}})
		require.Error(t, err, text)
	}
}

func TestTTL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"": 0, "1h0m0s": time.Hour, "1s": time.Second, "1.9s": time.Second, "90": 90 * time.Second, "never": -1, "Never": -1,
	} {
		got, err := jsmodel.TTLOf(nats.Header{jetstream.MsgTTLHeader: {text}})
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"0", "0s", "999ms", "-1s", "-5", "soon"} {
		_, err := jsmodel.TTLOf(nats.Header{jetstream.MsgTTLHeader: {text}})
		require.Error(t, err, text)
	}
}

func TestIsSubject(t *testing.T) {
	t.Parallel()
	for _, subject := range []string{"", ".", "a.", ".a", "a..b", "*", "a.*", ">", "a.>", "a b", "a. .b"} {
		require.False(t, jsmodel.IsSubject(subject), subject)
		require.False(t, server.IsValidPublishSubject(subject), subject)
	}
	for _, subject := range []string{"a", "a.b", "a*.b", "$KV.b.x"} {
		require.True(t, jsmodel.IsSubject(subject), subject)
		require.True(t, server.IsValidPublishSubject(subject), subject)
	}
}

func TestCodesAreThoseOfTheServer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]server.ErrorIdentifier{
		"wrong last sequence": server.JSStreamWrongLastSequenceErrF,
		"rollup failed":       server.JSStreamRollupFailedF,
		"TTL invalid":         server.JSMessageTTLInvalidErr,
		"TTL disabled":        server.JSMessageTTLDisabledErr,
		"schedules disabled":  server.JSMessageSchedulesDisabledErr,
		"schedule invalid":    server.JSMessageSchedulesPatternInvalidErr,
		"target invalid":      server.JSMessageSchedulesTargetInvalidErr,
		"schedule rollup":     server.JSMessageSchedulesRollupInvalidErr,
		"scheduler invalid":   server.JSMessageSchedulesSchedulerInvalidErr,
	} {
		require.EqualValues(t, want, jsmodel.Codes[name], name)
	}
	require.Len(t, jsmodel.Codes, 9)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	s := jsmodel.New(jetstream.StreamConfig{
		Name: "S", Subjects: []string{"s.>"}, MaxAge: time.Minute, Duplicates: 10 * time.Second, AllowMsgTTL: true,
	})
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	publish := func(after time.Duration, subject string, header nats.Header) jsmodel.Ack {
		t.Helper()
		s.Advance(begin.Add(after))
		ack, err := s.Publish(begin.Add(after), &nats.Msg{Subject: subject, Header: header})
		require.NoError(t, err)
		return ack
	}
	subjects := func(after time.Duration) (found []string) {
		s.Advance(begin.Add(after))
		for _, m := range s.Messages("S", ">") {
			found = append(found, m.Subject)
		}
		return found
	}
	require.Nil(t, subjects(0))
	publish(0, "s.ttl", nats.Header{jetstream.MsgTTLHeader: {"2.5s"}})
	publish(0, "s.never", nats.Header{jetstream.MsgTTLHeader: {"never"}})
	publish(time.Second, "s.id", nats.Header{jetstream.MsgIDHeader: {"x"}})
	require.Equal(t, []string{"s.ttl", "s.never", "s.id"}, subjects(2*time.Second-1))
	require.Equal(t, []string{"s.never", "s.id"}, subjects(2*time.Second), "of a TTL only whole seconds count")
	require.True(t, publish(11*time.Second-1, "s.id", nats.Header{jetstream.MsgIDHeader: {"x"}}).Duplicate)
	require.False(t, publish(11*time.Second, "s.id", nats.Header{jetstream.MsgIDHeader: {"x"}}).Duplicate)
	require.Equal(t, []string{"s.never", "s.id", "s.id"}, subjects(61*time.Second-1))
	require.Equal(t, []string{"s.never", "s.id"}, subjects(61*time.Second))
	require.Equal(t, []string{"s.never"}, subjects(time.Hour))
	require.EqualValues(t, 4, s.LastSequence("S"))
}

func TestReplicaBehind(t *testing.T) {
	t.Parallel()
	s := jsmodel.New(jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, MaxMsgsPerSubject: 1})
	for _, subject := range []string{"s.a", "s.b", "s.a"} {
		_, err := s.Publish(time.Now(), &nats.Msg{Subject: subject})
		require.NoError(t, err)
	}
	for behind, want := range []uint64{0, 1, 1, 3} {
		m, ok := s.LastAt("S", "s.a", uint64(behind))
		require.Equal(t, want > 0, ok)
		require.Equal(t, want, m.Sequence)
	}
	for behind, want := range [][]uint64{nil, {1}, {1, 2}, {2, 3}} {
		var sequences []uint64
		for _, m := range s.MessagesAt("S", "s.*", uint64(behind)) {
			sequences = append(sequences, m.Sequence)
		}
		require.Equal(t, want, sequences)
	}
	_, err := s.Publish(time.Now(), &nats.Msg{Subject: "t"})
	require.ErrorIs(t, err, nats.ErrNoResponders)
}
