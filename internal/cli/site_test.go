package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/replication"
)

// TestLookText: a standby has everything only when a failover believes it as well.
func TestLookText(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*replication.Look){
		"the standby has everything": func(*replication.Look) {},
		"the standby lacks no entry, and has yet to note it: until then, it is given no handover, and a failover needs --force": func(l *replication.Look) { l.There.Complete = false },
		"the standby lacks 3 entries":                     func(l *replication.Look) { l.Behind["a"] = 3 },
		"the standby has no mirror yet of a, b":           func(l *replication.Look) { l.Missing = []string{"a", "b"} },
		"how far the standby is, is not known":            func(l *replication.Look) { l.There, l.Behind = nil, nil },
		"1 diverged message here: carillon site diverged": func(l *replication.Look) { l.Diverged = 1 },
		"the active site has lost entries that":           func(l *replication.Look) { l.Ahead = []string{"a"} },
	} {
		look := &replication.Look{
			Here: &site.Record{Site: "east", State: site.Active}, There: &site.Record{Site: "west", State: site.Standby, Complete: true}, Behind: map[string]uint64{},
		}
		change(look)
		lines := lookText(look)
		assert.Contains(t, lines[len(lines)-1], want)
		look.Here, look.There = look.There, look.Here // seen from the standby
		if look.Here != nil {
			assert.Equal(t, lines, lookText(look))
		}
	}
}
