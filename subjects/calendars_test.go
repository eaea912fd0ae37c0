package subjects_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/subjects"
)

func TestCalendarKeys(t *testing.T) {
	t.Parallel()
	require.Equal(t, "calendar.default.public=20holidays", subjects.CalendarKey("default", "public holidays"))
	require.Equal(t, "deleted-calendar.default.public=20holidays", subjects.DeletedCalendarKey("default", "public holidays"))
	require.Equal(t, "calendar.default.*", subjects.CalendarKeys("default"))
	for _, name := range awkward {
		namespace, got, err := subjects.ParseCalendarKey(subjects.CalendarKey("a-1", name))
		require.NoError(t, err)
		require.Equal(t, "a-1", namespace)
		require.Equal(t, name, got)
	}
	for _, key := range []string{"", "calendar.default", "calendar.default.a.b", "calendar.default.=2", "job.default.a"} {
		_, _, err := subjects.ParseCalendarKey(key)
		require.Error(t, err, key)
	}
}
