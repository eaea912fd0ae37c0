package consistency_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestAThousandSchedules finds nothing among many, and logs how long that takes: a second or two on two busy cores.
func TestAThousandSchedules(t *testing.T) {
	t.Parallel()
	s := newInstallation(t)
	var group errgroup.Group
	group.SetLimit(32)
	for i := range 1000 {
		group.Go(func() error {
			_, err := s.api.Create(t.Context(), schedule.CreateRequest{ID: fmt.Sprint(i), TriggerNow: true, Schedule: schedule.Schedule{
				Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}},
				Action: schedule.Action{Type: "record", TaskQueue: "q"},
			}})
			return err
		})
	}
	require.NoError(t, group.Wait())
	begin := time.Now()
	report, err := s.checker.Check(t.Context(), "", false)
	require.NoError(t, err)
	require.Empty(t, report.Findings)
	require.Equal(t, 1000, report.Schedules)
	t.Logf("1,000 schedules, each with a run: %s", time.Since(begin))
}
