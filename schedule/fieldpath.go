package schedule

import (
	"errors"
	"strings"
)

// Prefix puts path in front of the Field of an *Error, so that each validation names its fields relative to itself and
// the caller adds where it stands: Prefix("spec", err) turns "calendars[2].hour" into "spec.calendars[2].hour". A Field
// that is empty becomes path, one that begins with "[" is joined without a dot. Prefix returns nil for nil, and any
// error that is not itself an *Error as it is. The error passed in is not changed.
func Prefix(path string, err error) error {
	var e *Error
	if !errors.As(err, &e) || error(e) != err {
		return err
	}
	prefixed := *e
	switch {
	case e.Field == "":
		prefixed.Field = path
	case path == "" || strings.HasPrefix(e.Field, "["):
		prefixed.Field = path + e.Field
	default:
		prefixed.Field = path + "." + e.Field
	}
	return &prefixed
}

// validateEach checks that a list holds at most limit items, and every item by check. Errors name "path" or "path[i]".
func validateEach[T any](path string, items []T, limit int, check func(T) error) error {
	if len(items) > limit {
		return Invalid(path, "has %d entries: at most %d are accepted", len(items), limit)
	}
	for i, item := range items {
		if err := check(item); err != nil {
			return Prefix(indexed(path, i), err)
		}
	}
	return nil
}
