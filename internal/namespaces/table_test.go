package namespaces_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const patience = natstest.Patience

// cluster makes a cluster bucket on the shared server.
func cluster(t *testing.T) (jetstream.JetStream, subjects.Names, jetstream.KeyValue) {
	t.Helper()
	_, js := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	bucket, err := js.CreateKeyValue(t.Context(), names.BucketConfig(names.ClusterBucket(), 1))
	require.NoError(t, err)
	return js, names, bucket
}

// run runs a table until the end of the test.
func run(t *testing.T, js jetstream.JetStream, names subjects.Names) *namespaces.Table {
	t.Helper()
	table := namespaces.NewTable(js, names, natstest.Logger(t))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { table.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return table
}

func awaitReady(t *testing.T, table *namespaces.Table) {
	t.Helper()
	select {
	case <-table.Ready():
	case <-time.After(patience):
		t.Fatal("the table has not been filled")
	}
}

func put(t *testing.T, bucket jetstream.KeyValue, name, value string) {
	t.Helper()
	_, err := bucket.Put(t.Context(), subjects.NamespaceKey(name), []byte(value))
	require.NoError(t, err)
}

// awaitLimit waits until a table shows a namespace with a number of schedules.
func awaitLimit(t *testing.T, table *namespaces.Table, name string, limit int) {
	t.Helper()
	natstest.Eventually(t, patience, fmt.Sprintf("%s may have %d schedules", name, limit), func() bool {
		record, ok := table.Get(name)
		return ok && record.Limits.MaxSchedules == limit
	})
}

func awaitGone(t *testing.T, table *namespaces.Table, name string) {
	t.Helper()
	natstest.Eventually(t, patience, name+" is gone", func() bool {
		_, ok := table.Get(name)
		return !ok
	})
}

func TestTableFollowsTheRecords(t *testing.T) {
	t.Parallel()
	js, names, bucket := cluster(t)
	put(t, bucket, "old", `{"name":"old"}`)
	put(t, bucket, "gone", `{"name":"gone"}`)
	require.NoError(t, bucket.Delete(t.Context(), subjects.NamespaceKey("gone")))
	_, err := bucket.Put(t.Context(), "cluster", []byte(`{"shards":1}`))
	require.NoError(t, err)

	table := run(t, js, names)
	awaitReady(t, table)
	record, ok := table.Get("old")
	assert.True(t, ok)
	assert.Equal(t, schedule.Namespace{Name: "old"}, record, "it has no limits")
	for _, none := range []string{"gone", "cluster", ""} {
		_, ok = table.Get(none)
		assert.False(t, ok, none)
	}

	put(t, bucket, "new", `{"name":"new","limits":{"maxSchedules":5},"freeze":{"reason":"stocktaking","from":"2027-01-01T00:00:00Z"}}`)
	awaitLimit(t, table, "new", 5)
	record, _ = table.Get("new")
	assert.Equal(t, "stocktaking", record.Freeze.Reason)
	put(t, bucket, "new", `{"limits":{"maxSchedules":6}}`)
	awaitLimit(t, table, "new", 6)
	put(t, bucket, "new", `{"limits":`)
	put(t, bucket, "bad", `?`)
	natstest.Eventually(t, patience, "the last record is seen", func() bool {
		_, ok := table.Get("bad")
		return ok
	})
	awaitLimit(t, table, "new", 6)
	for _, name := range []string{"new", "bad"} {
		record, _ := table.Get(name)
		assert.True(t, record.Unreadable, "%s: perhaps it asks for an archive", name)
	}
	put(t, bucket, "bad", `{}`)
	natstest.Eventually(t, patience, "it can be read again", func() bool {
		record, _ := table.Get("bad")
		return !record.Unreadable
	})
	require.NoError(t, bucket.Purge(t.Context(), subjects.NamespaceKey("new")))
	awaitGone(t, table, "new")
}

// TestTableOfManyNamespaces has more namespaces than a watch hands over at once.
func TestTableOfManyNamespaces(t *testing.T) {
	t.Parallel()
	js, names, bucket := cluster(t)
	for i := range 600 {
		put(t, bucket, fmt.Sprint("n-", i), fmt.Sprintf(`{"limits":{"maxSchedules":%d}}`, i))
	}
	table := run(t, js, names)
	awaitReady(t, table)
	for i := range 600 {
		record, ok := table.Get(fmt.Sprint("n-", i))
		assert.True(t, ok)
		assert.Equal(t, i, record.Limits.MaxSchedules)
	}
}

// TestTableSurvivesTheServer: the bucket does not exist at first, and later the server dies and comes back with
// other records.
func TestTableSurvivesTheServer(t *testing.T) {
	t.Parallel()
	server := natstest.Cluster(t, 1)
	_, js := natstest.Connect(t, server.URLs())
	names := natstest.Names(t)
	table := run(t, js, names)
	bucket, err := js.CreateKeyValue(t.Context(), names.BucketConfig(names.ClusterBucket(), 1))
	require.NoError(t, err)
	put(t, bucket, "a", `{"limits":{"maxSchedules":1}}`)
	put(t, bucket, "b", `{"limits":{"maxSchedules":1}}`)
	put(t, bucket, "c", `{"limits":{"maxSchedules":3}}`)
	awaitLimit(t, table, "a", 1)
	awaitLimit(t, table, "b", 1)
	awaitLimit(t, table, "c", 3)
	put(t, bucket, "c", `{"limits":`)

	server.Kill(0)
	awaitLimit(t, table, "a", 1)
	server.Restart(0)
	natstest.Eventually(t, patience, "a is deleted", func() bool {
		return bucket.Delete(t.Context(), subjects.NamespaceKey("a")) == nil
	})
	put(t, bucket, "b", `{"limits":{"maxSchedules":2}}`)
	awaitGone(t, table, "a")
	awaitLimit(t, table, "b", 2)
	awaitLimit(t, table, "c", 3)
}

func TestNoTableAndFixedTable(t *testing.T) {
	t.Parallel()
	var none *namespaces.Table
	for _, source := range []namespaces.Source{none, namespaces.Fixed(nil), namespaces.Fixed{"b": {}}} {
		_, ok := source.Get("a")
		assert.False(t, ok)
	}
	assert.Empty(t, none.All())
	assert.Empty(t, namespaces.Fixed(nil).All())
	assert.Equal(t, []schedule.Namespace{{Name: "a"}}, namespaces.Fixed{"a": {Name: "a"}}.All())
	record, ok := namespaces.Fixed{"a": {Name: "a", Version: 3}}.Get("a")
	assert.True(t, ok)
	assert.Equal(t, uint64(3), record.Version)
}
