package consistency

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTurnOfZoneSweep(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		record        zoneSweep
		isNew, silent bool
		want          turn
	}{
		"none yet":                             {zoneSweep{}, true, false, turnClaim},
		"it has been removed":                  {zoneSweep{}, false, false, turnOver},
		"other data before":                    {zoneSweep{Rules: "b", By: "x", Done: true}, true, false, turnClaim},
		"other data, still being swept for":    {zoneSweep{Rules: "b", By: "x"}, true, false, turnClaim},
		"somebody has started later":           {zoneSweep{Rules: "b", By: "x"}, false, true, turnOver},
		"the same data, done":                  {zoneSweep{Rules: "a", By: "x", Done: true}, true, true, turnOver},
		"the same data, being swept for":       {zoneSweep{Rules: "a", By: "x"}, true, false, turnWait},
		"the same data, whoever swept is gone": {zoneSweep{Rules: "a", By: "x"}, true, true, turnClaim},
		"it is this process":                   {zoneSweep{Rules: "a", By: "self"}, false, true, turnWork},
	} {
		assert.Equal(t, test.want, test.record.turnOf("self", "a", test.isNew, test.silent), name)
	}
}

func TestZoneSweepIsTakenOverWhereItStopped(t *testing.T) {
	t.Parallel()
	left := zoneSweep{Rules: "a", Data: "2026f", By: "x", Shard: 3, Sequence: 17, Passes: 1, Found: 2}
	assert.Equal(t, zoneSweep{Rules: "a", Data: "2026f", By: "self", Shard: 3, Sequence: 17, Passes: 1, Found: 2}, left.claimed("self", "a", "2026f"))
	assert.Equal(t, zoneSweep{Rules: "b", Data: "2026g", By: "self"}, left.claimed("self", "b", "2026g"), "of other data from the beginning")
}

func TestZoneSweepIsDone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		passes, found int
		mixed, done   bool
	}{
		"nothing found":                         {0, 0, false, true},
		"some were woken":                       {0, 1, false, false},
		"a generator has other rules":           {0, 0, true, false},
		"and has them for long":                 {maxZonePasses, 0, true, false},
		"some never follow":                     {maxZonePasses - 1, 1, false, true},
		"some never follow, but others must go": {maxZonePasses - 1, 1, true, false},
	} {
		before := zoneSweep{Rules: "a", By: "self", Shard: 2, Sequence: 5, Passes: test.passes, Found: test.found}
		assert.Equal(t, zoneSweep{Rules: "a", By: "self", Passes: test.passes + 1, Done: test.done}, before.passed(test.mixed), name)
	}
}
