package request

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestCheckToken(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckToken("schedule", 7, 0))
	require.NoError(t, CheckToken("schedule", 7, 7))
	for _, stale := range []uint64{6, 8} {
		err := CheckToken("schedule", 7, stale)
		assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
		assert.ErrorContains(t, err, fmt.Sprintf("conflictToken: %d is stale", stale))
		assert.ErrorContains(t, err, "is at 7: describe it again")
	}
}

func TestCleanIdentity(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                             "",
		" ann@desk ":                   "ann@desk",
		"Ännchen Müller":               "Ännchen Müller",
		"two\r\nlines\x00\x7f":         "two  lines",
		"a\u202eb":                     "a b",
		"bad \xff byte":                "bad \uFFFD byte",
		strings.Repeat("x", 300):       strings.Repeat("x", 255),
		"x" + strings.Repeat("ü", 200): "x" + strings.Repeat("ü", 127),
		strings.Repeat("ü", 200):       strings.Repeat("ü", 127),
	} {
		assert.Equal(t, want, cleanIdentity(header))
		assert.Equal(t, want, IdentityOf(WithIdentity(t.Context(), header)))
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a b  c", OneLine("a\nb\r\nc"))
	assert.Equal(t, "ü", OneLine("ü"))
}
