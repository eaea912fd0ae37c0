package listing

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// slowBuckets list keys when they are told to.
type slowBuckets struct {
	kv.Buckets
	begun chan struct{}
	reply chan []string
}

func (b *slowBuckets) Keys(ctx context.Context, _, _ string) ([]string, error) {
	b.begun <- struct{}{}
	select {
	case names := <-b.reply:
		if names == nil {
			return nil, errors.New("out of order")
		}
		return names, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listBench is KeyLists of slow buckets, and what those have been given who asked.
type listBench struct {
	*testing.T
	buckets *slowBuckets
	lists   *KeyLists
	mu      sync.Mutex
	replies map[string]int // how many got which list, or which error
}

// withSlowLists runs a test in a synctest bubble, where it can be told that all wait for a list who have asked for one.
func withSlowLists(t *testing.T, test func(b *listBench)) {
	synctest.Test(t, func(t *testing.T) {
		buckets := &slowBuckets{begun: make(chan struct{}), reply: make(chan []string)}
		lists := NewKeyLists(kv.NewStore(buckets, subjects.Default(), 1), kv.Schedules)
		test(&listBench{T: t, buckets: buckets, lists: lists, replies: map[string]int{}})
	})
}

// ask lets several ask for a list at once. The first ID of what they get is noted, or the error.
func (b *listBench) ask(ctx context.Context, several int) {
	for range several {
		go func() {
			keys, err := b.lists.Of(ctx, "default")
			b.mu.Lock()
			defer b.mu.Unlock()
			switch {
			case errors.Is(err, context.Canceled):
				b.replies["canceled"]++
			case err != nil:
				b.replies[err.Error()]++
			default:
				b.replies[keys[0].ID]++
			}
		}()
	}
	synctest.Wait()
}

func (b *listBench) reply(id string) {
	name := subjects.StateKey(schedule.Key{Namespace: "default", ID: id}, subjects.KindDefinition)
	b.buckets.reply <- []string{name}
	synctest.Wait()
}

// TestAListIsSharedByWhoCameBeforeIt, and never by who came while it was made: what such a one has created just before may
// not be in it.
func TestAListIsSharedByWhoCameBeforeIt(t *testing.T) {
	t.Parallel()
	withSlowLists(t, func(b *listBench) {
		b.ask(b.Context(), 1)
		<-b.buckets.begun
		b.ask(b.Context(), 20)
		b.reply("first")
		<-b.buckets.begun
		b.ask(b.Context(), 3)
		b.reply("second")
		<-b.buckets.begun
		b.reply("third")
		assert.Equal(b, map[string]int{"first": 1, "second": 20, "third": 3}, b.replies)
	})
}

// TestAListOutlivesWhoMadeIt: others who wait for it make another, and do not fail with somebody else's time.
func TestAListOutlivesWhoMadeIt(t *testing.T) {
	t.Parallel()
	withSlowLists(t, func(b *listBench) {
		ctx, cancel := context.WithCancel(b.Context())
		b.ask(b.Context(), 1)
		<-b.buckets.begun
		b.ask(ctx, 1) // makes the next
		b.ask(b.Context(), 5)
		cancel()
		synctest.Wait()
		b.reply("first")
		<-b.buckets.begun
		b.reply("second")
		assert.Equal(b, map[string]int{"first": 1, "canceled": 1, "second": 5}, b.replies)

		ctx, cancel = context.WithCancel(b.Context())
		b.ask(ctx, 1)
		<-b.buckets.begun
		cancel()
		synctest.Wait()
		assert.Equal(b, 2, b.replies["canceled"], "in the middle of it")
	})
}

func TestAListThatFails(t *testing.T) {
	t.Parallel()
	withSlowLists(t, func(b *listBench) {
		b.ask(b.Context(), 1)
		<-b.buckets.begun
		b.buckets.reply <- nil
		synctest.Wait()
		b.ask(b.Context(), 1)
		<-b.buckets.begun
		b.reply("next")
		assert.Equal(b, map[string]int{"kv: list default.*.definition: out of order": 1, "next": 1}, b.replies)
	})
}
