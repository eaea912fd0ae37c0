package schedule

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Limits of a record, against hostile bytes.
const (
	// maxRecordEntries bounds each list and map. The largest that is ever written is the buffer of a schedule with
	// thousands of runs in progress. An entry can be one byte in a record and hundreds in memory.
	maxRecordEntries = 1 << 16
	// maxRecordDepth bounds nesting; the types of this package need less than ten levels.
	maxRecordDepth = 64
)

// checkRecord checks that body is exactly one msgpack value which can be decoded into type t at a cost in proportion to
// its size. The msgpack library needs that: it allocates lists of whatever length they claim to have, skips unknown
// fields by recursion, and takes an extension in the place of a map for a map header hidden in it. Whether scalars suit
// their fields is left to the library.
func checkRecord(body []byte, t reflect.Type) error {
	r := recordReader{rest: body}
	if err := r.value(t, 0); err != nil {
		return fmt.Errorf("%w: byte %d: %w", ErrFormat, len(body)-len(r.rest)+1, err)
	}
	if len(r.rest) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrFormat, len(r.rest))
	}
	return nil
}

// recordReader walks a msgpack value and a Go type side by side.
type recordReader struct{ rest []byte }

// shape is what a msgpack value looks like, apart from what it means.
type shape string

const (
	scalarShape    shape = "a scalar"
	textShape      shape = "text"
	listShape      shape = "a list"
	mapShape       shape = "a map"
	extensionShape shape = "a time"
)

// value reads one value. A nil type stands for a field that this release does not know.
func (r *recordReader) value(t reflect.Type, depth int) error {
	if depth > maxRecordDepth {
		return fmt.Errorf("nested more than %d levels deep", maxRecordDepth)
	}
	isNil := len(r.rest) > 0 && r.rest[0] == msgpcode.Nil
	found, size, err := r.header()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	nilAllowed := depth > 0 && t != timeType
	if !suits(found, t) && !(isNil && nilAllowed) {
		return fmt.Errorf("%s where a %s is expected", found, t)
	}
	switch found {
	case listShape:
		return r.list(t, size, depth)
	case mapShape:
		return r.entries(t, size, depth)
	}
	_, err = r.take(size)
	return err
}

// suits reports whether a value of type t, if it is known, can have that shape.
func suits(found shape, t reflect.Type) bool {
	if t == nil || t.Kind() == reflect.Interface {
		return true
	}
	switch {
	case t == timeType:
		return found == extensionShape
	case isBytes(t):
		return found == textShape
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return found == mapShape
	case reflect.Slice:
		return found == listShape
	case reflect.String:
		return found == textShape
	}
	return found == scalarShape
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func (r *recordReader) list(t reflect.Type, size, depth int) error {
	if err := r.checkEntries(size, 1); err != nil {
		return err
	}
	if t != nil && t.Kind() == reflect.Slice {
		t = t.Elem()
	} else {
		t = nil
	}
	for range size {
		if err := r.value(t, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (r *recordReader) entries(t reflect.Type, size, depth int) error {
	if err := r.checkEntries(size, 2); err != nil {
		return err
	}
	var fields *structFields
	if t != nil && t.Kind() == reflect.Struct {
		fields, t = fieldsOf(t), nil
	} else if t != nil && t.Kind() == reflect.Map {
		t = t.Elem()
	}
	for range size {
		key, err := r.key()
		if err != nil {
			return err
		}
		if fields != nil {
			t = fields.storedType(key)
		}
		if err := r.value(t, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkEntries checks a claimed number of entries, each of at least minBytes, before any loop or allocation trusts it.
func (r *recordReader) checkEntries(size, minBytes int) error {
	switch {
	case size < 0 || size > maxRecordEntries:
		return fmt.Errorf("%d entries, at most %d are accepted", size, maxRecordEntries)
	case size*minBytes > len(r.rest):
		return errCutShort
	}
	return nil
}

func (r *recordReader) key() ([]byte, error) {
	found, size, err := r.header()
	if err != nil {
		return nil, err
	}
	if found != textShape {
		return nil, fmt.Errorf("%s where a field name is expected", found)
	}
	return r.take(size)
}

// storedType returns the type of the field that is stored under name, nil if there is none. The library also accepts an
// embedded struct under the name of its type.
func (f *structFields) storedType(name []byte) reflect.Type {
	if field, known := f.byName[string(name)]; known {
		return field.typ
	}
	return f.embedded[string(name)]
}

var errCutShort = errors.New("the data is cut short")

// take consumes n bytes.
func (r *recordReader) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.rest) { // a negative n: a length beyond int, on 32-bit machines
		return nil, errCutShort
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken, nil
}

// header consumes what stands in front of a value and returns the size of the value: in bytes, or for lists and maps in
// entries.
func (r *recordReader) header() (found shape, size int, err error) {
	first, err := r.take(1)
	if err != nil {
		return "", 0, err
	}
	code := first[0]
	switch {
	case msgpcode.IsFixedNum(code):
		return scalarShape, 0, nil
	case msgpcode.IsFixedMap(code):
		return mapShape, int(code & msgpcode.FixedMapMask), nil
	case msgpcode.IsFixedArray(code):
		return listShape, int(code & msgpcode.FixedArrayMask), nil
	case msgpcode.IsFixedString(code):
		return textShape, int(code & msgpcode.FixedStrMask), nil
	}
	h, known := headers[code]
	if !known {
		return "", 0, fmt.Errorf("no value begins with %#x", code)
	}
	length, err := r.take(h.lengthBytes)
	size = h.size
	for _, b := range length {
		size = size<<8 | int(b)
	}
	if h.shape == extensionShape {
		size++ // the type of the extension
	}
	return h.shape, size, err
}

// headers describe the first bytes that do not hold their size themselves: either the size is fixed or a length of so
// many bytes follows.
var headers = map[byte]struct {
	shape       shape
	size        int
	lengthBytes int
}{
	msgpcode.Nil:      {scalarShape, 0, 0},
	msgpcode.False:    {scalarShape, 0, 0},
	msgpcode.True:     {scalarShape, 0, 0},
	msgpcode.Uint8:    {scalarShape, 1, 0},
	msgpcode.Uint16:   {scalarShape, 2, 0},
	msgpcode.Uint32:   {scalarShape, 4, 0},
	msgpcode.Uint64:   {scalarShape, 8, 0},
	msgpcode.Int8:     {scalarShape, 1, 0},
	msgpcode.Int16:    {scalarShape, 2, 0},
	msgpcode.Int32:    {scalarShape, 4, 0},
	msgpcode.Int64:    {scalarShape, 8, 0},
	msgpcode.Float:    {scalarShape, 4, 0},
	msgpcode.Double:   {scalarShape, 8, 0},
	msgpcode.Str8:     {textShape, 0, 1},
	msgpcode.Str16:    {textShape, 0, 2},
	msgpcode.Str32:    {textShape, 0, 4},
	msgpcode.Bin8:     {textShape, 0, 1},
	msgpcode.Bin16:    {textShape, 0, 2},
	msgpcode.Bin32:    {textShape, 0, 4},
	msgpcode.Array16:  {listShape, 0, 2},
	msgpcode.Array32:  {listShape, 0, 4},
	msgpcode.Map16:    {mapShape, 0, 2},
	msgpcode.Map32:    {mapShape, 0, 4},
	msgpcode.FixExt1:  {extensionShape, 1, 0},
	msgpcode.FixExt2:  {extensionShape, 2, 0},
	msgpcode.FixExt4:  {extensionShape, 4, 0},
	msgpcode.FixExt8:  {extensionShape, 8, 0},
	msgpcode.FixExt16: {extensionShape, 16, 0},
	msgpcode.Ext8:     {extensionShape, 0, 1},
	msgpcode.Ext16:    {extensionShape, 0, 2},
	msgpcode.Ext32:    {extensionShape, 0, 4},
}
