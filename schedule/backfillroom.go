package schedule

// The share of the buffer that backfills may use (docs/semantics.md §6).
const (
	backfillShare    = 500
	reservedSlots    = 50
	maxBackfillBatch = 100
)

// BackfillRoom returns how many starts one of so many backfills may hand over now, at most a batch. What waits takes room,
// whoever has asked for it, and so do the manual runs in progress: a backfill that starts everything at once would
// otherwise have no bound.
func BackfillRoom(state *InvokerState, backfills int) int {
	room := backfillShare - reservedSlots
	for i := range state.Starts {
		if s := &state.Starts[i]; s.Waiting() || s.Manual && s.Running() {
			room--
		}
	}
	return min(max(room, 0)/max(backfills, 1), maxBackfillBatch)
}
