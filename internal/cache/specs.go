package cache

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/specproc"
)

// Specs keeps the compiled specs of the schedules that were used last, by definition version, so that a schedule that is due
// every second is not compiled every second. It is safe for concurrent use.
type Specs struct {
	specs *lru.Cache[version, entry]
}

type entry struct {
	spec *specproc.Spec
	zone wire.ZoneRules
}

type version struct {
	incarnation string
	number      uint64
}

// NewSpecs returns a cache of at most size specs, and of at least one.
func NewSpecs(size int) *Specs {
	specs, err := lru.New[version, entry](max(size, 1))
	if err != nil {
		panic("cache: " + err.Error()) // only for a size below 1
	}
	return &Specs{specs: specs}
}

// Get returns the compiled spec of a definition. The error is the error of specproc.CompileDefinition.
func (s *Specs) Get(d *wire.Definition) (*specproc.Spec, error) {
	key := version{d.Incarnation, d.Version}
	if known, ok := s.specs.Get(key); ok {
		return known.spec, nil
	}
	spec, err := specproc.CompileDefinition(d)
	if err != nil {
		return nil, err
	}
	s.specs.Add(key, entry{spec, wire.ZoneRulesOf(d.Schedule.Spec.AsStored())})
	return spec, nil
}

// Zone returns the time zone rules with which the spec of a definition is compiled.
func (s *Specs) Zone(d *wire.Definition) wire.ZoneRules {
	if known, ok := s.specs.Get(version{d.Incarnation, d.Version}); ok {
		return known.zone
	}
	return wire.ZoneRulesOf(d.Schedule.Spec.AsStored())
}
