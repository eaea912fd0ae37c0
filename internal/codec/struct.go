package codec

import (
	"reflect"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// structCodec is for structs: maps of the fields that are not empty, in the order of declaration.
type structCodec struct {
	fields []fieldCodec
	// byName also has embedded structs, by the names of their types, because the msgpack library that read records before
	// accepted them.
	byName map[string]*fieldCodec
}

type fieldCodec struct {
	codec codec
	name  string
	// key is the name as it is written.
	key   []byte
	index []int
}

func newStructCodec(t reflect.Type) (codec, error) {
	known := jsontext.FieldsOf(t)
	c := &structCodec{fields: make([]fieldCodec, len(known.Names)), byName: make(map[string]*fieldCodec)}
	for i, name := range known.Names {
		stored := known.ByName[name]
		field, err := codecOf(stored.Type)
		if err != nil {
			return nil, err
		}
		var key recordWriter
		key.text(name)
		c.fields[i] = fieldCodec{codec: field, name: name, key: key.data, index: stored.Index}
		c.byName[name] = &c.fields[i]
	}
	for name, embedded := range known.Embedded {
		field, err := codecOf(embedded)
		if err != nil {
			return nil, err
		}
		at, _ := t.FieldByName(name)
		if c.byName[name] == nil {
			c.byName[name] = &fieldCodec{codec: field, name: name, index: at.Index}
		}
	}
	return c, nil
}

func (c *structCodec) isEmpty(v reflect.Value) bool {
	for i := range c.fields {
		if f := &c.fields[i]; !f.codec.isEmpty(v.FieldByIndex(f.index)) {
			return false
		}
	}
	return true
}

// write leaves room for the header of a small map, and writes the header when it has counted the fields.
func (c *structCodec) write(w *recordWriter, v reflect.Value) {
	start := len(w.data)
	w.data = append(w.data, msgpcode.FixedMapLow)
	written := 0
	for i := range c.fields {
		f := &c.fields[i]
		field := v.FieldByIndex(f.index)
		if f.codec.isEmpty(field) {
			continue
		}
		w.data = append(w.data, f.key...)
		f.codec.write(w, field)
		written++
	}
	w.countFields(start, written)
}

func (c *structCodec) shape() shape { return mapShape }

func (c *structCodec) read(r *recordReader, h header, v reflect.Value) error {
	if err := r.enter(h.size, 2); err != nil {
		return err
	}
	next := 0
	for range h.size {
		name, err := r.name()
		if err != nil {
			return err
		}
		if f := c.find(name, &next); f == nil {
			err = r.skip()
		} else {
			err = r.value(f.codec, v.FieldByIndex(f.index))
		}
		if err != nil {
			return err
		}
	}
	r.leave()
	return nil
}

// find returns the field with a name, nil if this release does not know it. It tries the fields from next on first, because a
// writer with the same order of fields has the next one there.
func (c *structCodec) find(name []byte, next *int) *fieldCodec {
	for i := *next; i < len(c.fields); i++ {
		if f := &c.fields[i]; f.name == string(name) {
			*next = i + 1
			return f
		}
	}
	return c.byName[string(name)]
}
