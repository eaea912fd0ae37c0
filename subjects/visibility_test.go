package subjects_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/subjects"
)

func TestVisibility(t *testing.T) {
	t.Parallel()
	names := subjects.Default()
	subject := names.Visibility("team", subjects.VerbListExecutions)
	assert.Equal(t, "carillon.visibility.team.list", subject)
	namespace, verb, err := names.ParseVisibility(subject)
	require.NoError(t, err)
	assert.Equal(t, []string{"team", "list"}, []string{namespace, verb})
	for _, other := range []string{"", "carillon.visibility.team", "carillon.visibility..list", "carillon.visibility.a.b.c", "x.visibility.a.b"} {
		_, _, err := names.ParseVisibility(other)
		assert.Error(t, err, other)
	}
}
