package subjects

import (
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// The kinds of record.
const (
	KindDefinition = "definition"
	KindGenerator  = "generator"
	KindInvoker    = "invoker"
	KindResult     = "result"
	kindBackfill   = "backfill"
)

// StateKey is the KV key of one record of a schedule.
func StateKey(key schedule.Key, kind string) string {
	return key.Namespace + "." + Escape(key.ID) + "." + kind
}

// BackfillKey is the KV key of one backfill record.
func BackfillKey(key schedule.Key, id string) string { return StateKey(key, kindBackfill) + "." + id }

// BackfillKeys matches the KV keys of all backfill records of a schedule.
func BackfillKeys(key schedule.Key) string { return StateKey(key, kindBackfill) + ".*" }

// DefinitionKeys matches the KV keys of all definitions of a namespace.
func DefinitionKeys(namespace string) string { return namespace + ".*." + KindDefinition }

// ParseStateKey returns the schedule that a KV key belongs to.
func ParseStateKey(stateKey string) (schedule.Key, error) {
	tokens := strings.Split(stateKey, ".")
	if len(tokens) < 3 {
		return schedule.Key{}, fmt.Errorf("subjects: %q is not a state key", stateKey)
	}
	id, err := Unescape(tokens[1])
	if err != nil {
		return schedule.Key{}, err
	}
	return schedule.Key{Namespace: tokens[0], ID: id}, nil
}

// KeyZoneSweep is the KV key, in the cluster bucket, of the progress in bringing schedules to the rules of new time zone data.
const KeyZoneSweep = "zone-sweep"
