package callers_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestUse: the connection of a user stays as long as somebody uses it, whatever else happens, and is closed when it is forgotten.
func TestUse(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	reader := s.client("Bearer reader:r")
	first, done, err := s.Use(t.Context(), reader)
	require.NoError(t, err)
	s.pass(time.Hour)
	s.Sweep()
	again, doneAgain, err := s.Use(t.Context(), reader)
	require.NoError(t, err)
	assert.Same(t, first.Conn, again.Conn)
	require.NoError(t, first.Conn.Flush())
	done()
	s.pass(time.Hour)
	s.Sweep()
	require.NoError(t, first.Conn.Flush(), "it is still used")
	doneAgain()
	s.Sweep()
	require.NoError(t, first.Conn.Flush(), "it has just been used")
	s.Forget(reader.Credentials)
	natstest.Eventually(t, natstest.Patience, "it is closed", first.Conn.IsClosed)
	other, doneOther, err := s.Use(t.Context(), reader)
	require.NoError(t, err)
	assert.NotSame(t, first.Conn, other.Conn)
	s.Forget(reader.Credentials)
	s.Sweep()
	require.NoError(t, other.Conn.Flush(), "it is still used, though forgotten")
	doneOther()
	natstest.Eventually(t, natstest.Patience, "it is closed after the last request", other.Conn.IsClosed)
	_, done, err = s.Use(t.Context(), s.client("Bearer reader:guess"))
	require.ErrorIs(t, err, callers.ErrRefused)
	assert.Nil(t, done)
}

// TestUseWhileForgotten: the connection that a request has got is open until the request ends, whoever logs out meanwhile.
func TestUseWhileForgotten(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	reader := s.client("Bearer reader:r")
	var users, forgetting sync.WaitGroup
	var ended atomic.Bool
	forgetting.Go(func() {
		for n := 0; !ended.Load(); n++ {
			s.Forget(reader.Credentials)
			s.Sweep()
			s.pass(50 * time.Millisecond) // as many connections may be opened as are forgotten
		}
	})
	for range 4 {
		users.Go(func() {
			for range 200 {
				connection, done, err := s.Use(t.Context(), reader)
				if errors.Is(err, callers.ErrTooMany) {
					continue
				}
				if assert.NoError(t, err) {
					assert.NoError(t, connection.Conn.Flush())
					done()
				}
			}
		})
	}
	users.Wait()
	ended.Store(true)
	forgetting.Wait()
}

// TestCloseWhileForgotten: a connection that is forgotten and still used is closed with all others.
func TestCloseWhileForgotten(t *testing.T) {
	t.Parallel()
	s := withAccounts(t)
	reader := s.client("Bearer reader:r")
	used, done, err := s.Use(t.Context(), reader)
	require.NoError(t, err)
	s.Forget(reader.Credentials)
	s.Close()
	assert.True(t, used.Conn.IsClosed())
	done()
}
