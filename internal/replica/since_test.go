package replica_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSince reads on from where it was, past what has been replaced.
func TestSince(t *testing.T) {
	t.Parallel()
	b := setup(t)
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
		{third.Sequence, 1, []string{"4"}, false},
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
	require.ErrorContains(t, err, "replica: read NO_SUCH_STREAM after 0")
}

// TestSinceReadsAll goes through more than one answer holds.
func TestSinceReadsAll(t *testing.T) {
	t.Parallel()
	b := setup(t)
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
	b := setup(t)
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
	require.ErrorContains(t, err, "replica: read NO_SUCH_STREAM from")
}
