package jsontext

import (
	"reflect"
	"strings"
	"sync"
)

// StructFields are the fields of a struct type as JSON names them. Fields of embedded structs stand among them, as
// encoding/json has it.
type StructFields struct {
	// Names are in the order of declaration.
	Names  []string
	ByName map[string]StructField
	// Embedded are the embedded structs whose fields stand among them, by the names of their types.
	Embedded map[string]reflect.Type
}

// StructField is one of the fields of a struct.
type StructField struct {
	// Index is that of [reflect.Value.FieldByIndex].
	Index []int
	Type  reflect.Type
}

// fieldCache maps a reflect.Type to its *structFields. It holds as many entries as the program has such types.
var fieldCache sync.Map

// FieldsOf returns the fields of struct type t. Embedded pointers are not supported: no type here has any.
func FieldsOf(t reflect.Type) *StructFields {
	if cached, ok := fieldCache.Load(t); ok {
		return cached.(*StructFields)
	}
	cached, _ := fieldCache.LoadOrStore(t, readFields(t))
	return cached.(*StructFields)
}

func readFields(t reflect.Type) *StructFields {
	fields := &StructFields{ByName: make(map[string]StructField), Embedded: make(map[string]reflect.Type)}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if f.Anonymous && name == "" {
			fields.Embedded[f.Name] = f.Type
			continue
		}
		if name == "" {
			name = f.Name
		}
		fields.Names = append(fields.Names, name)
		fields.ByName[name] = StructField{Index: f.Index, Type: f.Type}
	}
	return fields
}
