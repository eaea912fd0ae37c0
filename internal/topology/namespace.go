package topology

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

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
