package namespaces

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Default is the namespace that exists in every cluster.
const Default = "default"

// keyPrefix is what the keys of namespaces begin with, and all matches them.
const (
	keyPrefix = "namespace."
	all       = keyPrefix + ">"
)

// Key is the key of a namespace in the cluster bucket.
func Key(name string) string { return keyPrefix + name }

// nameOf is the name that a key stands for.
func nameOf(key string) string { return strings.TrimPrefix(key, keyPrefix) }

// decode reads the value of a key. The records of earlier releases hold a name alone: they have no limits. With an error
// it returns a record that is nothing but the name.
func decode(key string, value []byte) (schedule.Namespace, error) {
	var record schedule.Namespace
	if err := json.Unmarshal(value, &record); err != nil {
		return schedule.Namespace{Name: nameOf(key)}, fmt.Errorf("namespaces: the record %q cannot be read: %w", key, err)
	}
	record.Name = nameOf(key) // the key decides, whatever somebody has written by hand
	return record, nil
}
