package kv

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// DefinitionFor reads the definition a message speaks of. The replica asked first may lag behind: where it has no
// definition, another incarnation or an older version than a wake says, the leader decides. Zero wakes trust the
// replica's word that a definition is there, but never that it is not.
func DefinitionFor(ctx context.Context, s *Store, key schedule.Key, wakes ...wire.Wake) (Record[wire.Definition], error) {
	return RefreshDefinition(ctx, s, key, Record[wire.Definition]{}, wakes...)
}

// RefreshDefinition is DefinitionFor for who has the definition as it was; see [Refresh].
func RefreshDefinition(
	ctx context.Context, s *Store, key schedule.Key, known Record[wire.Definition], wakes ...wire.Wake,
) (Record[wire.Definition], error) {
	record, err := Refresh(ctx, s, Definition(key), known)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return record, err
	case !Behind(&record.Value, wakes...):
		return record, nil
	}
	return GetLeader(ctx, s, Definition(key))
}

// Behind reports whether a definition is older than messages say: of another incarnation, or of an earlier version.
func Behind(d *wire.Definition, wakes ...wire.Wake) bool {
	for _, wake := range wakes {
		if wake.Incarnation != "" && wake.Incarnation != d.Incarnation || d.Version < wake.Version {
			return true
		}
	}
	return false
}
