package apitext

import (
	"encoding"
	"encoding/json"
	"reflect"
	"sync"
)

var (
	rawType         = reflect.TypeFor[json.RawMessage]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// reading is how values of a type are read.
type reading struct {
	// leaf means in one piece; text means a string that does not read itself.
	leaf, text bool
}

var readings sync.Map // by type

func readingOf(t reflect.Type) reading {
	if known, ok := readings.Load(t); ok {
		return known.(reading)
	}
	reads := reflect.PointerTo(t).Implements(unmarshalerType) || reflect.PointerTo(t).Implements(textUnmarshalerType)
	r := reading{leaf: readInOnePiece(t), text: t.Kind() == reflect.String && !reads && t != reflect.TypeFor[json.Number]()}
	readings.Store(t, r)
	return r
}

// isText reports whether a value of type t is a plain string.
func isText(t reflect.Type) bool { return readingOf(t).text }

// isLeaf reports whether encoding/json reads a value of type t in one piece: scalars, byte strings, and types that read
// themselves, such as Duration, time.Time and json.RawMessage.
func isLeaf(t reflect.Type) bool { return readingOf(t).leaf }

func readInOnePiece(t reflect.Type) bool {
	if reflect.PointerTo(t).Implements(unmarshalerType) {
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Pointer:
		return false
	case reflect.Map:
		return t.Key().Kind() != reflect.String
	case reflect.Slice:
		return t.Elem().Kind() == reflect.Uint8
	}
	return true
}
