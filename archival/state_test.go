package archival

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatIsShown: the process that archives shows a lag and a failure for each namespace, also if both are zero, and nothing once another one archives.
func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	s, now := newState(), time.Unix(1000, 0)
	require.Empty(t, s.lags(now))
	require.Empty(t, s.failing(now))
	s.archives([]string{"billing", "shop"})
	require.Equal(t, map[string]time.Duration{"billing": 0, "shop": 0}, s.lags(now))
	s.wait(place{"shop", 0}, now.Add(-time.Minute), nil)
	s.wait(place{"shop", 1}, now.Add(-time.Hour), nil)
	s.fail("billing", now.Add(-3*time.Second), time.Second, "the bucket is full")
	s.fail("billing", now.Add(-time.Second), time.Second, "the bucket is full")
	require.Equal(t, map[string]time.Duration{"billing": 0, "shop": time.Hour}, s.lags(now))
	require.Equal(t, map[string]time.Duration{"billing": 3 * time.Second, "shop": 0}, s.failing(now))
	s.resume("billing")
	require.Equal(t, map[string]time.Duration{"billing": 0, "shop": 0}, s.failing(now))
	s.clear()
	require.Empty(t, s.lags(now))
	require.Empty(t, s.failing(now))
}
