package subjects

import (
	"hash/fnv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// DefaultPrefix is the prefix of an installation that does not choose another.
const DefaultPrefix = "carillon"

// Names builds and parses the names of one installation. The zero Names is not usable. A Names is immutable and safe for
// concurrent use.
type Names struct {
	prefix string // for subjects and buckets
	upper  string // for streams
}

// New returns the names under a prefix of 1 to 32 lower-case letters, digits and '-'.
func New(prefix string) (Names, error) {
	if prefix == "" || len(prefix) > 32 {
		return Names{}, schedule.Invalid("prefix", "%q must be 1 to 32 of a-z, 0-9 and '-'", prefix)
	}
	for _, c := range prefix {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return Names{}, schedule.Invalid("prefix", "%q must be 1 to 32 of a-z, 0-9 and '-'", prefix)
		}
	}
	return Names{prefix: prefix, upper: strings.ToUpper(prefix)}, nil
}

// Default returns the names under [DefaultPrefix].
func Default() Names { return Names{prefix: DefaultPrefix, upper: strings.ToUpper(DefaultPrefix)} }

// Prefix returns the prefix.
func (n Names) Prefix() string { return n.prefix }

// ShardOf returns the shard of a schedule, in [0, shards): a stable hash of namespace and ID. It may never change, because
// records and messages are stored in the shard it names.
func ShardOf(key schedule.Key, shards int) int {
	return int(mix(hashOf(key.Namespace, key.ID)) % uint64(shards))
}

// Rank says how far ahead a process is among those that may own an execution: the highest rank is the first. Processes have different names, and
// each comes first for about as many executions as any other. The rank may change with a release.
func Rank(process string, key schedule.Key) uint64 {
	return mix(hashOf(process, "") ^ hashOf(key.Namespace, key.ID))
}

func hashOf(first, second string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(first))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(second))
	return h.Sum64()
}

// mix spreads the high bits of the FNV hash, because the shard is taken from the low ones.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Task subjects, one for each thing to do: a second message for the same thing replaces the first.
