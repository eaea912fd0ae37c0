package client_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestBulk(t *testing.T) {
	t.Parallel()
	c := serve(t)
	ctx := t.Context()
	for _, id := range []string{"a", "b", "c"} {
		_, err := c.Create(ctx, hourly(id))
		require.NoError(t, err)
	}
	task := schedule.BulkTask{Operation: schedule.BulkPause, Selection: schedule.Selection{IDs: []string{"a", "b"}}}
	dry, err := c.StartBulk(ctx, schedule.StartBulkRequest{BulkTask: task, DryRun: true})
	require.NoError(t, err)
	assert.Equal(t, schedule.StartBulkReply{Count: 2, IDs: []string{"a", "b"}}, dry)

	for range 2 { // each has a request ID of its own
		started, err := c.StartBulk(ctx, schedule.StartBulkRequest{BulkTask: task})
		require.NoError(t, err)
		natstest.Eventually(t, natstest.Patience, "the operation is over", func() bool {
			now, err := c.DescribeBulk(ctx, started.JobID)
			return err == nil && now.Ended() && now.Done == 2
		})
		_, err = c.CancelBulk(ctx, started.JobID)
		assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	}
	described, err := c.Describe(ctx, "b")
	require.NoError(t, err)
	assert.True(t, described.State.Paused)

	count := 0
	for operation, err := range c.AllBulk(ctx) {
		require.NoError(t, err)
		assert.Equal(t, schedule.BulkDone, operation.Status)
		count++
	}
	assert.Equal(t, 2, count)
	page, err := c.ListBulk(ctx, schedule.ListBulkRequest{PageSize: 1})
	require.NoError(t, err)
	assert.Len(t, page.Operations, 1)
	assert.NotEmpty(t, page.NextPageToken)
	_, err = c.DescribeBulk(ctx, "none")
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeNotFound})
}
