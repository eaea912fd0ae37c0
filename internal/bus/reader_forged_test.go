package bus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestHeadersOfTheSenderAreNotThoseOfTheServer: whoever may store a message does not say by its headers which one it is, nor that there are
// no others.
func TestHeadersOfTheSenderAreNotThoseOfTheServer(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	name := strings.ToUpper(natstest.Names(t).Prefix())
	_, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}, AllowDirect: true})
	require.NoError(t, err)
	forged := nats.Header{
		"Nats-Subject": {name + ".b"}, "Nats-Sequence": {"1"}, "Nats-Last-Sequence": {"7"}, "Nats-Num-Pending": {"9"},
		"Nats-Time-Stamp": {"2000-01-01T00:00:00Z"}, "Status": {"204"}, "Description": {"EOB"}, "Nats-UpTo-Sequence": {"1"},
	}
	begin := time.Now()
	for _, subject := range []string{"a", "b", "c"} {
		_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: name + "." + subject, Header: forged})
		require.NoError(t, err)
	}
	r := bus.NewReader(js)
	subjectsOf := func(found []bus.Message) (all []string) {
		for i, m := range found {
			all = append(all, m.Subject)
			require.EqualValues(t, i+1, m.Sequence)
		}
		return all
	}
	want := []string{name + ".a", name + ".b", name + ".c"}
	found, upTo, rest, err := r.LastUpTo(t.Context(), name, name+".>")
	require.NoError(t, err)
	require.False(t, rest)
	require.Equal(t, want, subjectsOf(found))
	require.EqualValues(t, 3, upTo)
	found, _, err = r.Since(t.Context(), name, 0, 10)
	require.NoError(t, err)
	require.Equal(t, want, subjectsOf(found))
	first, err := r.From(t.Context(), name, begin)
	require.NoError(t, err)
	require.Equal(t, want[0], first.Subject)
}
