package frontend

import (
	"context"
	"errors"
	"sync"

	"github.com/carillon-scheduler/carillon/frontend/internal/limits"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// knownNamespaces finds the namespaces that requests are for.
type knownNamespaces struct {
	table   *namespaces.Table
	records *namespaces.Records
}

// isKnown reports whether the table has a namespace. One that has just been created it may miss.
func (n *knownNamespaces) isKnown(name string) bool {
	_, known := n.table.Get(name)
	return known
}

// find returns a namespace. What the table does not know is asked of the leader: a namespace is there as soon as its creation
// has been answered.
func (n *knownNamespaces) find(ctx context.Context, name string) (schedule.Namespace, error) {
	if record, known := n.table.Get(name); known {
		return record, nil
	}
	record, err := n.newest(ctx, name)
	return record.Namespace, err
}

// newest reads a namespace as it was last written.
func (n *knownNamespaces) newest(ctx context.Context, name string) (namespaces.Record, error) {
	// The name comes from a subject, where it may be any token.
	if schedule.ValidateNamespace(name) != nil {
		return namespaces.Record{}, errNoNamespace(name)
	}
	record, err := n.records.Get(ctx, name)
	if errors.Is(err, kv.ErrNotFound) {
		return record, errNoNamespace(name)
	}
	return record, err
}

// admit refuses a request that its namespace does not take. Requests about namespaces find out by themselves.
func (n *knownNamespaces) admit(ctx context.Context, e *endpoint, name string) error {
	if e.thing == subjects.ThingNamespace {
		return nil
	}
	record, err := n.find(ctx, name)
	if err != nil {
		return err
	}
	if record.Deleting && e.handle.access != accessRead {
		return errDeleting(name)
	}
	return nil
}

// admitRate refuses a request that comes faster than the limit of its namespace allows. Requests about namespaces do not count:
// whoever looks after a namespace must get through to it.
func (f *Frontend) admitRate(ctx context.Context, e *endpoint, name string) error {
	record, known := f.api.namespaces.table.Get(name)
	if !known || e.thing == subjects.ThingNamespace {
		return nil
	}
	if refused := f.api.limits.Admit(&record, f.config.Now()); refused != nil {
		metrics.NamespaceRefused.Add(ctx, 1, name, metrics.LimitRequests)
		return refused
	}
	metrics.NamespaceRequests.Add(ctx, 1, name)
	return nil
}

// countAtMost counts the schedules of a namespace and those deleted within the last hour.
func (a *api) countAtMost(ctx context.Context, namespace string) (int, error) {
	count := 0
	for shard := range a.store.Shards() {
		bucket := a.names.StateBucket(shard)
		here, err := a.bus.Subjects(ctx, subjects.BucketStream(bucket), subjects.BucketSubject(bucket, subjects.DefinitionKeys(namespace)))
		if err != nil {
			return 0, err
		}
		count += here
	}
	return count, nil
}

// takePlace takes a place for a schedule that is about to be created.
func (a *api) takePlace(ctx context.Context, key schedule.Key) error {
	if a.places == nil {
		return nil // in a simulation
	}
	record, err := a.namespaces.find(ctx, key.Namespace)
	if err != nil {
		return err
	}
	err = a.places.Take(ctx, key, maxSchedules(&record.Limits))
	if schedule.CodeOf(err) == schedule.CodeResourceExhausted {
		metrics.NamespaceRefused.Add(ctx, 1, key.Namespace, metrics.LimitSchedules)
	}
	return err
}

// startNamespaces keeps what is known of namespaces and of the other frontends, until ctx ends or the function that it returns is called.
func (f *Frontend) startNamespaces(ctx context.Context, id string) (stop func(), err error) {
	leave, err := f.api.limits.Join(ctx, limits.Frontend{
		ID: id, Conn: f.config.Conn, Subject: f.config.Names.FrontendBeat(), Exists: f.api.namespaces.isKnown, Logger: f.config.Logger,
		Now: f.config.Now,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { f.api.namespaces.table.Run(ctx) })
	return func() {
		cancel()
		running.Wait()
		leave()
	}, nil
}
