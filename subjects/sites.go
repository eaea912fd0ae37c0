package subjects

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Two sites: an installation whose streams are mirrored to another NATS cluster.

// RoleReplication is the name of the role that keeps two sites together. It consumes no tasks.
const RoleReplication = "replication"

// KeySite is the key of the record of a site in the bucket of [Names.SiteBucket].
const KeySite = "site"

// SiteBucket holds what a site of the installation says of itself. It is never mirrored.
func (n Names) SiteBucket() string { return n.prefix + "-site" }

// Inner returns what matches the subjects of the installation, those of all buckets, and those by which NATS finds services. None of them may pass from one site to the other but inside mirrors.
func (n Names) Inner() []string { return []string{n.prefix + ".>", "$KV.>", "$O.>", "$SRV.>"} }

// Fenced is the only subject of a stream while its site hands over. The one message on it marks the end of the stream. The subject names the stream, since two streams may
// not have one subject.
func (n Names) Fenced(stream string) string { return n.prefix + ".fenced." + stream }

// IsFenced reports whether a stream takes nothing because its site hands over.
func (n Names) IsFenced(config jetstream.StreamConfig) bool {
	return slices.Equal(config.Subjects, []string{n.Fenced(config.Name)})
}

// MirroredStreams returns the streams that another site has mirrors of, those behind the buckets included: what everything else can be made from.
// The cluster bucket comes last: without it, nobody takes the rest for an installation.
func (n Names) MirroredStreams(shards int) []string {
	all := []string{n.EventStream(), n.DeadLetterStream(), n.WorkerDeadLetterStream(), n.ControlStream()}
	for shard := range shards {
		all = append(all, n.JournalStream(shard), BucketStream(n.StateBucket(shard)))
	}
	return append(all, BucketStream(n.ClusterBucket()))
}

// QueuedStreams returns those of the other streams whose messages are not only in records and journals: start requests and completions.
func (n Names) QueuedStreams(shards int) []string {
	all := []string{n.ActionStream()}
	for shard := range shards {
		all = append(all, n.CallbackStream(shard))
	}
	return all
}

// SubjectsOf returns the subjects that a stream of an installation has, also one behind a bucket. It is nil for another stream.
func (n Names) SubjectsOf(stream string, shards int) []string {
	for _, bucket := range n.Buckets(shards) {
		if stream == BucketStream(bucket) {
			return []string{BucketSubject(bucket, ">")}
		}
	}
	for _, config := range n.StreamConfigs(shards, 1) {
		if stream == config.Name {
			return config.Subjects
		}
	}
	return nil
}

// DivergedStream keeps what a site had stored and the other one did not have when that one took over. Each message has the subject of
// [Names.Diverged].
func (n Names) DivergedStream() string { return n.upper + "_DIVERGED" }

// Diverged is the subject of the copy of a message that a site had stored in a term, in a stream, with a sequence and under a subject:
// <prefix>.diverged.<stream>.<term>.<sequence>.<subject>.
func (n Names) Diverged(term uint64, stream string, sequence uint64, subject string) string {
	return n.diverged() + stream + "." + strconv.FormatUint(term, 10) + "." + strconv.FormatUint(sequence, 10) + "." + subject
}

func (n Names) diverged() string { return n.prefix + ".diverged." }

// DivergedFrom is what the subject of a diverged message says.
type DivergedFrom struct {
	// Term is the term in which the site has stored the message, Stream, Sequence and Subject where.
	Term     uint64 `json:"term"`
	Stream   string `json:"stream"`
	Sequence uint64 `json:"sequence"`
	Subject  string `json:"subject"`
}

// ParseDiverged takes apart a subject made by Diverged.
func (n Names) ParseDiverged(diverged string) (DivergedFrom, error) {
	rest, ok := strings.CutPrefix(diverged, n.diverged())
	tokens := strings.SplitN(rest, ".", 4)
	if !ok || len(tokens) != 4 || tokens[0] == "" || tokens[3] == "" {
		return DivergedFrom{}, fmt.Errorf("subjects: %q is not the subject of a diverged message", diverged)
	}
	term, err1 := strconv.ParseUint(tokens[1], 10, 64)
	sequence, err2 := strconv.ParseUint(tokens[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return DivergedFrom{}, fmt.Errorf("subjects: %q is not the subject of a diverged message: %w", diverged, err)
	}
	return DivergedFrom{Term: term, Stream: tokens[0], Sequence: sequence, Subject: tokens[3]}, nil
}

// DivergedConfig is the configuration of the stream of that name. It has no limits: only a person removes diverged messages.
func (n Names) DivergedConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.DivergedStream(), Description: "Carillon: what a site had beyond the one that took over",
		Subjects: []string{n.diverged() + ">"}, Retention: jetstream.LimitsPolicy, Storage: jetstream.FileStorage, Replicas: replicas,
		Duplicates: DuplicateWindow, AllowDirect: true,
	}
}
