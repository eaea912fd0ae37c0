package schedule

import (
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// structFields are the fields of a struct type as JSON names them. Fields of embedded structs stand among them, as
// encoding/json has it.
type structFields struct {
	// names are in the order of declaration.
	names  []string
	byName map[string]structField
	// embedded are the embedded structs whose fields stand among them, by the names of their types.
	embedded map[string]reflect.Type
}

type structField struct {
	index []int
	typ   reflect.Type
}

// fieldCache maps a reflect.Type to its *structFields. It holds as many entries as the program has such types.
var fieldCache sync.Map

// fieldsOf returns the fields of struct type t. Embedded pointers are not supported: no type here has any.
func fieldsOf(t reflect.Type) *structFields {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.(*structFields)
	}
	cached, _ := fieldCache.LoadOrStore(t, readFields(t))
	return cached.(*structFields)
}

func readFields(t reflect.Type) *structFields {
	fields := &structFields{byName: make(map[string]structField), embedded: make(map[string]reflect.Type)}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			fields.embedded[f.Name] = f.Type
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields.names = append(fields.names, name)
		fields.byName[name] = structField{index: f.Index, typ: f.Type}
	}
	return fields
}

var (
	rawType         = reflect.TypeFor[json.RawMessage]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// reading is how a value of a type is read.
type reading struct {
	// leaf says that it is read in one piece, text that it is a string that does not read itself.
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

// isText reports whether a value of type t is a string as it stands.
func isText(t reflect.Type) bool { return readingOf(t).text }

// isLeaf reports whether a value of type t is read in one piece, by encoding/json: scalars, byte strings, and types
// that read themselves, such as Duration, time.Time and json.RawMessage.
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
