package apitext

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// leafError rewords err, the result of reading text into a value of type t. If the type reads itself, its own words are kept: it
// quotes no more than [jsontext.Shorten] leaves.
func leafError(path string, t reflect.Type, text []byte, err error) error {
	var wrongType *json.UnmarshalTypeError
	custom := reflect.PointerTo(t).Implements(unmarshalerType) && t != timeType
	if custom && !errors.As(err, &wrongType) {
		return schedule.Invalid(path, "%s", err)
	}
	return mismatch(path, t, jsontext.Describe(text))
}

// mismatch says that path needs a value of type t, and what was found instead.
func mismatch(path string, t reflect.Type, found string) error {
	return schedule.Invalid(path, "must be %s, not %s", expected(t), found)
}

var timeType = reflect.TypeFor[time.Time]()

// expected describes, in JSON terms, how a value of type t is written.
func expected(t reflect.Type) string {
	switch {
	case t == timeType:
		return "a time in RFC 3339 such as \"2026-03-01T09:00:00Z\""
	case t == reflect.TypeFor[schedule.Duration]():
		return "a duration such as \"90s\""
	}
	switch t.Kind() {
	case reflect.Pointer:
		return expected(t.Elem())
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if isLeaf(t) {
			return "base64 text"
		}
		return "a list"
	case reflect.String:
		return "a string in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number, 0 or more"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a " + t.String()
}
