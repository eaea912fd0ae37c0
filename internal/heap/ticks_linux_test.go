package heap

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestTicksComeDuringACall(t *testing.T) {
	t.Parallel()
	ticks := openTicks()
	require.NotNil(t, ticks)
	defer ticks.close()
	require.False(t, ticks.come(t))
	ticks.during(func() {
		require.True(t, ticks.come(t))
		for range 3 {
			var count [8]byte
			_, err := ticks.file.Read(count[:])
			require.NoError(t, err)
		}
	})
	require.False(t, ticks.come(t))
}

// come reports whether there will be a tick.
func (t *ticks) come(test *testing.T) (will bool) {
	test.Helper()
	require.NoError(test, t.raw.Control(func(fd uintptr) {
		var next unix.ItimerSpec
		require.NoError(test, unix.TimerfdGettime(int(fd), &next))
		will = next.Value.Nano() > 0
	}))
	return will
}

// TestTicksOfNone: where the system does not give any, work is done all the same.
func TestTicksOfNone(t *testing.T) {
	t.Parallel()
	var none *ticks
	called := false
	none.during(func() { called = true })
	none.close()
	require.True(t, called)
}
