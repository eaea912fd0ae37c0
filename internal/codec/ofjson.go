package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strconv"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// MsgpackOfJSON turns a valid JSON text into msgpack. Whole numbers that fit become integers of 64 bits. Other numbers become the
// nearest double, or their text if there is none.
func MsgpackOfJSON(text []byte) []byte {
	e := msgpackEncoder{Scanner: jsontext.NewScanner(text), out: recordWriter{data: make([]byte, 0, len(text))}}
	e.value()
	return e.out.data
}

// msgpackEncoder writes what it reads from a valid JSON text.
type msgpackEncoder struct {
	*jsontext.Scanner
	out recordWriter
}

func (e *msgpackEncoder) value() {
	switch e.Peek() {
	case '{':
		e.container(msgpcode.FixedMapLow, msgpcode.Map16, msgpcode.Map32, func() {
			e.out.text(e.Key())
			e.value()
		})
	case '[':
		e.container(msgpcode.FixedArrayLow, msgpcode.Array16, msgpcode.Array32, e.value)
	case '"':
		e.out.text(jsontext.Unquoted(e.Raw()))
	case 't', 'f', 'n':
		e.out.data = append(e.out.data, map[byte]byte{
			't': msgpcode.True, 'f': msgpcode.False, 'n': msgpcode.Nil,
		}[e.Raw()[0]])
	default:
		e.number(e.Raw())
	}
}

// container writes an object or list. It calls entry for each entry. The number of entries is known only at the end: the first
// byte has room for 15, and if there are more, the entries are moved.
func (e *msgpackEncoder) container(fixed, code16, code32 byte, entry func()) {
	e.Bracket()
	start, n := len(e.out.data), 0
	e.out.data = append(e.out.data, fixed)
	for ; e.More(); n++ {
		entry()
	}
	e.Bracket()
	switch {
	case n < 16:
		e.out.data[start] |= byte(n)
	case n <= math.MaxUint16:
		e.out.data[start] = code16
		e.out.data = slices.Insert(e.out.data, start+1, byte(n>>8), byte(n))
	default:
		e.out.data[start] = code32
		e.out.data = slices.Insert(e.out.data, start+1, binary.BigEndian.AppendUint32(nil, uint32(n))...)
	}
}

func (e *msgpackEncoder) number(text []byte) {
	if !bytes.ContainsAny(text, ".eE") && string(text) != "-0" {
		if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
			e.out.int(n)
			return
		}
		if n, err := strconv.ParseUint(string(text), 10, 64); err == nil {
			e.out.uint(n)
			return
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	switch {
	case err != nil: // beyond a double
		e.out.text(string(text))
	case float64(float32(f)) == f:
		e.out.data = binary.BigEndian.AppendUint32(append(e.out.data, msgpcode.Float), math.Float32bits(float32(f)))
	default:
		e.out.data = binary.BigEndian.AppendUint64(append(e.out.data, msgpcode.Double), math.Float64bits(f))
	}
}
