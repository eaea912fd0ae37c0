package frontend

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// namespaces knows which namespaces exist. It remembers those that do, since no namespace ever goes; of one that does not
// it asks each time, since it may have come.
type namespaces struct {
	js     jetstream.JetStream
	bucket string
	known  sync.Map // name → struct{}
}

func newNamespaces(js jetstream.JetStream, names subjects.Names) *namespaces {
	return &namespaces{js: js, bucket: names.ClusterBucket()}
}

// check returns an error that names the namespace if it does not exist.
func (n *namespaces) check(ctx context.Context, name string) error {
	if _, ok := n.known.Load(name); ok {
		return nil
	}
	exists, err := n.lookUp(ctx, name)
	if err != nil {
		return err
	}
	if !exists {
		return errNoNamespace(name)
	}
	n.known.Store(name, struct{}{})
	return nil
}

func (n *namespaces) lookUp(ctx context.Context, name string) (bool, error) {
	// The name comes from a subject, where it may be any token.
	if schedule.ValidateNamespace(name) != nil {
		return false, nil
	}
	cluster, err := n.js.KeyValue(ctx, n.bucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return false, schedule.Errorf(schedule.CodeUnavailable, "the cluster has no bucket %s: it is not set up", n.bucket)
	}
	if err != nil {
		return false, fmt.Errorf("open bucket %s: %w", n.bucket, err)
	}
	return topology.NamespaceExists(ctx, cluster, name)
}
