package journal_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// counting counts the questions for single messages.
type counting struct {
	bus.Streams
	asked int
}

func (c *counting) At(ctx context.Context, stream string, sequence uint64) (bus.Message, error) {
	c.asked++
	return c.Streams.At(ctx, stream, sequence)
}

// TestReadRun: however a run is read, all of its entries come in their order, also if one has been removed. Where few entries lie far apart, each is asked for.
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
			streams := &counting{Streams: natstest.Bus(t, b.js)}
			journals := journal.New(streams, b.names)
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
			last, err = b.Last(t.Context(), 0, key)
			require.NoError(t, err)
			read := func(short bool) (got []uint64) {
				require.NoError(t, journals.ReadRun(t.Context(), 0, key, all[0], last, short, func(e journal.Entry) (bool, error) {
					got = append(got, e.Sequence)
					return true, nil
				}))
				return got
			}
			require.Equal(t, all, read(false))
			require.Zero(t, streams.asked)
			require.Equal(t, all, read(true))
			require.Equal(t, test.asked, streams.asked)
			n := 0
			require.NoError(t, journals.ReadRun(t.Context(), 0, key, all[0], last, true, func(journal.Entry) (bool, error) { n++; return n < 2, nil }))
			require.Equal(t, min(2, len(all)), n, "until it returns false")
			require.ErrorIs(t, journals.ReadRun(t.Context(), 0, key, all[0], journal.Entry{Sequence: last.Sequence + 1}, false, func(journal.Entry) (bool, error) {
				return true, nil
			}), journal.ErrNone, "an entry that is gone is not passed on from memory")
			if test.entries > 2 {
				require.NoError(t, streams.Remove(t.Context(), b.names.JournalStream(0), all[1]))
				without := append([]uint64{all[0]}, all[2:]...)
				require.Equal(t, without, read(false))
				require.Equal(t, without, read(true))
			}
		})
	}
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
