package natstest

import (
	"fmt"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// KeyInEachShard returns a schedule of the default namespace for each of a number of shards, in their order.
func KeyInEachShard(shards int) []schedule.Key {
	keys := make([]schedule.Key, shards)
	for i, found := 0, 0; found < shards; i++ {
		key := schedule.Key{Namespace: "default", ID: fmt.Sprint("s", i)}
		if of := &keys[subjects.ShardOf(key, shards)]; *of == (schedule.Key{}) {
			*of = key
			found++
		}
	}
	return keys
}
