package schedule

import (
	"reflect"
	"sync"
	"time"
)

// normalize makes every time in v UTC, which msgpack decodes as local, and every empty slice and map nil. It replaces
// hooks in the msgpack library, which would be global: this package also lives in other people's programs.
func normalize(v reflect.Value) {
	t := v.Type()
	if !needsNormalizing(t) {
		return
	}
	switch t.Kind() {
	case reflect.Struct:
		normalizeStruct(v)
	case reflect.Pointer:
		if !v.IsNil() {
			normalize(v.Elem())
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.SetZero()
		}
		if !needsNormalizing(t.Elem()) {
			return
		}
		for i := range v.Len() {
			normalize(v.Index(i))
		}
	case reflect.Map:
		normalizeMap(v)
	}
}

func normalizeStruct(v reflect.Value) {
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		*t = t.UTC()
		return
	}
	for i := range v.NumField() {
		if field := v.Field(i); field.CanSet() {
			normalize(field)
		}
	}
}

// normalizeMap replaces the values of a map: they cannot be changed in place.
func normalizeMap(v reflect.Value) {
	if v.Len() == 0 {
		v.SetZero()
	}
	if !needsNormalizing(v.Type().Elem()) {
		return
	}
	for entries := v.MapRange(); entries.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(entries.Value())
		normalize(value)
		v.SetMapIndex(entries.Key(), value)
	}
}

// normalizable maps a reflect.Type to whether a value of it can hold a time, slice or map.
var normalizable sync.Map

func needsNormalizing(t reflect.Type) bool {
	if known, ok := normalizable.Load(t); ok {
		return known.(bool)
	}
	needed := false
	switch t.Kind() {
	case reflect.Slice, reflect.Map:
		needed = true
	case reflect.Pointer:
		needed = needsNormalizing(t.Elem())
	case reflect.Struct:
		needed = t == timeType
		for i := 0; i < t.NumField() && !needed; i++ {
			needed = t.Field(i).IsExported() && needsNormalizing(t.Field(i).Type)
		}
	}
	normalizable.Store(t, needed)
	return needed
}
