package archival

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// hanging opens buckets of which one takes whatever it gets, and does not come back until it is let go: whether or not the context has ended.
type hanging struct {
	b     *bundle
	name  string
	let   chan struct{}
	tries atomic.Int64
}

func (h *hanging) open(ctx context.Context, address string) (*archive.Bucket, error) {
	opened, err := h.b.store.Open(ctx, address)
	if err != nil || !strings.HasSuffix(address, h.name) {
		return opened, err
	}
	return archive.New(opened.Bucket, func(string) error {
		h.tries.Add(1)
		<-h.let
		return nil
	}), nil
}

// TestAHangingBucket: the bucket of one namespace hangs. The other one is archived meanwhile, what hangs is told and not tried again while it has not come
// back; and then it is archived, too.
func TestAHangingBucket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	limits := schedule.NamespaceLimits{Archive: "jetstream://" + b.names.ArchiveBucket() + "-hangs"}
	h := &hanging{b: b, name: "-hangs", let: make(chan struct{})}
	let := sync.OnceFunc(func() { close(h.let) })
	t.Cleanup(let)
	other := "other"
	b.spaces[other] = schedule.Namespace{Name: other, Limits: limits}
	b.endIn(other, "stuck", "Order")
	b.run(func(config *Config) { config.open, config.writeLimit = h.open, 50*time.Millisecond })
	b.await("it hangs", func() bool { return h.tries.Load() > 0 })
	b.end("w", "Order")
	b.awaitArchived("w")
	b.await("it is told", func() bool {
		status := b.status()
		return len(status.Waiting) == 1 && status.Waiting[0].Namespace == other && strings.Contains(status.Waiting[0].Reason, "have not come back")
	})
	require.EqualValues(t, 1, h.tries.Load())
	var away *serviceerror.Unavailable
	require.ErrorAs(t, b.listOf(other), &away)
	let()
	b.await("all is well", func() bool { return len(b.status().Waiting) == 0 })
	require.NoError(t, b.listOf(other))
}

// TestBucketIsDeleted: a bucket that is deleted while it is open is made again, for writes and for requests. All that is still there is archived again,
// also if somebody else was the first to make the bucket, so that no write has failed.
func TestBucketIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.run()
	b.end("a", "Order")
	b.awaitArchived("a")
	b.removeBucket()
	b.end("b", "Order")
	b.await("both are there", func() bool { return b.entries() == 2 })
	b.removeBucket()
	b.await("it can be read again", func() bool { return b.listOf(space) == nil })
	b.await("both are there again", func() bool { return b.entries() == 2 })
	b.removeBucket()
	b.bucket()
	b.await("both are there again, though no write has failed", func() bool { return b.entries() == 2 })
	b.emptyBucket()
	b.await("both are there again, though the bucket is the same", func() bool { return b.entries() == 2 })
	b.awaitArchived("a", "b")
	require.ElementsMatch(t, []string{"a", "b"}, b.list("", 0))
}

// emptyBucket deletes all that is in the archive, its mark at last.
func (b *bundle) emptyBucket() {
	b.Helper()
	in := b.bucket()
	for object := range b.objects() {
		require.NoError(b, in.Delete(b.Context(), object))
	}
	require.NoError(b, in.Delete(b.Context(), ".carillon-archive"))
}

// entries returns how many executions the archive lists; none if it cannot be read.
func (b *bundle) entries() int {
	response := &workflowservice.ListArchivedWorkflowExecutionsResponse{}
	if b.askArchive(subjects.VerbListArchived, &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: space}, response) != nil {
		return 0
	}
	return len(response.Executions)
}

// removeBucket deletes the archive, with all that is in it.
func (b *bundle) removeBucket() {
	b.Helper()
	require.NoError(b, b.js.DeleteObjectStore(b.Context(), b.names.ArchiveBucket()))
	require.NoError(b, b.js.DeleteKeyValue(b.Context(), b.names.ArchiveBucket()+"-names"))
}

// TestNothingIsSafeInANewBucket: what was archived counts as safe no longer when the bucket is another one, even if that one takes nothing. What was
// left behind stays so.
func TestNothingIsSafeInANewBucket(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bundle){
		"made anew": (*bundle).removeBucket,
		"emptied":   (*bundle).emptyBucket,
		"that of another site": func(b *bundle) {
			require.NoError(b, b.bucket().WriteAll(b.Context(), ".carillon-archive", []byte("another"), nil))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.end("bad", "Order")
			b.end("good", "Order")
			of := &unreadable{Source: b.client, id: "bad"}
			stop := b.run(func(config *Config) { config.Source = of })
			b.awaitArchived("good")
			b.await("the run is left behind", func() bool { return b.status().Left == 1 })
			stop()
			change(b)
			var full atomic.Bool
			full.Store(true)
			b.run(func(config *Config) { config.Source, config.open = of, b.fullWhile(&full) })
			_, _, ends := b.journal("bad")
			b.await("it is not safe", func() bool {
				return b.progress()[subjects.ShardOf(schedule.Key{Namespace: space, ID: "good"}, b.shards)].Through == 0
			})
			require.True(t, b.waits("bad", ends[len(ends)-1]))
			full.Store(false)
			b.awaitArchived("good")
			require.Equal(t, []string{"good"}, b.list("", 0))
			b.await("the run is left behind once", func() bool { return b.status().Left == 1 })
			of.repairs.Store(true)
			b.awaitArchived("good", "bad")
			require.ElementsMatch(t, []string{"good", "bad"}, b.list("", 0))
		})
	}
}

// fullWhile opens buckets that take nothing while a condition holds.
func (b *bundle) fullWhile(full *atomic.Bool) func(context.Context, string) (*archive.Bucket, error) {
	return func(ctx context.Context, address string) (*archive.Bucket, error) {
		opened, err := b.store.Open(ctx, address)
		if err != nil {
			return nil, err
		}
		return archive.New(opened.Bucket, func(string) error {
			if full.Load() {
				return errors.New("the disk is full")
			}
			return nil
		}), nil
	}
}

// TestBucketsAreClosedOnce: a bucket that was forgotten is open as long as somebody uses it, and the next use opens another one.
func TestBucketsAreClosedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var opened atomic.Int64
	all := newBuckets(func(ctx context.Context, address string) (*archive.Bucket, error) {
		if opened.Add(1) == 1 {
			return nil, errors.New("not yet")
		}
		return b.store.Open(ctx, address)
	})
	_, err := all.use(t.Context(), "jetstream://")
	require.ErrorContains(t, err, "not yet")
	first, err := all.use(t.Context(), "jetstream://")
	require.NoError(t, err)
	again, err := all.use(t.Context(), "jetstream://")
	require.NoError(t, err)
	require.Same(t, first, again)
	first.forget()
	first.release()
	_, err = again.Days(t.Context(), space)
	require.NoError(t, err, "somebody uses it")
	second, err := all.use(t.Context(), "jetstream://")
	require.NoError(t, err)
	require.NotSame(t, first, second)
	again.release()
	_, err = again.Days(t.Context(), space)
	require.ErrorContains(t, err, "closed")
	second.release()
	all.close()
	_, err = second.Days(t.Context(), space)
	require.ErrorContains(t, err, "closed")
	require.EqualValues(t, 3, opened.Load())

	silent := newBuckets(func(ctx context.Context, _ string) (*archive.Bucket, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	silent.limit = time.Millisecond
	_, err = silent.use(t.Context(), "jetstream://")
	require.Error(t, err)
}
