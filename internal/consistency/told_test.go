package consistency

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// TestGivenUpActionsAreDueAfterTheirNominalTime: the end of a lost hand-off may lie between the nominal time of the next action and the
// time at which it was due.
func TestGivenUpActionsAreDueAfterTheirNominalTime(t *testing.T) {
	t.Parallel()
	d := wire.Definition{Namespace: "default", ID: "a", CreateTime: created, Schedule: schedule.Schedule{Spec: schedule.Spec{
		Intervals: []schedule.Interval{{Every: schedule.Duration(time.Minute)}}, Jitter: schedule.Duration(50 * time.Second),
	}}}
	spec, err := specproc.Compile(d.Schedule.Spec)
	require.NoError(t, err)
	first, found := spec.Next(created, d.JitterSeed())
	require.True(t, found)
	require.True(t, first.Actual.After(first.Nominal))

	replaced, invalid := d, d
	replaced.UpdateTime = created.Add(time.Second)
	invalid.Schedule.Spec.TimeZone = "Mars/Olympus"
	for name, test := range map[string]struct {
		definition wire.Definition
		nominal    time.Time
		after      time.Time
		want       bool
	}{
		"between the two":          {d, first.Nominal, first.Nominal, true},
		"just before it was due":   {d, first.Nominal, first.Actual.Add(-1), true},
		"when it was due":          {d, first.Nominal, first.Actual, false},
		"not by the spec":          {d, first.Nominal.Add(time.Second), first.Nominal, false},
		"the spec was replaced":    {replaced, first.Nominal, first.Nominal, false},
		"the spec is of no use":    {invalid, first.Nominal, first.Nominal, false},
		"later than the next time": {d, first.Nominal, first.Nominal.Add(time.Minute), false},
	} {
		require.Equal(t, test.want, dueAfter(&test.definition, test.nominal, test.after), name)
	}
}
