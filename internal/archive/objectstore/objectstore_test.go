package objectstore

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/driver"
	"gocloud.dev/blob/drivertest"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/bus"
	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/subjects"
)

// harness makes drivers of one bucket for the tests that all drivers of gocloud.dev/blob pass.
type harness struct {
	js      jetstream.JetStream
	streams bus.Bus
	name    string
}

func (h *harness) MakeDriver(ctx context.Context) (driver.Bucket, error) {
	return open(ctx, h.js, h.streams, h.name, 1)
}

func (*harness) MakeDriverForNonexistentBucket(context.Context) (driver.Bucket, error) {
	return nil, nil
}
func (*harness) HTTPClient() *http.Client         { return nil }
func (*harness) SupportsCopy() bool               { return true }
func (*harness) SupportsNonSlashDelimiters() bool { return true }
func (*harness) Close()                           {}

// TestConformance: the bucket does what every driver of gocloud.dev/blob does.
func TestConformance(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	streams := natstest.Bus(t, js)
	drivertest.RunConformanceTests(t, func(_ context.Context, t *testing.T) (drivertest.Harness, error) {
		return &harness{js, streams, natstest.Names(t).ArchiveBucket()}, nil
	}, nil)
}

// TestKeysAreNames: each name has a key of its own, from which it can be read.
func TestKeysAreNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		name := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z/=.]{0,12}`)).Draw(r, "name")
		got, err := nameOf(keyOf(name))
		require.NoError(r, err)
		require.Equal(r, name, got)
	})
}

// TestAnObjectWithoutItsName: what a crash between the two writes leaves is not there, and can be written again.
func TestAnObjectWithoutItsName(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	b, err := open(t.Context(), js, natstest.Bus(t, js), natstest.Names(t).ArchiveBucket(), 1)
	require.NoError(t, err)
	require.NoError(t, b.write(t.Context(), "a/b", []byte("half")))
	_, err = b.Attributes(t.Context(), "a/b")
	require.ErrorIs(t, err, errNone)
	require.NoError(t, b.put(t.Context(), "a/b", []byte("whole"), about{Size: 5}))
	found, err := b.named(t.Context(), "a/")
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.Equal(t, "a/b", found[0].Key)
}

// TestOthersReadObjects: what is written here is read by NATS's own client, and the other way round; nothing is left of what was written over.
func TestOthersReadObjects(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	bucket := natstest.Names(t).ArchiveBucket()
	b, err := open(t.Context(), js, natstest.Bus(t, js), bucket, 1)
	require.NoError(t, err)
	theirs, err := js.ObjectStore(t.Context(), bucket)
	require.NoError(t, err)
	large := bytes.Repeat([]byte("0123456789"), chunk/4)
	for _, content := range [][]byte{large, {}, []byte("small"), large} {
		require.NoError(t, b.write(t.Context(), "a/b", content))
		got, err := b.content(t.Context(), "a/b")
		require.NoError(t, err)
		require.Equal(t, string(content), string(got))
		info, err := theirs.GetInfo(t.Context(), "a/b")
		require.NoError(t, err)
		require.EqualValues(t, len(content), info.Size)
	}
	read, err := theirs.Get(t.Context(), "a/b")
	require.NoError(t, err)
	got, err := io.ReadAll(read)
	require.NoError(t, err)
	require.NoError(t, read.Close())
	require.Equal(t, large, got)
	stream, err := js.Stream(t.Context(), subjects.ObjectStream(bucket))
	require.NoError(t, err)
	info, err := stream.Info(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1+3, info.State.Msgs, "one message about it, and its chunks")
	require.NoError(t, b.remove(t.Context(), "a/b"))
	_, err = b.content(t.Context(), "a/b")
	require.ErrorIs(t, err, errNone)
	_, err = theirs.GetInfo(t.Context(), "a/b")
	require.ErrorIs(t, err, jetstream.ErrObjectNotFound)
}

// TestDamage: an object that is not what was written is not read.
func TestDamage(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	bucket := natstest.Names(t).ArchiveBucket()
	b, err := open(t.Context(), js, natstest.Bus(t, js), bucket, 1)
	require.NoError(t, err)
	require.NoError(t, b.write(t.Context(), "a", []byte("content")))
	meta, err := b.meta(t.Context(), "a")
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), subjects.ObjectChunks(bucket, meta.NUID), []byte("more"))
	require.NoError(t, err)
	meta.Chunks, meta.Size = 2, meta.Size+4
	require.NoError(t, b.publishMeta(t.Context(), meta))
	_, err = b.content(t.Context(), "a")
	require.ErrorIs(t, err, ErrDamaged)
}

// TestContentIsLost: when somebody removes the stream with the content, objects whose names are there are damaged. One that was deleted is not there.
func TestContentIsLost(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	streams, bucket := natstest.Bus(t, js), natstest.Names(t).ArchiveBucket()
	b, err := open(t.Context(), js, streams, bucket, 1)
	require.NoError(t, err)
	for _, name := range []string{"lost", "deleted"} {
		require.NoError(t, b.put(t.Context(), name, []byte("content"), about{Size: 7}))
	}
	require.NoError(t, b.Delete(t.Context(), "deleted", &driver.DeleteOptions{}))
	require.NoError(t, js.DeleteObjectStore(t.Context(), bucket))
	b, err = open(t.Context(), js, streams, bucket, 1)
	require.NoError(t, err)
	_, err = b.NewRangeReader(t.Context(), "lost", 0, -1, &driver.ReaderOptions{})
	require.ErrorIs(t, err, ErrDamaged)
	require.NotErrorIs(t, err, errNone)
	_, err = b.NewRangeReader(t.Context(), "deleted", 0, -1, &driver.ReaderOptions{})
	require.ErrorIs(t, err, errNone)
}
