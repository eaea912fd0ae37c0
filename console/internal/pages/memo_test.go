package pages

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
)

// user returns a speaker of a connection that nobody uses.
func user(t *testing.T, conn *nats.Conn) *speaker.Speaker {
	t.Helper()
	api, err := client.New(conn, client.Config{})
	require.NoError(t, err)
	return &speaker.Speaker{Client: api, Conn: conn}
}

// TestMemo: many viewers cost one look, what is known is shown while somebody looks anew, and nobody sees what another user may see.
func TestMemo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ann, bob := user(t, &nats.Conn{}), user(t, &nats.Conn{})
		m := newMemo[int](time.Second, time.Minute, time.Now)
		var looks atomic.Int64
		release := make(chan struct{})
		look := func(ctx context.Context) (int, error) {
			select {
			case <-release:
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			return int(looks.Add(1)), nil
		}
		var viewers sync.WaitGroup
		for range 200 {
			viewers.Go(func() {
				value, err := m.get(t.Context(), ann, look)
				assert.NoError(t, err)
				assert.Equal(t, 1, value)
			})
		}
		synctest.Wait()
		close(release)
		viewers.Wait()
		value, err := m.get(t.Context(), bob, look)
		require.NoError(t, err)
		assert.Equal(t, 2, value, "another user looks for themselves")

		time.Sleep(2 * time.Second)
		release = make(chan struct{})
		value, _ = m.get(t.Context(), ann, look)
		assert.Equal(t, 1, value, "not fresh, but better than to wait")
		close(release)
		synctest.Wait()
		value, _ = m.get(t.Context(), ann, look)
		assert.Equal(t, 3, value)

		time.Sleep(2 * time.Minute)
		release = make(chan struct{})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = m.get(short, ann, look)
		assert.ErrorIs(t, err, context.DeadlineExceeded, "too old, and nobody waits longer than they want")
		m.close()
		_, err = m.get(t.Context(), bob, look)
		assert.ErrorIs(t, err, context.Canceled)
	})
}

// TestMemoKeepsFailures: what cannot be found out is not asked for by each viewer either.
func TestMemoKeepsFailures(t *testing.T) {
	t.Parallel()
	ann := user(t, &nats.Conn{})
	m := newMemo[int](time.Minute, time.Hour, time.Now)
	failed, looks := errors.New("failed"), 0
	for range 3 {
		_, err := m.get(t.Context(), ann, func(context.Context) (int, error) {
			looks++
			return 0, failed
		})
		assert.ErrorIs(t, err, failed)
	}
	assert.Equal(t, 1, looks)
	m.forget()
	value, err := m.get(t.Context(), ann, func(context.Context) (int, error) { return 7, nil })
	require.NoError(t, err)
	assert.Equal(t, 7, value)
}

// TestMemoOfSlowLooks: the longer a look takes, the seldomer there is one.
func TestMemoOfSlowLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ann := user(t, &nats.Conn{})
		m := newMemo[int](time.Second, time.Minute, time.Now)
		looks := 0
		look := func(context.Context) (int, error) {
			looks++
			time.Sleep(2 * time.Second)
			return looks, nil
		}
		for range 60 {
			value, err := m.get(t.Context(), ann, look)
			require.NoError(t, err)
			assert.Positive(t, value)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		assert.Equal(t, 3, looks, "of 22 seconds each")
		m.close()
	})
}

// TestMemoOfPages: a page is that of one address, user and name.
func TestMemoOfPages(t *testing.T) {
	t.Parallel()
	conn := &nats.Conn{}
	m := newMemo[int](time.Hour, time.Hour, time.Now)
	defer m.close()
	looks := 0
	for _, who := range []viewer{
		{conn: conn, namespace: "a", page: "/1", identity: "ann"}, {conn: conn, namespace: "a", page: "/2", identity: "ann"},
		{conn: conn, namespace: "a", page: "/1", identity: "bob"}, {conn: conn, namespace: "b", page: "/1", identity: "ann"},
		{conn: &nats.Conn{}, namespace: "a", page: "/1", identity: "ann"},
	} {
		looks++
		for range 2 {
			value, err := m.of(t.Context(), who, func(context.Context) (int, error) { return looks, nil })
			require.NoError(t, err)
			assert.Equal(t, looks, value)
		}
	}
}

// TestMemoOfAPanic: it ends the request that looks, and not the process. The next one looks anew.
func TestMemoOfAPanic(t *testing.T) {
	t.Parallel()
	ann := user(t, &nats.Conn{})
	m := newMemo[int](time.Hour, time.Hour, time.Now)
	defer m.close()
	assert.Panics(t, func() {
		_, _ = m.get(t.Context(), ann, func(context.Context) (int, error) { panic("a page that cannot be made") })
	})
	value, err := m.get(t.Context(), ann, func(context.Context) (int, error) { return 7, nil })
	require.NoError(t, err)
	assert.Equal(t, 7, value)
}

// TestMemoIsBounded: the oldest result makes room.
func TestMemoIsBounded(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var seconds atomic.Int64
	m := newMemo[int](time.Hour, time.Hour, func() time.Time { return start.Add(time.Duration(seconds.Load()) * time.Second) })
	defer m.close()
	conn := &nats.Conn{}
	for n := range mostKept + 10 {
		seconds.Add(1)
		_, err := m.of(t.Context(), viewer{conn: conn, page: strconv.Itoa(n)}, func(context.Context) (int, error) { return n, nil })
		require.NoError(t, err)
	}
	assert.Len(t, m.kept, mostKept)
	assert.NotContains(t, m.kept, viewer{conn: conn, page: "9"})
}
