package topology

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// minAPILevel is the level of the JetStream API in MinVersion. Delayed messages are older, but only since this level may a
	// client remove one by a header of another message.
	minAPILevel = 4
	// MinVersion is the first version of NATS that can do what Carillon needs.
	MinVersion = "2.14"
)

// Ensure makes the cluster ready and returns its facts. Any number of processes may call it at once, and again at any time.
//
// A process whose settings or format do not fit the cluster is refused, with CodeFailedPrecondition. The number of shards is fixed, but the
// replicas follow the settings: buckets and streams are updated to the number that a process asks for, and stay as they are if it does not
// ask. If processes ask for different numbers, the last one to start prevails.
//
// Streams that were deleted are made again: their tasks can be made again from the records, and their history is lost already. A deleted
// bucket of records is not made again, because all processes would continue without its records. Ensure refuses, with
// CodeFailedPrecondition; [Recreate] makes it.
//
// An installation that is active at another site (docs/sites.md) is left alone: the error is [ErrElsewhere].
//
// If the cluster is still starting, Ensure waits for it until ctx ends. The error then has CodeUnavailable and says what it waited for.
func Ensure(ctx context.Context, js jetstream.JetStream, names subjects.Names, s Settings) (Facts, error) {
	if err := s.validate(); err != nil {
		return Facts{}, err
	}
	if err := Await(ctx, js); err != nil {
		return Facts{}, err
	}
	if err := checkSite(ctx, js, names); err != nil {
		return Facts{}, err
	}
	for {
		facts, err := agree(ctx, js, names, s)
		if err != nil {
			return Facts{}, err
		}
		if err := build(ctx, js, names, facts, s.Replicas != 0); err != nil {
			return Facts{}, err
		}
		// If the replicas were changed meanwhile, some of what was just built follows the old number.
		now, err := complete(ctx, js, names)
		if err != nil {
			return Facts{}, err
		}
		if now.Replicas == facts.Replicas {
			return now, nil
		}
	}
}

// Await waits until JetStream answers, and makes sure that the server can do what is needed. The error has CodeFailedPrecondition if it cannot, and
// CodeUnavailable if ctx ends before it answers.
func Await(ctx context.Context, js jetstream.JetStream) error {
	return retry(ctx, "JetStream to answer", func(ctx context.Context) error {
		conn := js.Conn()
		info, err := js.AccountInfo(ctx)
		enabled, _ := conn.ConnectedServerJetStream()
		switch {
		case errors.Is(err, jetstream.ErrJetStreamNotEnabled) && conn.IsConnected() && !enabled,
			errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount):
			return schedule.Errorf(schedule.CodeFailedPrecondition,
				"JetStream is not enabled on the NATS server at %s, or not for this account: "+
					"enable it (nats-server --jetstream), with version %s or later",
				conn.ConnectedUrlRedacted(), MinVersion)
		case err != nil:
			return err
		case info.API.Level < minAPILevel:
			return schedule.Errorf(schedule.CodeFailedPrecondition,
				"the NATS server at %s has version %s: version %s or later is needed, for delayed messages",
				conn.ConnectedUrlRedacted(), conn.ConnectedServerVersion(), MinVersion)
		}
		return nil
	})
}

// StreamFits reports whether a stream has everything that Carillon's promises depend on. What [Ensure] leaves to operators, and
// the replicas, do not count.
func StreamFits(have, want jetstream.StreamConfig) bool {
	return reflect.DeepEqual(have, fitStream(have, want))
}

// BucketFits reports the same for the stream of a bucket.
func BucketFits(have jetstream.StreamConfig, want jetstream.KeyValueConfig) bool {
	return have.SubjectDeleteMarkerTTL == want.LimitMarkerTTL && (have.AllowMsgTTL || want.LimitMarkerTTL == 0)
}

// ConsumerFits reports whether a consumer has everything that its pool relies on.
func ConsumerFits(have, want jetstream.ConsumerConfig) bool { return fits(have, want) }

// FactsKey is the key of the [Facts] in the cluster bucket.
const FactsKey = factsKey

// createDefaultNamespace creates the namespace that exists in every cluster, if it does not yet.
func createDefaultNamespace(ctx context.Context, cluster jetstream.KeyValue, facts Facts) error {
	record, err := json.Marshal(schedule.Namespace{Name: namespaces.Default, Version: 1, CreateTime: facts.Created})
	if err != nil {
		return err
	}
	if _, err := cluster.Create(ctx, subjects.NamespaceKey(namespaces.Default), record); !errors.Is(err, jetstream.ErrKeyExists) {
		return err
	}
	return nil
}
