// Package speccache keeps the compiled specs of the schedules a pool has met last, so that a schedule that fires every
// second is not compiled every second. A definition version never changes, so an entry never goes stale.
package speccache

import (
	"github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// DefaultSize is how many specs a pool keeps.
const DefaultSize = 16384

// Cache keeps compiled specs by definition version. It is safe for concurrent use.
type Cache struct {
	specs *lru.Cache[version, entry]
}

type entry struct {
	spec *specproc.Spec
	zone schedule.ZoneRules
}

type version struct {
	incarnation string
	number      uint64
}

// New returns a cache of at most size specs; size is at least 1.
func New(size int) *Cache {
	specs, err := lru.New[version, entry](max(size, 1))
	if err != nil {
		panic("speccache: " + err.Error()) // only for a size below 1
	}
	return &Cache{specs: specs}
}

// Get returns the compiled spec of a definition. The error is that of specproc.CompileDefinition.
func (c *Cache) Get(d *schedule.Definition) (*specproc.Spec, error) {
	key := version{d.Incarnation, d.Version}
	if known, ok := c.specs.Get(key); ok {
		return known.spec, nil
	}
	spec, err := specproc.CompileDefinition(d)
	if err != nil {
		return nil, err
	}
	c.specs.Add(key, entry{spec, d.Schedule.Spec.AsStored().ZoneRules()})
	return spec, nil
}

// Zone returns the rules of the time zone by which the spec of a definition is compiled.
func (c *Cache) Zone(d *schedule.Definition) schedule.ZoneRules {
	if known, ok := c.specs.Get(version{d.Incarnation, d.Version}); ok {
		return known.zone
	}
	return d.Schedule.Spec.AsStored().ZoneRules()
}
