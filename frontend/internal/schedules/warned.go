package schedules

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

const (
	// warnedSize is for how many specs the warnings are kept. Most have none.
	warnedSize = 16384
	// warnedAge is how old they may be. They are about the clock changes of years.
	warnedAge = time.Hour
)

// warned keeps the warnings about the specs that were described last, because finding them is most of the work of a description.
// It is safe for concurrent use.
type warned struct {
	kept *lru.Cache[warnedVersion, warning]
}

type warnedVersion struct {
	incarnation string
	version     uint64
}

type warning struct {
	found []prose.Warning
	// until is when a time of the spec passes, after which none may be left, or when the warnings are too old.
	until time.Time
}

func newWarned() *warned {
	kept, err := lru.New[warnedVersion, warning](warnedSize)
	if err != nil {
		panic("frontend: " + err.Error()) // only for a size below 1
	}
	return &warned{kept: kept}
}

// about returns the warnings about the spec of a definition as it stands now. Do not change them. The generator's record, if it
// is of this version, says how long they hold.
func (w *warned) about(def *wire.Definition, generator *wire.GeneratorState, now time.Time) []prose.Warning {
	key := warnedVersion{def.Incarnation, def.Version}
	if kept, ok := w.kept.Get(key); ok && now.Before(kept.until) {
		return kept.found
	}
	found := prose.WarningsWith(def.Schedule.Spec, def.NamedCalendars(), now)
	if generator.Incarnation == def.Incarnation && generator.Version == def.Version && now.Before(generator.Next) {
		until := now.Add(warnedAge)
		if generator.Next.Before(until) {
			until = generator.Next
		}
		w.kept.Add(key, warning{found, until})
	}
	return found
}

// withTimeWarnings adds the warnings about the times of a definition to the answer of the request that stored it.
func (s *Service) withTimeWarnings(d schedule.Description, def *wire.Definition) schedule.Description {
	d.Info.Warnings = append(d.Info.Warnings, warnings(s.warned.about(def, &wire.GeneratorState{}, s.now()))...)
	return d
}

// answerStored describes a schedule, with these warnings, to the request that stored its definition.
func (s *Service) answerStored(ctx context.Context, def *wire.Definition) (schedule.Description, error) {
	description, err := s.description(ctx, def)
	if err != nil {
		return description, err
	}
	return s.withTimeWarnings(description, def), nil
}
