package topology_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestADeletedBucketIsNotMadeAnew: a process that starts must not go on without the records of the bucket. Making it again takes
// a request.
func TestADeletedBucketIsNotMadeAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	facts := b.ensure(t, topology.Settings{Shards: 2})
	require.True(t, facts.Complete)
	bucket := b.names.StateBucket(1)
	require.NoError(t, b.js.DeleteKeyValue(t.Context(), bucket))

	err := b.fail(t, topology.Settings{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "the bucket "+bucket+" is gone")
	require.ErrorContains(t, err, "restore a backup, or begin anew without them: carillon cluster recreate "+bucket)

	require.NoError(t, topology.Recreate(t.Context(), b.js, b.names, facts, []string{bucket}))
	b.ensure(t, topology.Settings{})
	b.requireComplete(t, facts)
}

// TestTheDeletedBucketOfTheCluster: what is left is not mistaken for a new installation, which might have another number of
// shards.
func TestTheDeletedBucketOfTheCluster(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.ensure(t, topology.Settings{Shards: 2})
	require.NoError(t, b.js.DeleteKeyValue(t.Context(), b.names.ClusterBucket()))
	err := b.fail(t, topology.Settings{})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "the bucket "+b.names.ClusterBucket()+" is gone")
}

// TestRecreateRefusesOtherNames: it does so before it makes anything.
func TestRecreateRefusesOtherNames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	facts := b.ensure(t, topology.Settings{Shards: 1})
	require.NoError(t, b.js.DeleteStream(t.Context(), b.names.EventStream()))
	err := topology.Recreate(t.Context(), b.js, b.names, facts, []string{b.names.EventStream(), "other"})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument})
	require.ErrorContains(t, err, `"other" is not a stream or bucket that can be made anew: use `+b.names.StateBucket(0))
	_, err = b.js.Stream(t.Context(), b.names.EventStream())
	require.Error(t, err)
}
