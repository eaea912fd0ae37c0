package schedule

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"
)

// decodeChecked reads data, which checkJSON has accepted, into the zero value v.
func decodeChecked(data []byte, v reflect.Value) error {
	d := textDecoder{json.NewDecoder(bytes.NewReader(data))}
	d.UseNumber()
	present, err := d.value("", v)
	if err == nil && !present {
		err = mismatch("", v.Type(), "null")
	}
	return err
}

// textDecoder walks a JSON text and a Go type side by side. It nests as deep as the type does, not as the text.
type textDecoder struct{ *json.Decoder }

// value reads the next JSON value into v and reports whether there was one other than null. Null leaves v alone.
func (d textDecoder) value(path string, v reflect.Value) (present bool, err error) {
	t := v.Type()
	switch {
	case isLeaf(t):
		return d.leaf(path, v)
	case t.Kind() == reflect.Pointer:
		return d.pointer(path, v)
	}
	want := json.Delim('{')
	if t.Kind() == reflect.Slice {
		want = json.Delim('[')
	}
	token, err := d.Token()
	if err != nil || token == nil {
		return false, err
	}
	if token != want {
		return false, mismatch(path, t, describeToken(token))
	}
	switch t.Kind() {
	case reflect.Struct:
		err = d.object(path, v)
	case reflect.Map:
		err = d.entries(path, v)
	case reflect.Slice:
		err = d.list(path, v)
	default:
		err = Errorf(CodeInternal, "cannot read JSON into a %s", t)
	}
	if err == nil {
		_, err = d.Token() // the closing bracket
	}
	return true, err
}

func (d textDecoder) pointer(path string, v reflect.Value) (present bool, err error) {
	pointee := reflect.New(v.Type().Elem())
	present, err = d.value(path, pointee.Elem())
	if present {
		v.Set(pointee)
	}
	return present, err
}

func (d textDecoder) object(path string, v reflect.Value) error {
	fields := fieldsOf(v.Type())
	for d.More() {
		key, err := d.key()
		if err != nil {
			return err
		}
		field, known := fields.byName[key]
		if !known {
			return unknownField(joinKey(path, key), key, fields.names)
		}
		if _, err := d.value(joinKey(path, key), v.FieldByIndex(field.index)); err != nil {
			return err
		}
	}
	return nil
}

// entries reads the entries of an object into a map with string keys. An empty object leaves the map nil.
func (d textDecoder) entries(path string, v reflect.Value) error {
	t := v.Type()
	for d.More() {
		key, err := d.key()
		if err != nil {
			return err
		}
		entry := reflect.New(t.Elem()).Elem()
		if err := d.required(joinKey(path, key), entry); err != nil {
			return err
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(t))
		}
		v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), entry)
	}
	return nil
}

// list reads the elements of a list. An empty one leaves the slice nil.
func (d textDecoder) list(path string, v reflect.Value) error {
	zero := reflect.Zero(v.Type().Elem())
	for i := 0; d.More(); i++ {
		v.Set(reflect.Append(v, zero))
		if err := d.required(indexed(path, i), v.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// required reads an element of a list or map, where null has no meaning.
func (d textDecoder) required(path string, v reflect.Value) error {
	present, err := d.value(path, v)
	if err == nil && !present {
		err = mismatch(path, v.Type(), "null")
	}
	return err
}

func (d textDecoder) key() (string, error) {
	token, err := d.Token()
	key, _ := token.(string)
	return key, err
}

// leaf reads a value whose type encoding/json knows how to read, or that reads itself.
func (d textDecoder) leaf(path string, v reflect.Value) (present bool, err error) {
	var text json.RawMessage
	if err := d.Decode(&text); err != nil {
		return false, err
	}
	if v.Type() == rawType {
		v.SetBytes(compacted(text))
		return true, nil
	}
	if string(text) == "null" {
		return false, nil
	}
	if err := json.Unmarshal(text, v.Addr().Interface()); err != nil {
		return true, leafError(path, v.Type(), text, err)
	}
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		return true, toUTC(path, t)
	}
	return true, nil
}

// compacted returns text, which is valid, without its white space: what is printed and read again stays the same.
func compacted(text []byte) []byte {
	var buf bytes.Buffer
	buf.Grow(len(text))
	if err := json.Compact(&buf, text); err != nil {
		return text
	}
	return buf.Bytes()
}

// toUTC makes t UTC. A time with an offset can leave, by that, the years that RFC 3339 can write.
func toUTC(path string, t *time.Time) error {
	*t = t.UTC()
	if year := t.Year(); year < 0 || year > 9999 {
		return Invalid(path, "is out of range: use the years 0000 to 9999 in UTC")
	}
	return nil
}
