package schedules

import (
	"fmt"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// newDefinition returns the definition that a create request writes.
func newDefinition(
	key schedule.Key, req *schedule.CreateRequest, from request.Origin, incarnation string,
) wire.Definition {
	def := wire.Definition{
		Namespace: key.Namespace, ID: key.ID,
		Incarnation: incarnation, Version: 1, LimitVersion: 1,
		Schedule: req.Schedule, RequestID: req.RequestID, CreateTime: from.Now,
	}
	if def.Schedule.State.Paused {
		def.PausedBy, def.PauseTime = from.Identity, from.Now
	}
	created := changeEvent(&def, schedule.EventCreated, def.Version, "", from)
	def.Events = []wire.DefinitionEvent{{Version: def.Version, Event: created}}
	return def
}

// checkRepeat decides about a create request for an ID that is taken. It returns nil if the request repeats the one that took it,
// which is then answered in the same way.
func checkRepeat(def *wire.Definition, req *schedule.CreateRequest) error {
	if req.RequestID != "" && req.RequestID == def.RequestID {
		return nil
	}
	return &schedule.Error{
		Code: schedule.CodeAlreadyExists, Field: "id",
		Message: fmt.Sprintf("namespace %q has a schedule %q already", def.Namespace, def.ID),
	}
}

// afterDelete is the version that stands for the absence of a definition: a pool that still reads an older version knows that its
// replica lags.
func afterDelete(def *wire.Definition) uint64 { return def.Version + 1 }
