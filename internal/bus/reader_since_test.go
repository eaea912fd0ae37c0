package bus_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestSince reads on from where it was, past what has been replaced.
func TestSince(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	none, rest, err := b.reader.Since(t.Context(), b.stream, 0, 10)
	require.NoError(t, err)
	assert.Empty(t, none)
	assert.False(t, rest)

	first := b.publish("a", nil, "1")
	b.publish("b", nil, "2")
	third := b.publish("c", nil, "3")
	again := b.publish("b", nil, "4")
	for _, step := range []struct {
		after uint64
		limit int
		want  []string
		rest  bool
	}{
		{0, 10, []string{"1", "3", "4"}, false},
		{0, 2, []string{"1", "3"}, true},
		{first.Sequence, 10, []string{"3", "4"}, false},
		{third.Sequence, 1, []string{"4"}, true}, // it has not looked further
		{again.Sequence, 10, nil, false},
		{again.Sequence + 100, 10, nil, false},
	} {
		found, rest, err := b.reader.Since(t.Context(), b.stream, step.after, step.limit)
		require.NoError(t, err)
		var data []string
		for i, m := range found {
			data = append(data, string(m.Data))
			assert.Greater(t, m.Sequence, step.after)
			assert.True(t, i == 0 || found[i-1].Sequence < m.Sequence)
		}
		assert.Equal(t, step.want, data, fmt.Sprint(step))
		assert.Equal(t, step.rest, rest, fmt.Sprint(step))
	}
	_, _, err = b.reader.Since(t.Context(), "NO_SUCH_STREAM", 0, 1)
	require.ErrorContains(t, err, "bus: read NO_SUCH_STREAM after 0")
}

// TestSinceReadsAll goes through more than one answer holds.
func TestSinceReadsAll(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	b.fill("many", 1000)
	var after uint64
	count := 0
	for rest := true; rest; {
		found, more, err := b.reader.Since(t.Context(), b.stream, after, 300)
		require.NoError(t, err)
		require.NotEmpty(t, found)
		count, after, rest = count+len(found), found[len(found)-1].Sequence, more
	}
	assert.Equal(t, 1000, count)
}

// TestFrom finds the first message that is not older than a time.
func TestFrom(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	begin := time.Now().Add(-time.Minute)
	found, err := b.reader.From(t.Context(), b.stream, begin)
	require.NoError(t, err)
	assert.Nil(t, found)
	first := b.publish("a", nil, "1")
	second := b.publish("b", nil, "2")
	found, err = b.reader.From(t.Context(), b.stream, begin)
	require.NoError(t, err)
	assert.Equal(t, first.Sequence, found.Sequence)
	at, err := time.Parse(time.RFC3339Nano, found.Header.Get("Nats-Time-Stamp"))
	require.NoError(t, err)
	found, err = b.reader.From(t.Context(), b.stream, at.Add(1))
	require.NoError(t, err)
	assert.Equal(t, second.Sequence, found.Sequence)
	found, err = b.reader.From(t.Context(), b.stream, time.Now().Add(time.Hour))
	require.NoError(t, err)
	assert.Nil(t, found)
	_, err = b.reader.From(t.Context(), "NO_SUCH_STREAM", begin)
	require.ErrorContains(t, err, "bus: read NO_SUCH_STREAM from")
}

// TestSincePassesOver finds all that is left, wherever it begins and however much has been replaced.
func TestSincePassesOver(t *testing.T) {
	t.Parallel()
	b := setupReader(t)
	b.fill("kept", 100)
	for range 3 {
		b.fill("replaced", 40)
	}
	last := b.publish("last", nil, "x")
	require.EqualValues(t, 221, last.Sequence)
	for _, after := range []uint64{0, 1, 60, 99, 100, 130, 179, 180, 200, 220, 221, 321} {
		for _, limit := range []int{1, 2, 33, 141, 500} {
			var want []uint64
			for sequence := after + 1; sequence <= last.Sequence && len(want) < limit; sequence++ {
				if sequence <= 100 || sequence > 180 {
					want = append(want, sequence)
				}
			}
			found, rest, err := b.reader.Since(t.Context(), b.stream, after, limit)
			require.NoError(t, err)
			require.Equal(t, want, sequences(found), fmt.Sprint(after, limit))
			require.Equal(t, len(found) == limit, rest, "whether there is room for more")
		}
	}
}

// TestSinceOfReplicas: where a replica that lags behind has none, it ends, though another has answered for what follows. What lies
// between would be lost.
func TestSinceOfReplicas(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	stream := natstest.Names(t).EventStream()
	answering, err := conn.Subscribe(jetstream.DefaultAPIPrefix+"DIRECT.GET."+stream, func(msg *nats.Msg) {
		var request struct {
			Sequence uint64 `json:"seq"`
		}
		assert.NoError(t, json.Unmarshal(msg.Data, &request))
		reply := &nats.Msg{Subject: msg.Reply, Header: nats.Header{}}
		switch request.Sequence {
		case 1, 2, 3, 5:
			reply.Header.Set(jetstream.SequenceHeader, strconv.FormatUint(request.Sequence, 10))
		default: // 4 has been asked of one that ends at 3
			reply.Header.Set("Status", "404")
		}
		assert.NoError(t, conn.PublishMsg(reply))
	})
	require.NoError(t, err)
	defer drain(t, answering)
	found, rest, err := bus.NewReader(js).Since(t.Context(), stream, 0, 100)
	require.NoError(t, err)
	require.False(t, rest)
	require.Equal(t, []uint64{1, 2, 3}, sequences(found))

	found, rest, err = bus.NewReader(js).Since(t.Context(), stream, 4, 100)
	require.NoError(t, err)
	require.False(t, rest)
	require.Equal(t, []uint64{5}, sequences(found))
}

// drain waits until a subscription has handled all that has reached it. Since does not wait for what it asks beyond the end, so
// that a handler may still be at work when the test has what it needs.
func drain(t *testing.T, s *nats.Subscription) {
	t.Helper()
	ended := s.StatusChanged(nats.SubscriptionClosed)
	require.NoError(t, s.Drain())
	select {
	case <-ended:
	case <-time.After(natstest.Patience):
		t.Fatal("the subscription does not end")
	}
}

// BenchmarkSince reads 256 messages from the middle of a stream. How many subjects that has should make no difference.
func BenchmarkSince(b *testing.B) {
	for _, subjects := range []int{1000, 10_000, 100_000} {
		_, js := natstest.Connect(b, natstest.Server(b))
		_, err := js.CreateStream(b.Context(), jetstream.StreamConfig{
			Name: "MANY", Subjects: []string{"many.>"}, AllowDirect: true, MaxMsgsPerSubject: 1,
		})
		require.NoError(b, err)
		for i := range subjects {
			_, err := js.PublishAsync(fmt.Sprintf("many.%d", i), make([]byte, 300))
			require.NoError(b, err)
		}
		<-js.PublishAsyncComplete()
		_, err = js.Publish(b.Context(), "many.7", nil) // a gap: what is left has to be counted
		require.NoError(b, err)
		reader := bus.NewReader(js)
		b.Run(fmt.Sprintf("%d subjects", subjects), func(b *testing.B) {
			for b.Loop() {
				found, _, err := reader.Since(b.Context(), "MANY", uint64(subjects/2), 256)
				require.NoError(b, err)
				require.Len(b, found, 256)
			}
		})
	}
}

func sequences(found []bus.Message) []uint64 {
	var all []uint64
	for i := range found {
		all = append(all, found[i].Sequence)
	}
	return all
}
