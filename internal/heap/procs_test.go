package heap

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWithProcessors is about the whole process, and runs beside no other test.
func TestWithProcessors(t *testing.T) {
	defer runtime.SetDefaultGOMAXPROCS()
	for _, test := range []struct {
		env                   string
		before, during, after int
	}{
		{env: "1", before: 1, during: 4, after: 1},
		{env: "3", before: 3, during: 4, after: 3},
		{env: "8", before: 8, during: 8, after: 8},
	} {
		t.Setenv("GOMAXPROCS", test.env)
		runtime.GOMAXPROCS(test.before)
		withProcessors(func() { require.Equal(t, test.during, runtime.GOMAXPROCS(0)) })
		require.Equal(t, test.after, runtime.GOMAXPROCS(0))
	}
}
