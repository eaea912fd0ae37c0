package codec

import (
	"fmt"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// shape is the outer form of a msgpack value, without its meaning.
type shape byte

const (
	noShape shape = iota
	scalarShape
	textShape
	listShape
	mapShape
	extensionShape
)

// String returns the name of the shape in errors.
func (s shape) String() string {
	return [...]string{"nothing", "a scalar", "text", "a list", "a map", "a time"}[s]
}

// header is the header in front of a value.
type header struct {
	code  byte
	shape shape
	// size is the size of the value: in bytes, or in entries for lists and maps.
	size int
}

// header consumes a header.
func (r *recordReader) header() (header, error) {
	if len(r.rest) == 0 {
		return header{}, errCutShort
	}
	code := r.rest[0]
	r.rest = r.rest[1:]
	form := &headerForms[code]
	h := header{code: code, shape: form.shape, size: int(form.size)}
	switch {
	case form.shape == noShape:
		return h, fmt.Errorf("no value begins with %#x", code)
	case form.lengthBytes > 0:
		length, err := r.bigEndian(int(form.lengthBytes))
		h.size += int(length)
		return h, err
	}
	return h, nil
}

// headerForm is what the first byte of a value says. Either the size is fixed, or a length of some bytes follows that is added to
// it: extensions have one byte more for their type.
type headerForm struct {
	shape       shape
	size        byte
	lengthBytes byte
}

// headerForms are the forms by first byte.
var headerForms = withShortForms(map[byte]headerForm{
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
	msgpcode.FixExt1:  {extensionShape, 2, 0},
	msgpcode.FixExt2:  {extensionShape, 3, 0},
	msgpcode.FixExt4:  {extensionShape, 5, 0},
	msgpcode.FixExt8:  {extensionShape, 9, 0},
	msgpcode.FixExt16: {extensionShape, 17, 0},
	msgpcode.Ext8:     {extensionShape, 1, 1},
	msgpcode.Ext16:    {extensionShape, 1, 2},
	msgpcode.Ext32:    {extensionShape, 1, 4},
})

// withShortForms adds the first bytes that contain a small number or size.
func withShortForms(others map[byte]headerForm) (forms [256]headerForm) {
	for i := range forms {
		code := byte(i)
		switch {
		case msgpcode.IsFixedNum(code):
			forms[i].shape = scalarShape
		case msgpcode.IsFixedString(code):
			forms[i] = headerForm{textShape, code & msgpcode.FixedStrMask, 0}
		case msgpcode.IsFixedArray(code):
			forms[i] = headerForm{listShape, code & msgpcode.FixedArrayMask, 0}
		case msgpcode.IsFixedMap(code):
			forms[i] = headerForm{mapShape, code & msgpcode.FixedMapMask, 0}
		default:
			forms[i] = others[code]
		}
	}
	return forms
}
