package bench

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestRecordWrites: it counts what was stored, not what was tried.
func TestRecordWrites(t *testing.T) {
	t.Parallel()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	name := natstest.Names(t).StateBucket(0)
	bucket, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: name, History: 1})
	require.NoError(t, err)
	first, err := bucket.Create(t.Context(), "a", []byte("before"))
	require.NoError(t, err)

	w, err := watchRecord(conn, name, "a")
	require.NoError(t, err)
	second, err := bucket.Update(t.Context(), "a", []byte("12345"), first)
	require.NoError(t, err)
	_, err = bucket.Update(t.Context(), "a", []byte("refused"), first)
	require.Error(t, err)
	_, err = bucket.Update(t.Context(), "a", []byte("678"), second)
	require.NoError(t, err)
	_, err = bucket.Create(t.Context(), "b", []byte("another key"))
	require.NoError(t, err)

	writes, bytes, err := w.stop(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, writes)
	assert.EqualValues(t, 8, bytes)
}
