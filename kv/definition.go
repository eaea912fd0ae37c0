package kv

import (
	"context"
	"errors"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// DefinitionFor reads the definition that wakes are about. It asks a replica first, which may lag behind. It asks the leader if the
// replica has no definition, another incarnation, or an older version than a wake names. A zero wake trusts a replica that has a
// definition, but never one that has none.
func DefinitionFor(ctx context.Context, s *Store, key schedule.Key, wakes ...wire.Wake) (Record[wire.Definition], error) {
	return RefreshDefinition(ctx, s, key, Record[wire.Definition]{}, wakes...)
}

// RefreshDefinition is DefinitionFor for a caller that holds an earlier read; see [refresh].
func RefreshDefinition(
	ctx context.Context, s *Store, key schedule.Key, known Record[wire.Definition], wakes ...wire.Wake,
) (Record[wire.Definition], error) {
	record, err := refresh(ctx, s, Definition(key), known)
	switch {
	case errors.Is(err, ErrNotFound):
	case err != nil:
		return record, err
	case !Behind(&record.Value, wakes...):
		return record, nil
	}
	return GetLeader(ctx, s, Definition(key))
}

// Behind reports whether a definition is older than wakes say: it has another incarnation, or an earlier version.
func Behind(d *wire.Definition, wakes ...wire.Wake) bool {
	for _, wake := range wakes {
		if wake.Incarnation != "" && wake.Incarnation != d.Incarnation || d.Version < wake.Version {
			return true
		}
	}
	return false
}
