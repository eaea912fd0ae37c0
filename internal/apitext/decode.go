package apitext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/suggest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// decodeChecked reads data, which checkJSON has accepted, into the zero value v.
func decodeChecked(data []byte, v reflect.Value) error {
	d := textDecoder{jsontext.NewScanner(data)}
	present, err := d.value(nil, v)
	if err == nil && !present {
		err = mismatch("", v.Type(), "null")
	}
	return err
}

// place is the position of a value in a text: under a key of the value at up, or at an index if the key is missing. It becomes a
// path only for an error.
type place struct {
	up    *place
	key   string
	index int
}

func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.index >= 0:
		return jsontext.Indexed(p.up.String(), p.index)
	}
	return jsontext.JoinKey(p.up.String(), p.key)
}

// textDecoder walks a JSON text and a Go type side by side. It nests as deep as the type, not as the text.
type textDecoder struct{ *jsontext.Scanner }

// value reads the next JSON value into v and reports whether it was present, that is, not null. Null leaves v unchanged.
func (d *textDecoder) value(at *place, v reflect.Value) (present bool, err error) {
	t := v.Type()
	switch {
	case isLeaf(t):
		return d.leaf(at, v)
	case t.Kind() == reflect.Pointer:
		return d.pointer(at, v)
	}
	want := byte('{')
	if t.Kind() == reflect.Slice {
		want = '['
	}
	switch first := d.Peek(); {
	case first == 'n':
		d.Raw()
		return false, nil
	case first != want:
		return false, mismatch(at.String(), t, jsontext.Describe(d.Raw()))
	}
	d.Bracket()
	switch t.Kind() {
	case reflect.Struct:
		err = d.object(at, v)
	case reflect.Map:
		err = d.entries(at, v)
	case reflect.Slice:
		err = d.list(at, v)
	default:
		err = schedule.Errorf(schedule.CodeInternal, "cannot read JSON into a %s", t)
	}
	d.Bracket()
	return true, err
}

func (d *textDecoder) pointer(at *place, v reflect.Value) (present bool, err error) {
	pointee := reflect.New(v.Type().Elem())
	present, err = d.value(at, pointee.Elem())
	if present {
		v.Set(pointee)
	}
	return present, err
}

func (d *textDecoder) object(at *place, v reflect.Value) error {
	fields := jsontext.FieldsOf(v.Type())
	for d.More() {
		here := place{up: at, key: d.Key(), index: -1}
		field, known := fields.ByName[here.key]
		if !known {
			return unknownField(here.String(), here.key, fields.Names)
		}
		if _, err := d.value(&here, v.FieldByIndex(field.Index)); err != nil {
			return err
		}
	}
	return nil
}

// entries reads the entries of an object into a map with string keys. An empty object leaves the map nil.
func (d *textDecoder) entries(at *place, v reflect.Value) error {
	t := v.Type()
	for d.More() {
		here := place{up: at, key: d.Key(), index: -1}
		entry := reflect.New(t.Elem()).Elem()
		if err := d.required(&here, entry); err != nil {
			return err
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(t))
		}
		v.SetMapIndex(reflect.ValueOf(here.key).Convert(t.Key()), entry)
	}
	return nil
}

// list reads the elements of a list. An empty one leaves the slice nil.
func (d *textDecoder) list(at *place, v reflect.Value) error {
	zero := reflect.Zero(v.Type().Elem())
	for i := 0; d.More(); i++ {
		v.Set(reflect.Append(v, zero))
		if err := d.required(&place{up: at, index: i}, v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// required reads an element of a list or map, where null has no meaning.
func (d *textDecoder) required(at *place, v reflect.Value) error {
	present, err := d.value(at, v)
	if err == nil && !present {
		err = mismatch(at.String(), v.Type(), "null")
	}
	return err
}

// leaf reads a value whose type encoding/json can read, or that reads itself.
func (d *textDecoder) leaf(at *place, v reflect.Value) (present bool, err error) {
	text := d.Raw()
	switch {
	case v.Type() == rawType:
		v.SetBytes(compacted(text))
		return true, nil
	case string(text) == "null":
		return false, nil
	case isText(v.Type()) && jsontext.IsPlain(text):
		v.SetString(string(text[1 : len(text)-1]))
		return true, nil
	}
	if err := json.Unmarshal(text, v.Addr().Interface()); err != nil {
		return true, leafError(at.String(), v.Type(), text, err)
	}
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		return true, toUTC(at, t)
	}
	return true, nil
}

// compacted returns a valid text without its white space, so that printing and reading it again does not change it.
func compacted(text []byte) []byte {
	var buf bytes.Buffer
	buf.Grow(len(text))
	if err := json.Compact(&buf, text); err != nil {
		return text
	}
	return buf.Bytes()
}

// toUTC converts t to UTC. The conversion of a time with an offset can leave the years that RFC 3339 can write.
func toUTC(at *place, t *time.Time) error {
	*t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return schedule.Invalid(at.String(), "is out of range: use the years 0000 to 9999 in UTC")
	}
	return nil
}

// unknownField returns the error for a field name that is not a known one.
func unknownField(path, name string, known []string) error {
	if meant := suggest.Nearest(name, known); meant != "" {
		return schedule.Invalid(path, "unknown field, did you mean %s?", meant)
	}
	if len(known) == 0 {
		return schedule.Invalid(path, "unknown field: none are accepted here")
	}
	return schedule.Invalid(path, "unknown field: use one of %s", strings.Join(known, ", "))
}
