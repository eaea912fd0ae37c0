package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/archive/progress"
)

// TestCheckArchive: nobody who archives, a bucket that refuses, and what could not be read.
func TestCheckArchive(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	says := func(change func(*progress.Status)) Check {
		f := &Facts{Time: now, Archive: &Archive{Namespaces: []string{"shop"}, Status: progress.Status{Process: "p", At: now}}}
		change(&f.Archive.Status)
		return checkArchive(f)
	}
	waits := func(since time.Duration) func(*progress.Status) {
		return func(s *progress.Status) {
			s.Waiting = []progress.Waiting{{Namespace: "shop", Since: now.Add(-since), Reason: "no space left on device"}}
		}
	}
	assert.Equal(t, OK, says(func(*progress.Status) {}).Status)
	assert.Equal(t, Failed, says(func(s *progress.Status) { s.Process = "" }).Status)
	assert.Equal(t, Failed, says(func(s *progress.Status) { s.At = now.Add(-3 * time.Minute) }).Status)
	assert.Equal(t, Warning, says(waits(time.Minute)).Status)
	assert.Equal(t, Failed, says(waits(2*time.Hour)).Status)
	assert.Contains(t, says(waits(time.Minute)).Detail, "shop for 1m0s: no space left on device")
	left := says(func(s *progress.Status) {
		s.Left = 2
		s.Kept = []progress.Kept{{Namespace: "shop", Left: progress.Left{WorkflowID: "order-17", RunID: "r", Reason: "the journal is damaged"}}}
	})
	assert.Equal(t, Warning, left.Status)
	assert.Contains(t, left.Detail, "shop/order-17 (run r): the journal is damaged")
	unread := checkArchive(&Facts{Time: now, Archive: &Archive{Unreadable: []string{"shop"}}})
	assert.Equal(t, Failed, unread.Status)
	assert.Contains(t, unread.Detail, "shop")
}
