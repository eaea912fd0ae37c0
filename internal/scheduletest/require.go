package scheduletest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// RequireInvalid requires an error for users about an argument, with a text.
func RequireInvalid(t *testing.T, err error, want string) {
	t.Helper()
	require.EqualError(t, err, want)
	require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
}

// Nested returns depth nested lists.
func Nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
