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
	specs *lru.Cache[version, *specproc.Spec]
}

type version struct {
	incarnation string
	number      uint64
}

// New returns a cache of at most size specs; size is at least 1.
func New(size int) *Cache {
	specs, err := lru.New[version, *specproc.Spec](max(size, 1))
	if err != nil {
		panic("speccache: " + err.Error()) // only for a size below 1
	}
	return &Cache{specs: specs}
}

// Get returns the compiled spec of a definition. The error is that of specproc.CompileDefinition.
func (c *Cache) Get(d *schedule.Definition) (*specproc.Spec, error) {
	key := version{d.Incarnation, d.Version}
	if spec, ok := c.specs.Get(key); ok {
		return spec, nil
	}
	spec, err := specproc.CompileDefinition(d)
	if err != nil {
		return nil, err
	}
	c.specs.Add(key, spec)
	return spec, nil
}
