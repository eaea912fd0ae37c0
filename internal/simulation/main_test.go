package simulation

import (
	"os"
	"runtime/debug"
	"testing"
)

// A simulation makes much garbage and keeps little, so the collector need not run often.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}

// raceEnabled says that the race detector is on.
var raceEnabled bool
