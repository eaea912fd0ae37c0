package codec

import (
	"fmt"
	"reflect"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// listCodec is for slices. It reads empty and nil ones as nil.
type listCodec struct{ element codec }

func (listCodec) isEmpty(v reflect.Value) bool { return v.Len() == 0 }

func (c listCodec) write(w *recordWriter, v reflect.Value) {
	w.listHeader(v.Len())
	for i := range v.Len() {
		c.element.write(w, v.Index(i))
	}
}

func (listCodec) shape() shape { return listShape }

func (c listCodec) read(r *recordReader, h header, v reflect.Value) error {
	if err := r.enter(h.size, 1); err != nil {
		return err
	}
	v.SetZero()
	v.Grow(h.size)
	v.SetLen(h.size)
	for i := range h.size {
		if err := r.value(c.element, v.Index(i)); err != nil {
			return err
		}
	}
	r.leave()
	return nil
}

// mapCodec is for maps with string keys. It reads empty and nil ones as nil.
type mapCodec struct {
	key, element reflect.Type
	codec        codec
}

func newMapCodec(t reflect.Type) (codec, error) {
	if t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("unsupported %s", t)
	}
	element, err := codecOf(t.Elem())
	return mapCodec{t.Key(), t.Elem(), element}, err
}

func (mapCodec) isEmpty(v reflect.Value) bool { return v.Len() == 0 }

func (c mapCodec) write(w *recordWriter, v reflect.Value) {
	w.mapHeader(v.Len())
	if v.Len() == 0 {
		return
	}
	key, value := reflect.New(c.key).Elem(), reflect.New(c.element).Elem()
	for entries := v.MapRange(); entries.Next(); {
		key.SetIterKey(entries)
		value.SetIterValue(entries)
		w.text(key.String())
		c.codec.write(w, value)
	}
}

func (mapCodec) shape() shape { return mapShape }

func (c mapCodec) read(r *recordReader, h header, v reflect.Value) error {
	if err := r.enter(h.size, 2); err != nil {
		return err
	}
	v.SetZero()
	if h.size > 0 {
		v.Set(reflect.MakeMapWithSize(v.Type(), h.size))
	}
	key, value := reflect.New(c.key).Elem(), reflect.New(c.element).Elem()
	for range h.size {
		name, err := r.name()
		if err != nil {
			return err
		}
		value.SetZero()
		if err := r.value(c.codec, value); err != nil {
			return err
		}
		key.SetString(string(name))
		v.SetMapIndex(key, value)
	}
	r.leave()
	return nil
}

// pointerCodec is for pointers. It writes the value that a pointer points to, or nothing.
type pointerCodec struct{ pointee codec }

func (pointerCodec) isEmpty(v reflect.Value) bool { return v.IsNil() }

func (c pointerCodec) write(w *recordWriter, v reflect.Value) {
	if v.IsNil() {
		w.data = append(w.data, msgpcode.Nil)
		return
	}
	c.pointee.write(w, v.Elem())
}

func (c pointerCodec) shape() shape { return c.pointee.shape() }

func (c pointerCodec) read(r *recordReader, h header, v reflect.Value) error {
	v.Set(reflect.New(v.Type().Elem()))
	return c.pointee.read(r, h, v.Elem())
}
