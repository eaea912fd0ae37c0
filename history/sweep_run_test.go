package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
)

// seenOf returns entries as a sweeper sees them.
func seenOf(sequences ...uint64) (all []doomed) {
	for _, sequence := range sequences {
		entry := &execution.Entry{Parts: []execution.Part{{RunID: "r", First: sequences[0]}}}
		if sequence == sequences[0] {
			entry.Parts[0].First = 0
		}
		all = append(all, doom(sequence, entry))
	}
	return all
}

// TestSeen: a journal is read again when a part of it has not been seen, when its work may be to do still, and when a reset may need some of it.
func TestSeen(t *testing.T) {
	t.Parallel()
	key, other := schedule.Key{ID: "w"}, schedule.Key{ID: "other"}
	var s seen
	require.Empty(t, s.of(key, 100))
	for _, d := range seenOf(3, 5, 9) {
		s.add(key, d)
	}
	require.Len(t, s.of(key, 9), 3)
	require.Empty(t, s.of(key, 8), "the work of an entry may be to do still")
	s.forget(map[schedule.Key]ending{key: {sequence: 3}})
	require.Empty(t, s.of(key, 9), "the beginning is missing")
	s.forget(map[schedule.Key]ending{key: {sequence: 9}, other: {sequence: 9}})
	require.Zero(t, s.count)
	require.Empty(t, s.entries)

	reset := seenOf(11, 12)
	reset[0].needs = true
	for _, d := range reset {
		s.add(key, d)
	}
	require.Empty(t, s.of(key, 100), "it has its first events from another run")

	chained := seenOf(21, 22)[0]
	chained.chained = true
	s.add(other, chained)
	s.forget(map[schedule.Key]ending{other: {sequence: 21}})
	require.Len(t, s.of(other, 100), 1, "the entry begins the next run, too")
}

// TestSeenIsBounded: whatever has been forgotten for want of room is read again.
func TestSeenIsBounded(t *testing.T) {
	t.Parallel()
	key := schedule.Key{ID: "w"}
	var s seen
	run := seenOf(1, 2)
	s.add(key, run[0])
	for range maxSeen - 1 {
		s.add(schedule.Key{ID: "open"}, run[1])
	}
	require.Len(t, s.of(key, 100), 1)
	s.add(key, run[1])
	require.Equal(t, 1, s.count)
	require.Empty(t, s.of(key, 100))
}
