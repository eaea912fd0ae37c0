package journal_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

var key = schedule.Key{Namespace: "default", ID: "order/17"}

type bundle struct {
	*journal.Journals
	js    jetstream.JetStream
	names subjects.Names
}

func setup(t *testing.T, js jetstream.JetStream, replicas int) bundle {
	t.Helper()
	b := bundle{js: js, names: natstest.Names(t)}
	for _, config := range b.names.StreamConfigs(1, replicas) {
		if config.Name == b.names.JournalStream(0) {
			_, err := js.CreateStream(t.Context(), config)
			require.NoError(t, err)
		}
	}
	b.Journals = journal.New(natstest.Bus(t, js), b.names)
	return b
}

func single(t *testing.T) bundle {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	return setup(t, js, 1)
}

// read returns the contents of a journal, up to its last entry.
func (b bundle) read(t *testing.T, from uint64) (all []string) {
	t.Helper()
	last, err := b.Last(t.Context(), 0, key)
	require.NoError(t, err)
	require.NoError(t, b.Read(t.Context(), 0, key, from, last.Sequence, func(e journal.Entry) (bool, error) {
		all = append(all, string(e.Data))
		return true, nil
	}))
	return all
}

// TestAppendToAPurgedJournal: who still expects an entry that has been purged learns that at once.
func TestAppendToAPurgedJournal(t *testing.T) {
	t.Parallel()
	b := single(t)
	last, err := b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "1", Data: []byte("entry")})
	require.NoError(t, err)
	require.NoError(t, natstest.Bus(t, b.js).Purge(t.Context(), b.names.JournalStream(0), b.names.Journal(0, key)))
	_, err = b.Append(t.Context(), 0, key, last, journal.Entry{ID: "2", Data: []byte("entry")})
	require.ErrorIs(t, err, journal.ErrConflict)
	_, err = b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "3", Data: []byte("entry")})
	require.NoError(t, err)
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	b := single(t)
	_, err := b.Last(t.Context(), 0, key)
	require.ErrorIs(t, err, journal.ErrNone)
	last := uint64(0)
	for i := range 5 {
		sequence, err := b.Append(t.Context(), 0, key, last, journal.Entry{ID: strconv.Itoa(i), Data: []byte(fmt.Sprint("entry ", i))})
		require.NoError(t, err)
		require.Greater(t, sequence, last)
		last = sequence
		_, err = b.Append(t.Context(), 0, schedule.Key{Namespace: "default", ID: strconv.Itoa(i)}, 0, journal.Entry{ID: "x", Data: []byte("another journal")})
		require.NoError(t, err)
	}
	got, err := b.Last(t.Context(), 0, key)
	require.NoError(t, err)
	require.Equal(t, journal.Entry{Sequence: last, Previous: last - 2, ID: "4", Data: []byte("entry 4")}, got)
	require.Equal(t, []string{"entry 0", "entry 1", "entry 2", "entry 3", "entry 4"}, b.read(t, 0))
	require.Equal(t, []string{"entry 3", "entry 4"}, b.read(t, last-3))

	stop := errors.New("stop")
	require.ErrorIs(t, b.Read(t.Context(), 0, key, 1, last, func(journal.Entry) (bool, error) { return false, stop }), stop)
	n := 0
	require.NoError(t, b.Read(t.Context(), 0, key, 1, last, func(journal.Entry) (bool, error) { n++; return n < 2, nil }))
	require.Equal(t, 2, n)
	require.ErrorIs(t, b.Read(t.Context(), 0, key, 1, last+100, func(journal.Entry) (bool, error) { return true, nil }), journal.ErrNone)
}

// TestEndsCanBeSeen by those who follow the journal.
func TestEndsCanBeSeen(t *testing.T) {
	t.Parallel()
	b := single(t)
	for i, ends := range []bool{false, true} {
		sequence, err := b.Append(t.Context(), 0, schedule.Key{Namespace: "default", ID: strconv.Itoa(i)}, 0, journal.Entry{ID: "x", Ends: ends})
		require.NoError(t, err)
		stream, err := b.js.Stream(t.Context(), b.names.JournalStream(0))
		require.NoError(t, err)
		stored, err := stream.GetMsg(t.Context(), sequence)
		require.NoError(t, err)
		require.Equal(t, ends, stored.Header.Get(subjects.HeaderEnds) != "")
	}
}

// TestConflict: whoever does not know the last entry cannot append. Whoever appends the same entry again has appended it once.
func TestConflict(t *testing.T) {
	t.Parallel()
	b := single(t)
	first, err := b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "a", Data: []byte("first")})
	require.NoError(t, err)
	_, err = b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "b", Data: []byte("other")})
	require.ErrorIs(t, err, journal.ErrConflict)
	again, err := b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "a", Data: []byte("first")})
	require.NoError(t, err)
	require.Equal(t, first, again)
	second, err := b.Append(t.Context(), 0, key, first, journal.Entry{ID: "c", Data: []byte("second")})
	require.NoError(t, err)
	_, err = b.Append(t.Context(), 0, key, first, journal.Entry{ID: "d", Data: []byte("late")})
	require.ErrorIs(t, err, journal.ErrConflict)
	again, err = b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "a", Data: []byte("first")})
	require.NoError(t, err)
	require.Equal(t, first, again, "although others have come since")
	require.Less(t, first, second)
	require.Equal(t, []string{"first", "second"}, b.read(t, 0))
}

func TestTooLarge(t *testing.T) {
	t.Parallel()
	b := single(t)
	_, err := b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "a", Data: make([]byte, b.MaxEntry(key))})
	require.NoError(t, err)
	other := schedule.Key{Namespace: "default", ID: "other"}
	_, err = b.Append(t.Context(), 0, other, 0, journal.Entry{ID: "a", Data: make([]byte, b.MaxEntry(other)+1024)})
	require.ErrorIs(t, err, nats.ErrMaxPayload)
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	b := single(t)
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.JournalStream(0)))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.Append(ctx, 0, key, 0, journal.Entry{ID: "a", Data: []byte("first")})
	require.ErrorIs(t, err, journal.ErrUnknown)
}

// TestManyWriters append to one journal at once, each behind what it knows. All their entries get in, each once.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	fight(t, single(t), 8, 25, func() {})
}

// TestLeaderIsKilled: three nodes, and the leader of the stream dies twice while many append. No entry is lost or doubled.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("three nodes")
	}
	c := natstest.Cluster(t, 3)
	_, js := natstest.Connect(t, c.URLs())
	b := setup(t, js, 3)
	fight(t, b, 8, 100, func() {
		for range 2 {
			leader := c.Leader(t.Context(), js, b.names.JournalStream(0))
			c.Kill(leader)
			c.Restart(leader)
			c.AwaitCurrent(t.Context(), js)
		}
	})
}

// fight lets writers append entries to one journal while something happens, and checks the journal.
func fight(t *testing.T, b bundle, writers, entries int, meanwhile func()) {
	t.Helper()
	var group errgroup.Group
	var conflicts atomic.Int64
	ctx, cancel := context.WithTimeout(t.Context(), 2*natstest.Patience)
	defer cancel()
	for w := range writers {
		group.Go(func() error {
			last := uint64(0)
			for i := range entries {
				id := fmt.Sprintf("%d-%d", w, i)
				sequence, err := b.Append(ctx, 0, key, last, journal.Entry{ID: id, Data: []byte(id)})
				for errors.Is(err, journal.ErrConflict) {
					conflicts.Add(1)
					entry, lastErr := b.Last(ctx, 0, key)
					if ctx.Err() != nil {
						return fmt.Errorf("writer %d, entry %d: %w, then %w", w, i, err, lastErr)
					}
					if lastErr != nil {
						continue
					}
					sequence, err = b.Append(ctx, 0, key, entry.Sequence, journal.Entry{ID: id, Data: []byte(id)})
				}
				if err != nil {
					return err
				}
				last = sequence
			}
			return nil
		})
	}
	meanwhile()
	require.NoError(t, group.Wait())
	got := b.read(t, 0)
	require.Len(t, got, writers*entries)
	next := make([]int, writers)
	for _, id := range got {
		var w, i int
		_, err := fmt.Sscanf(id, "%d-%d", &w, &i)
		require.NoError(t, err)
		require.Equal(t, next[w], i, "the entries of writer %d", w)
		next[w]++
	}
	t.Logf("%d conflicts", conflicts.Load())
}
