package invoker

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestWordsForReasons(t *testing.T) {
	t.Parallel()
	for reason, word := range map[string]string{
		(&schedule.Freeze{Reason: "maintenance"}).DropReason(): metrics.DropFrozen,
		reasonPaused:                             metrics.DropPaused,
		reasonOutOfActions:                       metrics.DropOutOfActions,
		reasonCanceled:                           metrics.DropCanceled,
		reasonTooMany:                            metrics.DropBufferFull,
		reasonBufferFull:                         metrics.DropBufferFull,
		reasonStartFailed + "timeout":            metrics.DropStartFailed,
		wire.GoneReason:                          metrics.DropGone,
		"workflow ID nightly is already running": metrics.DropRefused,
	} {
		assert.Equal(t, word, droppedBecause(reason), reason)
	}
	assert.Equal(t, metrics.MissedSuperseded, missedBecause(&schedule.Event{Reason: reasonSuperseded}))
	assert.Equal(t, metrics.MissedCatchup, missedBecause(&schedule.Event{Reason: "later than the catch-up window"}))
	assert.Equal(t, metrics.PolicyOnRequest, skippedBy(&schedule.Event{}))
	assert.Equal(t, "buffer_one", skippedBy(&schedule.Event{Overlap: schedule.OverlapBufferOne}))
}
