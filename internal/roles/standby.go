package roles

import (
	"errors"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/subjects"
)

// readers are the roles that run at a standby as well. There they only read: each of them refuses what writes at its door.
var readers = []string{"frontend", "gateway", "console", subjects.PoolHistory}

// AtStandby reports whether a role runs at a standby. There it only reads.
func AtStandby(role string) bool { return slices.Contains(readers, role) }

// errNoMirrors is why the roles of a standby cannot run yet.
var errNoMirrors = errors.New("the mirrors of the other site have not been made")

// fits reports whether roles that were begun for elsewhere, or for an active site if that is nil, may go on at a site.
func fits(record *site.Record, elsewhere *site.Elsewhere) bool {
	if elsewhere == nil {
		return record.Works()
	}
	now := record.Elsewhere()
	return now != nil && *now == *elsewhere
}
