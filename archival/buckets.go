package archival

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

const (
	// openLimit bounds how long it may take to open a bucket.
	openLimit = 30 * time.Second
	// lastWord is for how long something whose time is over may still end by itself.
	lastWord = time.Second
	// readsAtOnce is how many requests are answered at once from one bucket.
	readsAtOnce = concurrency / 2
)

// errSilent: a bucket does not answer in time.
var errSilent = errors.New("archival: the bucket does not answer in time")

// buckets are the open buckets, by their URLs. It is safe for concurrent use. A bucket that hangs keeps no others waiting: whatever is asked of a bucket has a
// time limit, and as long as something has not come back whose time was over, nothing more is asked of that bucket.
type buckets struct {
	open  func(context.Context, string) (*archive.Bucket, error)
	limit time.Duration // for opening one

	mu  sync.Mutex
	all map[string]*bucket
	// hung is how much has not come back of each bucket whose time was over.
	hung map[string]int
}

// bucket is a bucket that is open, or is being opened. Whoever uses it releases it.
type bucket struct {
	*archive.Bucket
	of      *buckets
	address string
	// opened is closed when it is open, or cannot be opened because of err.
	opened chan struct{}
	err    error
	// held bounds how many bytes of histories are in memory on their way to this bucket, and reads how many requests are answered from it.
	held  *semaphore.Weighted
	reads chan struct{}

	users int  // guarded by of.mu
	stale bool // guarded by of.mu
}

func newBuckets(open func(context.Context, string) (*archive.Bucket, error)) *buckets {
	return &buckets{open: open, limit: openLimit, all: map[string]*bucket{}, hung: map[string]int{}}
}

// use returns the bucket of a URL, and opens it at its first use.
func (b *buckets) use(ctx context.Context, address string) (*bucket, error) {
	one, err := b.get(ctx, address)
	if err != nil {
		return nil, err
	}
	limit := time.NewTimer(b.limit)
	defer limit.Stop()
	select {
	case <-one.opened:
		err = one.err
	case <-limit.C:
		err = fmt.Errorf("%w: it is not open after %s", errSilent, b.limit)
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		one.release()
		return nil, err
	}
	return one, nil
}

// get returns a bucket that may not be open yet.
func (b *buckets) get(ctx context.Context, address string) (*bucket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := b.hung[address]; n > 0 {
		return nil, fmt.Errorf("%w: %d requests have not come back", errSilent, n)
	}
	one := b.all[address]
	if one == nil {
		one = &bucket{
			of: b, address: address, opened: make(chan struct{}),
			held: semaphore.NewWeighted(maxHeldOfOne), reads: make(chan struct{}, readsAtOnce),
		}
		b.all[address] = one
		go one.begin(context.WithoutCancel(ctx))
	}
	one.users++
	return one, nil
}

// begin opens the bucket. If that fails, the next use tries again.
func (o *bucket) begin(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, o.of.limit)
	defer cancel()
	if o.Bucket, o.err = o.of.open(ctx, o.address); o.err != nil {
		o.forget()
	}
	close(o.opened)
}

// forget lets the next use open the bucket again: whatever has failed, perhaps it was removed and made anew.
func (o *bucket) forget() {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	if o.stale = true; o.of.all[o.address] == o {
		delete(o.of.all, o.address)
	}
}

// release ends a use. The last one closes a bucket that was forgotten.
func (o *bucket) release() {
	o.of.mu.Lock()
	o.users--
	last := o.users == 0 && o.stale
	o.of.mu.Unlock()
	if !last {
		return
	}
	select {
	case <-o.opened:
		if o.Bucket != nil {
			_ = o.Bucket.Close() // everything has been written
		}
	default: // it hangs
	}
}

// within does something with the bucket, which must not take longer than a limit. What does not come back after that is left alone.
func (o *bucket) within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err, back := o.run(limited, do)
	if limited.Err() != nil && ctx.Err() == nil && (err != nil || !back) {
		return fmt.Errorf("%w: within %s", errSilent, limit)
	}
	if !back {
		return ctx.Err()
	}
	return err
}

// run does something with the bucket, and reports whether it has come back a little after the end of ctx. What has not counts until it does.
func (o *bucket) run(ctx context.Context, do func(context.Context) error) (err error, back bool) { //nolint:revive,staticcheck // as of await
	locked := func(change func()) {
		o.of.mu.Lock()
		defer o.of.mu.Unlock()
		change()
	}
	locked(func() { o.users++ })
	done, left := make(chan error, 1), 0
	go func() {
		defer o.release()
		done <- do(ctx)
		locked(func() { o.of.hung[o.address] -= left })
	}()
	err, back = await(ctx, done)
	locked(func() {
		if !back && len(done) == 0 {
			left = 1
			o.of.hung[o.address]++
		}
	})
	return err, back
}

// await waits for a result, and a little longer than ctx. It reports whether it has come.
func await(ctx context.Context, done <-chan error) (err error, back bool) { //nolint:revive,staticcheck // the error is the result that is waited for
	select {
	case err = <-done:
		return err, true
	case <-ctx.Done():
	}
	grace := time.NewTimer(lastWord)
	defer grace.Stop()
	select {
	case err = <-done:
		return err, true
	case <-grace.C:
		return nil, false
	}
}

// close closes the buckets that nobody uses. The others are closed when they are released.
func (b *buckets) close() {
	b.mu.Lock()
	all := make([]*bucket, 0, len(b.all))
	for _, one := range b.all {
		one.users++
		all = append(all, one)
	}
	b.mu.Unlock()
	for _, one := range all {
		one.forget()
		one.release()
	}
}
