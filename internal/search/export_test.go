package search

import (
	"context"

	"go.temporal.io/api/enums/v1"
)

// AttributeTypes returns the search attributes that executions and schedules of a namespace have, or have had, themselves, and their types.
func (x *Index) AttributeTypes(ctx context.Context, namespace string) (types map[string]enums.IndexedValueType, err error) {
	err = x.read(x.executions, func(d *database) (err error) {
		types, err = d.types(ctx, "attribute_types", namespace)
		return err
	})
	return types, err
}
