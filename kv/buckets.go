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

// Matching is what one replica has of some keys at one moment.
type Matching struct {
	// Entries are those that are there, in any order.
	Entries []NamedEntry
	// Rest says that there are more than one answer holds. Then the entries are some of them, or none.
	Rest bool
	// UpTo is the revision up to which the replica knows the bucket: of what was written up to there nothing is missing. It is 0 where the
	// replica does not tell, as where it has none of the keys, not even the trace of one.
	UpTo uint64
}

// Buckets is where a store keeps its records: those of an installation on NATS ([Open]), or of a simulation. Each write
// is a compare-and-set. An implementation is safe for concurrent use, returns [ErrNotFound] and [ErrConflict] where they
// apply, wrapped or not, and for the rest errors after which a write may or may not have happened.
type Buckets interface {
	// Get reads an entry from any replica.
	Get(ctx context.Context, bucket, key string) (Entry, error)
	// GetMatching reads all entries whose keys match one of the filters from any replica.
	GetMatching(ctx context.Context, bucket string, filters []string) (Matching, error)
	// Newest returns the revision of the newest write to a bucket that its leader knows; 0 where no replica can be behind, since there is
	// one only.
	Newest(ctx context.Context, bucket string) (uint64, error)
	// GetLeader reads an entry from the leader.
	GetLeader(ctx context.Context, bucket, key string) (Entry, error)
	// Create writes a key that does not exist, or has been deleted.
	Create(ctx context.Context, bucket, key string, data []byte) (uint64, error)
	// Update writes a key that was last written at a revision; 0 means never, not even deleted.
	Update(ctx context.Context, bucket, key string, data []byte, revision uint64) (uint64, error)
	// Delete removes a key that was last written at a revision, and leaves a trace of it for subjects.TombstoneAge, with a
	// note, which may be empty. Revision 0 means never, not even deleted; then there is only the trace.
	Delete(ctx context.Context, bucket, key string, revision uint64, note Note) error
	// Trace reads the trace of a deleted key from the leader: its note, and the revision at which it was deleted. Revision 0
	// means that there is no trace, or that the key exists.
	Trace(ctx context.Context, bucket, key string) (note Note, revision uint64, err error)
	// Names lists, in any order, the keys that match a filter and have an entry or the trace of one. It costs a fraction of
	// Keys. Where there are more than one answer holds, rest is true, and there are none.
	Names(ctx context.Context, bucket, filter string) (names []string, rest bool, err error)
	// Keys lists the keys that match a filter, in any order.
	Keys(ctx context.Context, bucket, filter string) ([]string, error)
}
