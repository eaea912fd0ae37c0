package codec

import (
	"fmt"
	"reflect"
	"sync"
	"time"
)

// codec writes and reads the values of one type. The msgpack library would do, but it repeats its reflection for every value.
// Records and messages are written and read several times for each action, and that was a fifth of the work.
type codec interface {
	// isEmpty reports whether a field with the value v is left out.
	isEmpty(v reflect.Value) bool
	// write appends v.
	write(w *recordWriter, v reflect.Value)
	// shape returns the shape of a value of the type in a record.
	shape() shape
	// read reads the value of that shape into v. Its header has just been read.
	read(r *recordReader, h header, v reflect.Value) error
}

// codecCache maps a reflect.Type to its codec. It has one entry for each such type of the program.
var codecCache sync.Map

// codecOf returns the codec of t. It does not support types that contain themselves, because no type here does.
func codecOf(t reflect.Type) (codec, error) {
	if cached, ok := codecCache.Load(t); ok {
		return cached.(codec), nil
	}
	c, err := newCodec(t)
	if err != nil {
		return nil, err
	}
	codecCache.Store(t, c)
	return c, nil
}

func newCodec(t reflect.Type) (codec, error) {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return timeCodec{}, nil
	case isBytes(t):
		return bytesCodec{}, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return newStructCodec(t)
	case reflect.Map:
		return newMapCodec(t)
	case reflect.Slice:
		element, err := codecOf(t.Elem())
		return listCodec{element}, err
	case reflect.Pointer:
		pointee, err := codecOf(t.Elem())
		return pointerCodec{pointee}, err
	case reflect.String:
		return textCodec{}, nil
	case reflect.Bool:
		return boolCodec{}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intCodec{}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintCodec{}, nil
	case reflect.Float64:
		return floatCodec{}, nil
	}
	return nil, fmt.Errorf("unsupported %s", t)
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}
