package diagnosis

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/site"
)

// isStandby reports whether the installation is active at another site, of which this one has mirrors.
func (f *Facts) isStandby() bool { return f.Site != nil && f.Site.State == site.Standby }

// checkSite says what the site is, and how far the mirrors of a standby are.
func checkSite(f *Facts) Check {
	const name, next = "site", "see how the sites are connected, and whether the role replication runs at both: carillon site status"
	own := f.Site
	is := fmt.Sprintf("%s is %s, term %d", own.Site, own.State, own.Term)
	switch {
	case own.Works():
		return ok(name, "%s; carillon site status says how far its standby %s is", is, own.Peer)
	case !f.isStandby():
		return notOK(name, Warning, fmt.Sprintf("%s, for %s: it takes no writes at present", is, ageText(f.Time, own.Since)),
			"wait, and see how it goes on: carillon site status")
	case f.Cluster == nil:
		return notOK(name, Failed, fmt.Sprintf("%s, and has no mirrors of %s yet", is, own.Peer), next)
	}
	var missing, silent []string
	var lacks uint64
	longest := time.Duration(0)
	for i := range f.Streams {
		switch s := &f.Streams[i]; {
		case s.Mirror == nil || s.Mirror.Silent < 0:
			missing = append(missing, s.title())
		case s.Mirror.Silent > silentWarning:
			silent, longest = append(silent, s.title()), max(longest, s.Mirror.Silent)
		default:
			lacks += s.Mirror.Lacks
		}
	}
	switch {
	case len(missing) > 0:
		return notOK(name, Failed, fmt.Sprintf("%s, and has not heard from %s of: %s", is, own.Peer, listed(missing)), next)
	case len(silent) > 0:
		return notOK(name, Warning, fmt.Sprintf("%s, and has heard nothing from %s for %s of: %s", is, own.Peer, longest.Round(time.Second), listed(silent)), next)
	case lacks > 0:
		return ok(name, "%s; the mirrors of %s lack %s", is, own.Peer, counted(lacks, "message"))
	}
	return ok(name, "%s; the mirrors of %s have everything", is, own.Peer)
}
