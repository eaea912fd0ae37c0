package archival

import (
	"context"
	"sync"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

// buckets are the open buckets, by their URLs. It is safe for concurrent use.
type buckets struct {
	open func(context.Context, string) (*archive.Bucket, error)

	mu  sync.Mutex
	all map[string]*archive.Bucket
}

func newBuckets(open func(context.Context, string) (*archive.Bucket, error)) *buckets {
	return &buckets{open: open, all: map[string]*archive.Bucket{}}
}

// of returns the bucket of a URL, and opens it at its first use.
func (b *buckets) of(ctx context.Context, address string) (*archive.Bucket, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known := b.all[address]; known != nil {
		return known, nil
	}
	opened, err := b.open(ctx, address)
	if err == nil {
		b.all[address] = opened
	}
	return opened, err
}

func (b *buckets) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range b.all {
		_ = one.Close() // everything has been written
	}
}
