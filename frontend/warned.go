package frontend

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

const (
	// warnedSize is of how many specs the warnings are kept: most have none.
	warnedSize = 16384
	// warnedAge is how old they may be. They tell of the clock changes of years.
	warnedAge = time.Hour
)

// warned keeps the warnings about the specs that were described last: to find them is most of what a description takes. It is
// safe for concurrent use.
type warned struct {
	kept *lru.Cache[warnedVersion, warning]
}

type warnedVersion struct {
	incarnation string
	version     uint64
}

type warning struct {
	found []prose.Warning
	// until is when a time of the spec passes, after which there may be none left, or the warnings are too old.
	until time.Time
}

func newWarned() *warned {
	kept, err := lru.New[warnedVersion, warning](warnedSize)
	if err != nil {
		panic("frontend: " + err.Error()) // only for a size below 1
	}
	return &warned{kept: kept}
}

// about returns the warnings about the spec of a definition as it stands now. Do not change them. What the generator knows, if it
// knows this version, says how long they hold.
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

// withTimeWarnings adds what may surprise about the times of a definition to the answer of the request that has stored it.
func (a *api) withTimeWarnings(d schedule.Description, def *wire.Definition) schedule.Description {
	d.Info.Warnings = append(d.Info.Warnings, warnings(a.warned.about(def, &wire.GeneratorState{}, a.now()))...)
	return d
}

// answerStored describes a schedule to the request that has stored its definition, with these warnings.
func (a *api) answerStored(ctx context.Context, def *wire.Definition) (schedule.Description, error) {
	description, err := a.description(ctx, def)
	if err != nil {
		return description, err
	}
	return a.withTimeWarnings(description, def), nil
}
