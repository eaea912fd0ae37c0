package matching

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/offer"
)

// TestRoom: there is more room while polls take tasks, and less while tasks wait for them.
func TestRoom(t *testing.T) {
	t.Parallel()
	r := newRoom(10)
	assert.Equal(t, 2, r.enter(t.Context()))
	for _, more := range []int{2, 4, 2} {
		r.grow()
		assert.Equal(t, more, r.enter(t.Context()))
	}
	r.shrink()
	r.leave(4)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	assert.Zero(t, r.enter(over))
	assert.Zero(t, r.take(), "more are in than there is room for now")
	r.leave(2)
	assert.Equal(t, 1, r.enter(t.Context()))
	for range 10 {
		r.shrink()
	}
	r.leave(5)
	assert.True(t, r.empty())
	assert.Equal(t, 2, r.enter(t.Context()))
	assert.Equal(t, 1, newRoom(1).enter(t.Context()))
}

// TestRoomWaits: whoever enters gets what another leaves.
func TestRoomWaits(t *testing.T) {
	t.Parallel()
	r := newRoom(2)
	r.enter(t.Context())
	entered := make(chan int)
	go func() { entered <- r.enter(t.Context()) }()
	r.leave(1)
	assert.Equal(t, 1, <-entered)
}

// TestFold: clients choose how many queues there are, but not how many series.
func TestFold(t *testing.T) {
	t.Parallel()
	contents := map[offer.Queue]content{
		{Namespace: "other", Kind: offer.Activity, Name: "q"}:               {tasks: 7},
		{Namespace: "default", Kind: offer.Activity, Name: "(other)"}:       {tasks: 1},
		{Namespace: "default", Kind: offer.Activity, Name: "after (other)"}: {tasks: 2},
	}
	for i := range 1000 {
		contents[offer.Queue{Namespace: "default", Kind: offer.Workflow, Name: fmt.Sprintf("q%04d", i)}] = content{tasks: 1}
	}
	shown := fold(contents)
	assert.LessOrEqual(t, len(shown), metrics.QueuesOfNamespace+4)
	var sum, wanted uint64
	for _, g := range shown {
		sum += g.tasks
	}
	for _, has := range contents {
		wanted += has.tasks
	}
	assert.Equal(t, wanted, sum, "no task is left out")
	last := shown[len(shown)-1]
	assert.Equal(t, offer.Queue{Namespace: "other", Kind: offer.Activity, Name: "q"}, last.Queue)
}
