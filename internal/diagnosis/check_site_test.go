package diagnosis

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/internal/site"
)

// standby returns the facts of a standby without a fault: it has mirrors, and no pool.
func standby() *Facts {
	f := well()
	f.Site = &site.Record{Site: "west", Peer: "east", State: site.Standby, Since: noon.Add(-time.Hour), Term: 3}
	f.Streams, f.Queues, f.Processes = f.Streams[:3], nil, f.Processes[:1]
	for i := range f.Streams {
		f.Streams[i].Mirror = &Mirror{Silent: time.Second}
	}
	return f
}

// TestSites: a standby is well although it has neither pools nor their streams. What is wrong with its mirrors is said once.
func TestSites(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Facts)
		status Status
		detail string
	}{
		"a standby":        {func(*Facts) {}, OK, "west is standby, term 3; the mirrors of east have everything"},
		"a mirror behind":  {func(f *Facts) { f.Streams[1].Mirror.Lacks = 7 }, OK, "the mirrors of east lack 7 messages"},
		"a silent mirror":  {func(f *Facts) { f.Streams[1].Mirror.Silent = 2 * time.Minute }, Warning, "has heard nothing from east for 2m0s of: stream CARILLON_EVENTS"},
		"never heard":      {func(f *Facts) { f.Streams[1].Mirror.Silent = -1 }, Failed, "has not heard from east of: stream CARILLON_EVENTS"},
		"no mirrors":       {func(f *Facts) { f.Cluster = nil }, Failed, "has no mirrors of east yet"},
		"an active site":   {func(f *Facts) { *f = *well(); f.Site = site.Linked("east", "west", noon) }, OK, "east is active, term 1; carillon site status"},
		"a site in motion": {func(f *Facts) { f.Site.State = site.Promoting }, Warning, "west is promoting, term 3, for 1h0m0s"},
	} {
		facts := standby()
		test.change(facts)
		checks := Checks(facts)
		for _, c := range checks {
			if c.Name == "site" {
				assert.Equal(t, test.status, c.Status, name)
				assert.Contains(t, c.Detail, test.detail, name)
				assert.Equal(t, test.status == OK, c.Next == "", name)
			} else if facts.isStandby() || test.status == OK {
				assert.Equal(t, OK, c.Status, "%s: %+v", name, c)
			}
		}
		assert.Equal(t, "site", checks[1].Name, name)
	}
}
