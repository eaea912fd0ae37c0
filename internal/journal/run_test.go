package journal_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// counting counts the questions for single messages. It asks the mirror of a stream if there is one.
type counting struct {
	bus.Streams
	mirror string
	asked  int
}

func (c *counting) At(ctx context.Context, stream string, sequence uint64) (bus.Message, error) {
	c.asked++
	return c.Streams.At(ctx, cmp.Or(c.mirror, stream), sequence)
}

func (c *counting) Latest(ctx context.Context, stream, subject string) (bus.Message, error) {
	return c.Streams.Latest(ctx, cmp.Or(c.mirror, stream), subject)
}

func (c *counting) Next(ctx context.Context, stream, subject string, from uint64) (bus.Message, error) {
	return c.Streams.Next(ctx, cmp.Or(c.mirror, stream), subject, from)
}

func (c *counting) Subject(ctx context.Context, stream, subject string, from uint64, limit int) ([]bus.Message, error) {
	return c.Streams.Subject(ctx, cmp.Or(c.mirror, stream), subject, from, limit)
}

// TestReadRun: however a run is read, all of its entries come in their order, also if one has been removed. Where few entries lie far apart, each is asked for. The same
// holds for a mirror, as another site has it.
func TestReadRun(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entries, between int
		asked            int // when the run is short
	}{
		"one":            {1, 0, 0},
		"near":           {5, 1, 0},
		"far apart":      {4, 300, 3},
		"many far apart": {15, 100, 11},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := single(t)
			_, err := b.Append(t.Context(), 0, key, 0, journal.Entry{ID: "of the run before"})
			require.NoError(t, err)
			last, err := b.Last(t.Context(), 0, key)
			require.NoError(t, err)
			var all []uint64
			for i := range test.entries {
				sequence, err := b.Append(t.Context(), 0, key, last.Sequence, journal.Entry{ID: strconv.Itoa(i), Data: []byte(strconv.Itoa(i))})
				require.NoError(t, err)
				all, last.Sequence = append(all, sequence), sequence
				if i < test.entries-1 {
					b.others(t, fmt.Sprintf("%d-%%d", i), test.between)
				}
			}
			streams := &counting{Streams: natstest.Bus(t, b.js)}
			b.readRun(t, streams, all, test.asked)
			streams = &counting{Streams: streams.Streams, mirror: b.mirror(t, last.Sequence)}
			b.readRun(t, streams, all, test.asked)
			require.NoError(t, b.js.DeleteStream(t.Context(), streams.mirror)) // it answers also for the stream that it mirrors
			if test.entries > 2 {
				require.NoError(t, streams.Remove(t.Context(), b.names.JournalStream(0), all[1]))
				all = slices.Delete(all, 1, 2)
				require.Equal(t, all, b.runOf(t, b.Journals, all[0], false))
				require.Equal(t, all, b.runOf(t, b.Journals, all[0], true))
			}
		})
	}
}

// readRun reads a run that has all these entries, the last of which is that of its journal. asked is how many of them are asked for if the run is short.
func (b bundle) readRun(t *testing.T, streams *counting, all []uint64, asked int) {
	t.Helper()
	journals := journal.New(streams, b.names)
	require.Equal(t, all, b.runOf(t, journals, all[0], false))
	require.Zero(t, streams.asked)
	require.Equal(t, all, b.runOf(t, journals, all[0], true))
	require.Equal(t, asked, streams.asked)
	last, err := journals.Last(t.Context(), 0, key)
	require.NoError(t, err)
	n := 0
	require.NoError(t, journals.ReadRun(t.Context(), 0, key, all[0], last, true, func(journal.Entry) (bool, error) { n++; return n < 2, nil }))
	require.Equal(t, min(2, len(all)), n, "until it returns false")
	require.ErrorIs(t, journals.ReadRun(t.Context(), 0, key, all[0], journal.Entry{Sequence: last.Sequence + 1}, false, func(journal.Entry) (bool, error) {
		return true, nil
	}), journal.ErrNone, "an entry that is gone is not passed on from memory")
}

// runOf returns the sequences of the entries from first on.
func (b bundle) runOf(t *testing.T, journals *journal.Journals, first uint64, short bool) (got []uint64) {
	t.Helper()
	last, err := journals.Last(t.Context(), 0, key)
	require.NoError(t, err)
	require.NoError(t, journals.ReadRun(t.Context(), 0, key, first, last, short, func(e journal.Entry) (bool, error) {
		got = append(got, e.Sequence)
		return true, nil
	}))
	return got
}

// mirror mirrors the journals, and returns the name of the stream that has them up to a sequence.
func (b bundle) mirror(t *testing.T, through uint64) string {
	t.Helper()
	name := b.names.JournalStream(0) + "-mirror"
	stream, err := b.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: name, Mirror: &jetstream.StreamSource{Name: b.names.JournalStream(0)}, AllowDirect: true,
	})
	require.NoError(t, err)
	natstest.Eventually(t, natstest.Patience, "the mirror has all", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.LastSeq >= through
	})
	return name
}

// others appends an entry to each of n other journals.
func (b bundle) others(t *testing.T, id string, n int) {
	t.Helper()
	for i := range n {
		_, err := b.js.PublishMsgAsync(&nats.Msg{Subject: b.names.Journal(0, schedule.Key{Namespace: "default", ID: fmt.Sprintf(id, i)})})
		require.NoError(t, err)
	}
	select {
	case <-b.js.PublishAsyncComplete():
	case <-t.Context().Done():
	}
}
