package kv

import (
	"context"
)

// Entry is an encoded record and the revision it was written at.
type Entry struct {
	Data     []byte
	Revision uint64
}

// NamedEntry is an entry and its key.
type NamedEntry struct {
	Key string
	Entry
}

// Matching holds the entries that one replica has for some keys at one moment.
type Matching struct {
	// Entries are the existing entries, in any order.
	Entries []NamedEntry
	// Rest says that there are more entries than one answer holds. Then Entries has some of them or none.
	Rest bool
	// UpTo is the revision up to which the replica knows the bucket: no write up to that revision is missing. It is 0 if the replica does
	// not tell, as when it has none of the keys, not even a trace.
	UpTo uint64
}

// Buckets is the storage of a store: the buckets of an installation on NATS ([Open]), or of a simulation. Each write is a compare-and-set.
// An implementation is safe for concurrent use. It returns [ErrNotFound] and [ErrConflict] where they apply, wrapped or not. After any
// other error a write may or may not have happened.
type Buckets interface {
	// Get reads an entry from any replica.
	Get(ctx context.Context, bucket, key string) (Entry, error)
	// GetMatching reads all entries whose keys match one of the filters from any replica.
	GetMatching(ctx context.Context, bucket string, filters []string) (Matching, error)
	// Newest returns the revision of the newest write to a bucket that its leader knows. It returns 0 if there is only one replica, which
	// cannot be behind.
	Newest(ctx context.Context, bucket string) (uint64, error)
	// GetLeader reads an entry from the leader.
	GetLeader(ctx context.Context, bucket, key string) (Entry, error)
	// Create writes a key that does not exist or was deleted.
	Create(ctx context.Context, bucket, key string, data []byte) (uint64, error)
	// Update writes a key that was last written at a revision. Revision 0 means that it was never written, not even deleted.
	Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error)
	// Delete removes a key that was last written at a revision. It leaves a trace for subjects.TombstoneAge, with a note that may be
	// empty. Revision 0 means that the key was never written, not even deleted; then Delete only leaves the trace.
	Delete(ctx context.Context, bucket, key string, revision uint64, note Note) error
	// Trace reads the trace of a deleted key from the leader: its note and the revision of the deletion. Revision 0 means that there is
	// no trace, or that the key exists.
	Trace(ctx context.Context, bucket, key string) (note Note, revision uint64, err error)
	// Names lists, in any order, the keys that match a filter and have an entry or a trace. It costs a fraction of Keys. If there are
	// more keys than one answer holds, rest is true and names is empty.
	Names(ctx context.Context, bucket, filter string) (names []string, rest bool, err error)
	// Keys lists the keys that match a filter, in any order.
	Keys(ctx context.Context, bucket, filter string) ([]string, error)
}
