package jsontext

import (
	"reflect"
	"strings"
	"sync"
)

// StructFields are the fields of a struct type as JSON names them. Like encoding/json, they include the fields of embedded
// structs.
type StructFields struct {
	// Names are in the order of declaration.
	Names  []string
	ByName map[string]StructField
	// Embedded are the embedded structs, by the names of their types. Their fields are in Names and ByName as well.
	Embedded map[string]reflect.Type
}

// StructField is one field of a struct.
type StructField struct {
	// Index is an index for [reflect.Value.FieldByIndex].
	Index []int
	Type  reflect.Type
}

// fieldCache maps a reflect.Type to its *StructFields. It has one entry for each such type of the program.
var fieldCache sync.Map

// FieldsOf returns the fields of struct type t. It does not support embedded pointers, because no type here has any.
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
