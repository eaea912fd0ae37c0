package bus_test

import (
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestReaderSubject: the messages of one subject, in their order and without those of others, in as many answers as it takes.
func TestReaderSubject(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Server(t))
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s.>"}, AllowDirect: true})
	require.NoError(t, err)
	for i := range 10 {
		_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: "s.a", Header: nats.Header{"Status": {"204"}}, Data: []byte(strconv.Itoa(i))})
		require.NoError(t, err)
		_, err = js.Publish(t.Context(), "s.b", make([]byte, 300<<10))
		require.NoError(t, err)
	}
	r := bus.NewReader(js)
	found, err := r.Subject(t.Context(), "S", "s.a", 1, 4)
	require.NoError(t, err)
	require.Len(t, found, 4)
	for i, m := range found {
		require.Equal(t, "s.a", m.Subject)
		require.EqualValues(t, 2*i+1, m.Sequence)
		require.Equal(t, strconv.Itoa(i), string(m.Data))
	}
	found, err = r.Subject(t.Context(), "S", "s.a", found[3].Sequence+1, 100)
	require.NoError(t, err)
	require.Len(t, found, 6)

	found, err = r.Subject(t.Context(), "S", "s.b", 1, 100)
	require.NoError(t, err)
	require.Len(t, found, 4, "a megabyte is enough for one answer")

	for _, none := range []string{"s.c", "s"} {
		found, err = r.Subject(t.Context(), "S", none, 1, 100)
		require.NoError(t, err)
		require.Empty(t, found)
	}
	found, err = r.Subject(t.Context(), "S", "s.a", 1000, 100)
	require.NoError(t, err)
	require.Empty(t, found)
	_, err = r.Subject(t.Context(), "NONE", "s.a", 1, 100)
	require.ErrorIs(t, err, nats.ErrNoResponders)
}
