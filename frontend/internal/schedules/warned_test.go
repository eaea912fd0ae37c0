package schedules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// TestWarningsAreKeptUntilATimePasses: this holds as long as the generator's record is of the same version.
func TestWarningsAreKeptUntilATimePasses(t *testing.T) {
	t.Parallel()
	next := noon.Add(time.Minute)
	def := &wire.Definition{Incarnation: "i1", Version: 2, Schedule: schedule.Schedule{Spec: schedule.Spec{At: []time.Time{next}}}}
	generator := &wire.GeneratorState{Incarnation: "i1", Version: 2, Next: next}
	w := newWarned()
	require.Empty(t, w.about(def, generator, noon))
	// Another spec under the same version, which never happens, shows whether the spec has been looked at.
	short := *def
	short.Schedule.Spec = schedule.Spec{Cron: []string{"0 0 31 * *"}}
	require.Empty(t, w.about(&short, generator, next.Add(-1)))
	require.Equal(t, prose.WarnShortMonth, w.about(&short, generator, next)[0].Code)
	require.Equal(t, prose.WarnNoTimeLeft, w.about(def, generator, next)[0].Code)
}

func TestWarningsAreNotKept(t *testing.T) {
	t.Parallel()
	def := &wire.Definition{Incarnation: "i1", Version: 2, Schedule: schedule.Schedule{Spec: schedule.Spec{
		Cron: []string{"0 0 31 * *"},
	}}}
	later := *def
	later.Schedule.Spec = schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}}
	for name, test := range map[string]struct {
		generator wire.GeneratorState
		after     time.Duration
	}{
		"for long":                      {wire.GeneratorState{Incarnation: "i1", Version: 2, Next: noon.Add(48 * time.Hour)}, warnedAge},
		"of a version not yet seen":     {wire.GeneratorState{Incarnation: "i1", Version: 1, Next: noon.Add(time.Hour)}, 0},
		"of an earlier schedule":        {wire.GeneratorState{Incarnation: "i0", Version: 2, Next: noon.Add(time.Hour)}, 0},
		"of one without a time to come": {wire.GeneratorState{Incarnation: "i1", Version: 2}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWarned()
			require.Len(t, w.about(def, &test.generator, noon), 1)
			require.Empty(t, w.about(&later, &test.generator, noon.Add(test.after)))
		})
	}
}
