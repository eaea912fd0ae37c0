package ical

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestZonesOfWindowsAreKnown(t *testing.T) {
	t.Parallel()
	require.Greater(t, len(windowsZones), 130)
	for windows, name := range windowsZones {
		require.NotNil(t, load(name), "%s: %s", windows, name)
	}
}
