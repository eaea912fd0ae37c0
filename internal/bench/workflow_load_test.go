package bench

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestAtRate: however many begin at once, each is another one.
func TestAtRate(t *testing.T) {
	t.Parallel()
	const rate, enough = 10_000, 500
	var mu sync.Mutex
	begun := map[int]int{}
	atRate(t.Context(), time.Now(), rate, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(begun) < enough
	}, func(i int) {
		mu.Lock()
		defer mu.Unlock()
		begun[i]++
	})
	for i := range len(begun) {
		assert.Equal(t, 1, begun[i], i)
	}
}
