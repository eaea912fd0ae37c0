package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// DefaultNamespace exists in every cluster.
const DefaultNamespace = "default"

// Namespace is the record of a namespace. It is stored as JSON under the key "namespace.<name>" of the cluster bucket.
type Namespace struct {
	Name string `json:"name"`
}

// NamespaceKey is the key of a namespace in the cluster bucket.
func NamespaceKey(name string) string { return "namespace." + name }

// NamespaceExists looks a namespace up in the cluster bucket.
func NamespaceExists(ctx context.Context, cluster jetstream.KeyValue, name string) (bool, error) {
	_, err := cluster.Get(ctx, NamespaceKey(name))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrInvalidKey):
		return false, nil
	}
	return false, fmt.Errorf("topology: look up namespace %q: %w", name, err)
}

// createNamespace creates the record of a namespace, if there is none.
func createNamespace(ctx context.Context, cluster jetstream.KeyValue, name string) error {
	record, err := json.Marshal(Namespace{Name: name})
	if err != nil {
		return err
	}
	if _, err := cluster.Create(ctx, NamespaceKey(name), record); !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	return nil
}
