package roles

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// readers are the roles that run at a standby as well. There they only read: each of them refuses what writes at its door.
var readers = []string{"frontend", "gateway", "console", subjects.PoolHistory}

// AtStandby reports whether a role runs at a standby. There it only reads.
func AtStandby(role string) bool { return slices.Contains(readers, role) }

// errNoMirrors is why the roles of a standby cannot run yet.
var errNoMirrors = errors.New("the mirrors of the other site are not all there, or have no leader")

// atStandby returns an error of opening an installation. It wraps errNoMirrors if there is another site and the failure passes by itself.
func atStandby(elsewhere *site.Elsewhere, err error) error {
	gone := errors.Is(err, jetstream.ErrBucketNotFound) || schedule.CodeOf(err) == schedule.CodeNotFound
	if elsewhere != nil && err != nil && (gone || topology.Transient(err)) {
		return fmt.Errorf("%w: %w", errNoMirrors, err)
	}
	return err
}

// fits reports whether roles that were begun for elsewhere, or for an active site if that is nil, may go on at a site.
func fits(record *site.Record, elsewhere *site.Elsewhere) bool {
	if elsewhere == nil {
		return record.Works()
	}
	now := record.Elsewhere()
	return now != nil && *now == *elsewhere
}
