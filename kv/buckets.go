package kv

import (
	"context"
)

// Entry is an encoded record and the revision it was written at.
type Entry struct {
	Data     []byte
	Revision uint64
}

// Buckets is where a store keeps its records: those of an installation on NATS ([Open]), or of a simulation. Each write
// is a compare-and-set. An implementation is safe for concurrent use, returns [ErrNotFound] and [ErrConflict] where they
// apply, wrapped or not, and for the rest errors after which a write may or may not have happened.
type Buckets interface {
	// Get reads an entry from any replica.
	Get(ctx context.Context, bucket, key string) (Entry, error)
	// GetLeader reads an entry from the leader.
	GetLeader(ctx context.Context, bucket, key string) (Entry, error)
	// Create writes a key that does not exist, or has been deleted.
	Create(ctx context.Context, bucket, key string, data []byte) (uint64, error)
	// Update writes a key that was last written at a revision; 0 means never, not even deleted.
	Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error)
	// Delete removes a key that was last written at a revision, and leaves a trace of it for subjects.TombstoneAge.
	Delete(ctx context.Context, bucket, key string, revision uint64) error
	// Keys lists the keys that match a filter, in any order.
	Keys(ctx context.Context, bucket, filter string) ([]string, error)
}
