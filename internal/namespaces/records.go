package namespaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// listReaders bounds how many records of a list are read at once.
const listReaders = 16

// Record is a stored namespace and its revision.
type Record struct {
	schedule.Namespace
	Revision uint64
}

// Records reads and writes the last written records of namespaces. Its errors are those of kv. It is safe for concurrent use.
type Records struct{ cluster *kv.Cluster }

// NewRecords returns the records in a cluster bucket.
func NewRecords(cluster *kv.Cluster) *Records { return &Records{cluster: cluster} }

// Get reads a record. The error is kv.ErrNotFound if there is none. With kv.ErrCorrupt it returns a record that is marked as one that cannot be read.
func (r *Records) Get(ctx context.Context, name string) (Record, error) {
	record, err := kv.GetJSON[schedule.Namespace](ctx, r.cluster, subjects.NamespaceKey(name))
	record.Value.Name = name // the key decides, whatever the record says
	record.Value.Unreadable = errors.Is(err, kv.ErrCorrupt)
	return Record{Namespace: record.Value, Revision: record.Revision}, err
}

// Put writes a record that was last written at a revision; 0 means that there must be none. The error is kv.ErrConflict if the
// stored revision differs.
func (r *Records) Put(ctx context.Context, record schedule.Namespace, revision uint64) error {
	_, err := kv.PutJSON(ctx, r.cluster, subjects.NamespaceKey(record.Name), &record, revision)
	return err
}

// Delete removes a record that was last written at a revision. Its errors are those of Put.
func (r *Records) Delete(ctx context.Context, name string, revision uint64) error {
	return r.cluster.Delete(ctx, subjects.NamespaceKey(name), revision)
}

// Names returns the names of all namespaces, in order.
func (r *Records) Names(ctx context.Context) ([]string, error) {
	keys, err := r.cluster.Keys(ctx, subjects.NamespaceKeys())
	if err != nil {
		return nil, err
	}
	for i, key := range keys {
		keys[i] = subjects.NamespaceOfKey(key)
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// Read reads the records of some namespaces, in their order. Missing ones are left out. Of one that cannot be read it returns
// only the name, and marks it.
func (r *Records) Read(ctx context.Context, names []string) ([]schedule.Namespace, error) {
	found := make([]schedule.Namespace, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(listReaders)
	for i, name := range names {
		group.Go(func() error {
			record, err := r.Get(ctx, name)
			switch {
			case errors.Is(err, kv.ErrNotFound):
				return nil
			case err != nil && !errors.Is(err, kv.ErrCorrupt):
				return err
			}
			found[i] = record.Namespace
			return nil
		})
	}
	err := group.Wait()
	return slices.DeleteFunc(found, func(n schedule.Namespace) bool { return n.Name == "" }), err
}

// Default is the namespace that exists in every cluster.
const Default = "default"

// decode reads the value of a key. Records of earlier releases have only a name, and so no limits. With an error it returns a
// record that has only the name, and is marked as one that cannot be read.
func decode(key string, value []byte) (schedule.Namespace, error) {
	var record schedule.Namespace
	if err := json.Unmarshal(value, &record); err != nil {
		return schedule.Namespace{Name: subjects.NamespaceOfKey(key), Unreadable: true}, fmt.Errorf("namespaces: the record %q cannot be read: %w", key, err)
	}
	record.Name = subjects.NamespaceOfKey(key) // the key decides, whatever the record says
	return record, nil
}
