package namespaces

import (
	"encoding/json"
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Default is the namespace that exists in every cluster.
const Default = "default"

// decode reads the value of a key. The records of earlier releases hold a name alone: they have no limits. With an error
// it returns a record that is nothing but the name.
func decode(key string, value []byte) (schedule.Namespace, error) {
	var record schedule.Namespace
	if err := json.Unmarshal(value, &record); err != nil {
		return schedule.Namespace{Name: subjects.NamespaceOfKey(key)}, fmt.Errorf("namespaces: the record %q cannot be read: %w", key, err)
	}
	record.Name = subjects.NamespaceOfKey(key) // the key decides, whatever somebody has written by hand
	return record, nil
}
