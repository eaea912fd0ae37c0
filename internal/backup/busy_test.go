package backup

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// TestABucketThatIsWrittenTo: a snapshot of a bucket lacks the keys that are written during the snapshot. With its tail, none is
// missing, and each has its value at the end, or a later one.
func TestABucketThatIsWrittenTo(t *testing.T) {
	t.Parallel()
	b := newBusyBucket(t)
	b.write(0)
	// The snapshot is larger than the window, so that the server must wait until the first chunk has been taken.
	var archive bytes.Buffer
	slow := writeFunc(func(chunk []byte) (int, error) {
		if archive.Len() == 0 {
			b.write(1)
		}
		return archive.Write(chunk)
	})
	a := newAPI(b.js)
	s, err := a.download(t.Context(), "KV_busy", slow)
	require.NoError(t, err)
	state, err := s.sequences()
	require.NoError(t, err)
	var writer errgroup.Group
	writer.Go(func() error { b.write(2); return nil })
	var tail []message
	require.NoError(t, a.follow(t.Context(), "KV_busy", state.LastSeq, func(m *message) error {
		tail = append(tail, *m)
		return nil
	}))
	require.NoError(t, writer.Wait())

	_, other := natstest.Connect(t, natstest.Server(t))
	require.NoError(t, newAPI(other).upload(t.Context(), "KV_busy", s.Config, s.State, &archive))
	restored, err := other.KeyValue(t.Context(), "busy")
	require.NoError(t, err)
	status, err := restored.Status(t.Context())
	require.NoError(t, err)
	t.Logf("the snapshot has %d of %d keys; %d messages came after it", status.Values(), busyKeys, len(tail))
	require.Less(t, status.Values(), uint64(busyKeys), "a snapshot would do: the tail is not needed any more")
	for i := range tail {
		_, err := other.PublishMsg(t.Context(), tail[i].again())
		require.NoError(t, err)
	}
	for i := range busyKeys {
		entry, err := restored.Get(t.Context(), fmt.Sprint("k", i))
		require.NoError(t, err)
		require.GreaterOrEqual(t, entry.Value()[0], byte(1), "what was there when the snapshot had been made, or later")
	}
}

// busyKeys have more bytes together than fit into the window of a snapshot.
const busyKeys = 1000

// busyBucket is a bucket whose keys all hold the number of a round, and much that cannot be compressed.
type busyBucket struct {
	testing.TB
	js     jetstream.JetStream
	bucket jetstream.KeyValue
	filler []byte
}

func newBusyBucket(t *testing.T) *busyBucket {
	b := &busyBucket{TB: t, filler: make([]byte, 3*windowSize/busyKeys)}
	_, b.js = natstest.Connect(t, natstest.Server(t))
	var err error
	b.bucket, err = b.js.CreateKeyValue(t.Context(), subjects.Default().BucketConfig("busy", 1))
	require.NoError(t, err)
	random := rand.NewChaCha8([32]byte{1})
	_, err = random.Read(b.filler)
	require.NoError(t, err)
	return b
}

// write writes all keys.
func (b *busyBucket) write(round byte) {
	var group errgroup.Group
	group.SetLimit(64)
	for i := range busyKeys {
		group.Go(func() error {
			value := append([]byte{round}, b.filler...)
			for j := range value[1:] {
				value[j+1] ^= byte(i * j >> 3) // no two are alike
			}
			_, err := b.bucket.Put(b.Context(), fmt.Sprint("k", i), value)
			return err
		})
	}
	assert.NoError(b, group.Wait())
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

// TestATailIsStoredAgain: headers with which a stream would check a message that it has accepted already are left out, the rest
// stays.
func TestATailIsStoredAgain(t *testing.T) {
	t.Parallel()
	m := message{Subject: "s", Data: []byte("d"), Header: nats.Header{
		nats.ExpectedLastSubjSeqHdr: {"7"}, nats.MsgIdHdr: {"id"}, jetstream.MsgRollup: {"sub"}, "Nats-Schedule-Next": {"purge"},
	}}
	again := m.again()
	require.Equal(t, nats.Header{nats.MsgIdHdr: {"id"}, jetstream.MsgRollup: {"sub"}, "Nats-Schedule-Next": {"purge"}}, again.Header)
	require.Equal(t, "s", again.Subject)
	require.Equal(t, []byte("d"), again.Data)
}
