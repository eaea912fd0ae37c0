package namespaces

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// listReaders bounds how many records of a list are read at once.
const listReaders = 16

// Record is a stored namespace and the revision it was written at.
type Record struct {
	schedule.Namespace
	Revision uint64
}

// Opener returns the cluster bucket. It may be called as often as one likes, and at once.
type Opener func(context.Context) (*kv.Cluster, error)

// Records reads and writes the records of namespaces, each as it was last written. The errors are those of kv, and those of the
// opener. It is safe for concurrent use.
type Records struct{ open Opener }

// NewRecords returns the records in a cluster bucket.
func NewRecords(open Opener) *Records { return &Records{open: open} }

// Get reads a record. The error is kv.ErrNotFound where there is none.
func (r *Records) Get(ctx context.Context, name string) (Record, error) {
	cluster, err := r.open(ctx)
	if err != nil {
		return Record{}, err
	}
	entry, err := cluster.GetLeader(ctx, Key(name))
	if err != nil {
		return Record{}, err
	}
	record, err := decode(Key(name), entry.Data)
	return Record{Namespace: record, Revision: entry.Revision}, err
}

// Put writes a record that was last written at a revision; 0 means that there must be none. The error is kv.ErrConflict where
// that is not so.
func (r *Records) Put(ctx context.Context, record schedule.Namespace, revision uint64) error {
	cluster, err := r.open(ctx)
	if err != nil {
		return err
	}
	data, err := encode(record)
	if err != nil {
		return err
	}
	_, err = cluster.Put(ctx, Key(record.Name), data, revision)
	return err
}

// Delete removes a record that was last written at a revision, as Put writes one.
func (r *Records) Delete(ctx context.Context, name string, revision uint64) error {
	cluster, err := r.open(ctx)
	if err != nil {
		return err
	}
	return cluster.Delete(ctx, Key(name), revision)
}

// Names returns the names of all namespaces, in order.
func (r *Records) Names(ctx context.Context) ([]string, error) {
	cluster, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := cluster.Keys(ctx, all)
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		keys[i] = nameOf(key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// Read reads the records of some namespaces, in their order. Those that are gone are left out, and one that cannot be read is
// its name alone.
func (r *Records) Read(ctx context.Context, names []string) ([]schedule.Namespace, error) {
	cluster, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	found := make([]schedule.Namespace, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listReaders)
	for i, name := range names {
		group.Go(func() error {
			entry, err := cluster.GetLeader(ctx, Key(name))
			if errors.Is(err, kv.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			found[i], _ = decode(Key(name), entry.Data)
			return nil
		})
	}
	err = group.Wait()
	return slices.DeleteFunc(found, func(n schedule.Namespace) bool { return n.Name == "" }), err
}
