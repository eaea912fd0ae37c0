package topology

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/subjects"
)

// agree returns the facts of the cluster. It initialises the cluster with the settings if nobody has yet, and changes the
// replicas in the facts to the number that the settings ask for.
func agree(ctx context.Context, js jetstream.JetStream, names subjects.Names, s Settings) (facts Facts, err error) {
	err = retry(ctx, "the facts of the cluster", func(ctx context.Context) error {
		bucket, err := openCluster(ctx, js, names, s)
		if err != nil {
			return err
		}
		var revision uint64
		if facts, revision, err = readFacts(ctx, bucket, s); err != nil {
			return err
		}
		if err := facts.accept(s); err != nil {
			return err
		}
		if s.Replicas != 0 && s.Replicas != facts.Replicas {
			facts.Replicas = s.Replicas
			if err := changeFacts(ctx, js, bucket, facts, revision); err != nil {
				return err
			}
		}
		return createDefaultNamespace(ctx, bucket, facts)
	})
	return facts, err
}

// openCluster opens the cluster bucket, and creates it if there is none.
func openCluster(ctx context.Context, js jetstream.JetStream, names subjects.Names, s Settings) (jetstream.KeyValue, error) {
	bucket, err := js.KeyValue(ctx, names.ClusterBucket())
	if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return bucket, err
	}
	// The cluster bucket is the first that is made and the last in a backup. If it is missing beside a state bucket, it was
	// deleted.
	if _, err := js.KeyValue(ctx, names.StateBucket(0)); err == nil {
		if _, err := js.KeyValue(ctx, names.ClusterBucket()); err == nil {
			return nil, errAgain // another process has made both meanwhile
		}
		return nil, goneError(names, names.ClusterBucket())
	} else if !errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, err
	}
	replicas := s.initial().Replicas
	bucket, err = js.CreateKeyValue(ctx, names.BucketConfig(names.ClusterBucket(), replicas))
	if errors.Is(err, jetstream.ErrBucketExists) {
		return nil, errAgain // made by a process with other settings
	}
	return bucket, err
}

// readFacts returns the facts and their revision. If there are none it writes the first.
func readFacts(ctx context.Context, bucket jetstream.KeyValue, s Settings) (Facts, uint64, error) {
	entry, err := bucket.Get(ctx, factsKey)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return firstFacts(ctx, bucket, s)
	}
	if err != nil {
		return Facts{}, 0, err
	}
	facts, err := parseFacts(entry.Bucket(), entry.Value())
	return facts, entry.Revision(), err
}

func firstFacts(ctx context.Context, bucket jetstream.KeyValue, s Settings) (Facts, uint64, error) {
	info, err := streamInfo(ctx, bucket)
	if err != nil {
		return Facts{}, 0, err
	}
	facts := s.initial()
	facts.Created = info.Created // by the server's clock
	text, err := json.Marshal(facts)
	if err != nil {
		return Facts{}, 0, err
	}
	revision, err := bucket.Create(ctx, factsKey, text)
	if errors.Is(err, jetstream.ErrKeyExists) {
		return Facts{}, 0, errAgain
	}
	return facts, revision, err
}

// complete notes that all buckets exist.
func complete(ctx context.Context, js jetstream.JetStream, names subjects.Names) (facts Facts, err error) {
	err = retry(ctx, "the facts of the cluster", func(ctx context.Context) error {
		bucket, err := js.KeyValue(ctx, names.ClusterBucket())
		if err != nil {
			return err
		}
		var revision uint64
		if facts, revision, err = readFacts(ctx, bucket, Settings{}); err != nil || facts.Complete {
			return err
		}
		facts.Complete = true
		return writeFacts(ctx, bucket, facts, revision)
	})
	return facts, err
}

// writeFacts replaces the facts, unless another process already has.
func writeFacts(ctx context.Context, bucket jetstream.KeyValue, facts Facts, revision uint64) error {
	text, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	_, err = bucket.Update(ctx, factsKey, text, revision)
	if errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return errAgain
	}
	return err
}

// changeFacts writes facts with another number of replicas. The bucket gets its replicas first. So if the servers cannot hold that many,
// this shows before the facts demand it of every process.
func changeFacts(ctx context.Context, js jetstream.JetStream, bucket jetstream.KeyValue, facts Facts, revision uint64) error {
	info, err := streamInfo(ctx, bucket)
	if err != nil {
		return err
	}
	// On a single server, NATS 2.14.0 would accept several replicas and keep one.
	if facts.Replicas > 1 && (info.Cluster == nil || info.Cluster.Name == "") {
		return errNoCluster
	}
	if config := info.Config; config.Replicas != facts.Replicas {
		config.Replicas = facts.Replicas
		if _, err := js.UpdateStream(ctx, config); err != nil {
			return err
		}
	}
	return writeFacts(ctx, bucket, facts, revision)
}

// streamInfo returns what the server says about the stream of a bucket.
func streamInfo(ctx context.Context, bucket jetstream.KeyValue) (*jetstream.StreamInfo, error) {
	status, err := bucket.Status(ctx)
	if err != nil {
		return nil, err
	}
	return status.(*jetstream.KeyValueBucketStatus).StreamInfo(), nil
}
