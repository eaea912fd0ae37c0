package offer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestEveryTaskArrives while workers come, go, and give up at every moment: each task that was handed is taken once, and none is lost.
func TestEveryTaskArrives(t *testing.T) {
	t.Parallel()
	const tasks, offerers, workers = 800, 8, 12
	names := natstest.Names(t)
	got := &counted{of: map[string]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	var polling, offering sync.WaitGroup
	defer polling.Wait()
	defer cancel()
	for i := range 3 {
		g := runGateway(t, url(t), names, 0, 100*time.Millisecond)
		for k := range workers {
			random := rand.New(rand.NewPCG(uint64(i), uint64(k)))
			polling.Go(func() {
				for ctx.Err() == nil {
					g.pollBriefly(ctx, t, random, got)
				}
			})
		}
	}
	for i := range offerers {
		o := newOfferer(t, url(t), names)
		random := rand.New(rand.NewPCG(uint64(i), 1<<32))
		offering.Go(func() {
			for k := range tasks / offerers {
				o.offerOrWithdraw(t, random, fmt.Sprint(i, "-", k))
			}
		})
	}
	offering.Wait()
	natstest.Eventually(t, natstest.Patience, "all tasks are taken", func() bool { return got.len() == tasks })
	for task, n := range got.of {
		assert.Equal(t, 1, n, task)
	}
}

// pollBriefly polls for some milliseconds. Half of the workers just go away.
func (g *gateway) pollBriefly(ctx context.Context, t *testing.T, random *rand.Rand, got *counted) {
	wait := time.Duration(random.IntN(4000)) * time.Microsecond
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if random.IntN(2) == 0 {
		defer time.AfterFunc(wait, cancel).Stop()
	} else {
		var end context.CancelFunc
		ctx, end = context.WithTimeout(ctx, wait)
		defer end()
	}
	task, err := g.Wait(ctx, workflows, Poller{Identity: "w"})
	assert.NoError(t, err)
	if task != nil {
		got.add(string(task))
	}
}

// offerOrWithdraw hands a task to the first poll that it finds and does not let go again.
func (o *Offerer) offerOrWithdraw(t *testing.T, random *rand.Rand, task string) {
	for {
		patience := time.Duration(random.IntN(5)) * time.Millisecond
		found, err := o.Offer(context.WithoutCancel(t.Context()), workflows, patience)
		if err != nil {
			assert.ErrorIs(t, err, ErrNobody)
			continue
		}
		if random.IntN(4) > 0 {
			assert.NoError(t, o.Hand(t.Context(), found, []byte(task)))
			return
		}
		assert.NoError(t, o.Hand(t.Context(), found, nil))
	}
}

// counted counts tasks.
type counted struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counted) add(task string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[task]++
}

func (c *counted) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.of)
}
