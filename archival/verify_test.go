package archival

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestVerifyWithoutContent: if somebody removes all content of a bucket of JetStream, and its names are left, then all of it is damaged.
func TestVerifyWithoutContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.put(b.bucket(), "w", "Order", noon)
	b.happens("s", schedule.EventStarted, time.Now().Add(-2*partAge))
	stop := b.run()
	b.await("the event is archived", func() bool { return b.eventsThrough() == 1 })
	stop()
	require.NoError(t, b.js.DeleteObjectStore(t.Context(), b.names.ArchiveBucket()))
	b.run()
	require.Len(t, b.verify("").Damaged, 1)
	require.Len(t, b.verifyEvents().Damaged, 1)
}
