package topology

import (
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// FormatVersion is the version of what is stored: keys, records and messages. It changes only if programs of the old and the
	// new version could not work side by side.
	FormatVersion = 1
	// DefaultShards and DefaultReplicas initialise a cluster if the settings do not say.
	DefaultShards   = 4
	DefaultReplicas = 1
	// MaxShards bounds the shards of a cluster. Each is a bucket, two streams and four consumers.
	MaxShards = 256

	factsKey = "cluster"
)

// Settings are what a process was told about the cluster. A field that is 0 accepts what the cluster has.
type Settings struct {
	// Shards is the number of slices the schedules are divided into. It is fixed when a cluster is initialised.
	Shards int
	// Replicas is how many NATS servers keep each message and record: 1, 3 or 5. It can be changed at any time by starting a
	// process that asks for another number.
	Replicas int
}

func (s Settings) validate() error {
	if s.Shards < 0 || s.Shards > MaxShards {
		return schedule.Invalid("shards", "%d must be 1 to %d, or 0 for the number the cluster has", s.Shards, MaxShards)
	}
	if !slices.Contains([]int{0, 1, 3, 5}, s.Replicas) {
		return schedule.Invalid("replicas", "%d must be 1, 3 or 5, or 0 for the number the cluster has", s.Replicas)
	}
	return nil
}

// initial returns the facts of a cluster that is initialised with these settings.
func (s Settings) initial() Facts {
	f := Facts{FormatVersion: FormatVersion, Shards: s.Shards, Replicas: s.Replicas}
	if f.Shards == 0 {
		f.Shards = DefaultShards
	}
	if f.Replicas == 0 {
		f.Replicas = DefaultReplicas
	}
	return f
}

// Facts are what all processes of a cluster agree on. They are stored as JSON in the cluster bucket, under the key "cluster".
type Facts struct {
	FormatVersion int       `json:"formatVersion"`
	Shards        int       `json:"shards"`
	Replicas      int       `json:"replicas"`
	Created       time.Time `json:"created"`
	// Complete means that all buckets existed once: a missing one was deleted, with its contents.
	Complete bool `json:"complete,omitempty"`
}

// ShardOf returns the shard of a schedule.
func (f Facts) ShardOf(key schedule.Key) int { return subjects.ShardOf(key, f.Shards) }

// accept refuses settings, or a program, that do not fit the facts.
func (f Facts) accept(s Settings) error {
	if f.FormatVersion != FormatVersion {
		return schedule.Errorf(schedule.CodeFailedPrecondition,
			"the cluster stores format version %d, and this program version %d: run a program that knows version %[1]d",
			f.FormatVersion, FormatVersion)
	}
	if s.Shards != 0 && s.Shards != f.Shards {
		return schedule.Errorf(schedule.CodeFailedPrecondition,
			"the cluster was initialised with %d shards, and this process was told %d: the number is fixed; "+
				"leave the setting out, or initialise another cluster under another prefix", f.Shards, s.Shards)
	}
	return nil
}
