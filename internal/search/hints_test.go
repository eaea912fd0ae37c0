package search

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// TestUnresolved: the message about a write arrives before the write is stored, so what is read then proves nothing.
func TestUnresolved(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		beyond uint64
		heard  time.Duration
		read   uint64 // 0: there is no such definition
		open   bool
	}{
		"stored":                     {beyond: 5, read: 6},
		"stored, and changed again":  {beyond: 5, read: 9},
		"not stored yet":             {beyond: 5, read: 5, open: true},
		"shown by a lagging replica": {beyond: 5, read: 3, open: true},
		"created":                    {beyond: 0, read: 1},
		"not created yet":            {beyond: 0, read: 0, open: true},
		"never stored":               {beyond: 5, read: 5, heard: unresolvedAge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var found []bus.Message
			if test.read > 0 {
				found = []bus.Message{{Subject: "a", Sequence: test.read}}
			}
			hints := map[string]hint{"a": {beyond: test.beyond, heard: now.Add(-test.heard)}}
			if test.open {
				require.Equal(t, hints, unresolved(hints, found, now))
			} else {
				require.Empty(t, unresolved(hints, found, now))
			}
		})
	}
}

// TestHintsAreReachedWhenResolved: nobody is told that a write is in the index while the index still looks for it.
func TestHintsAreReachedWhenResolved(t *testing.T) {
	t.Parallel()
	h := newHints()
	h.add(0, "a", hint{beyond: 5})
	taken, mark := h.take()
	require.False(t, h.reached(1))
	h.done(mark, taken)
	require.False(t, h.reached(1))
	h.doneAll(h.begin())
	require.False(t, h.reached(1), "all was read while it was not stored yet")
	taken, mark = h.take()
	require.Equal(t, map[int]map[string]hint{0: {"a": {beyond: 5}}}, taken)
	h.done(mark, nil)
	require.True(t, h.reached(1))
}
