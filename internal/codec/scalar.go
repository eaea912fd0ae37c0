package codec

import (
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// errScalar is for a scalar of the wrong kind, for example a number in place of a truth value.
var errScalar = errors.New("a scalar of another kind than expected")

type textCodec struct{}

func (textCodec) isEmpty(v reflect.Value) bool { return v.Len() == 0 }

func (textCodec) write(w *recordWriter, v reflect.Value) { w.text(v.String()) }

func (textCodec) shape() shape { return textShape }

func (textCodec) read(r *recordReader, h header, v reflect.Value) error {
	text, err := r.take(h.size)
	v.SetString(string(text))
	return err
}

// bytesCodec is for byte strings, including raw JSON. It reads empty and nil ones as nil.
type bytesCodec struct{}

func (bytesCodec) isEmpty(v reflect.Value) bool { return v.Len() == 0 }

func (bytesCodec) write(w *recordWriter, v reflect.Value) {
	if v.IsNil() {
		w.data = append(w.data, msgpcode.Nil)
		return
	}
	w.bytes(v.Bytes())
}

func (bytesCodec) shape() shape { return textShape }

func (bytesCodec) read(r *recordReader, h header, v reflect.Value) error {
	taken, err := r.take(h.size)
	v.SetBytes(append([]byte(nil), taken...))
	return err
}

type boolCodec struct{}

func (boolCodec) isEmpty(v reflect.Value) bool { return !v.Bool() }

func (boolCodec) write(w *recordWriter, v reflect.Value) {
	code := msgpcode.False
	if v.Bool() {
		code = msgpcode.True
	}
	w.data = append(w.data, code)
}

func (boolCodec) shape() shape { return scalarShape }

func (boolCodec) read(_ *recordReader, h header, v reflect.Value) error {
	if h.code != msgpcode.True && h.code != msgpcode.False {
		return errScalar
	}
	v.SetBool(h.code == msgpcode.True)
	return nil
}

// intCodec is for signed numbers, including durations.
type intCodec struct{}

func (intCodec) isEmpty(v reflect.Value) bool { return v.Int() == 0 }

func (intCodec) write(w *recordWriter, v reflect.Value) { w.int(v.Int()) }

func (intCodec) shape() shape { return scalarShape }

func (intCodec) read(r *recordReader, h header, v reflect.Value) error {
	n, err := r.int(h)
	v.SetInt(n)
	return err
}

type uintCodec struct{}

func (uintCodec) isEmpty(v reflect.Value) bool { return v.Uint() == 0 }

func (uintCodec) write(w *recordWriter, v reflect.Value) { w.uint(v.Uint()) }

func (uintCodec) shape() shape { return scalarShape }

func (uintCodec) read(r *recordReader, h header, v reflect.Value) error {
	n, err := r.int(h)
	v.SetUint(uint64(n))
	return err
}

type floatCodec struct{}

func (floatCodec) isEmpty(v reflect.Value) bool { return v.Float() == 0 }

func (floatCodec) write(w *recordWriter, v reflect.Value) {
	w.data = append(w.data, msgpcode.Double)
	w.data = binary.BigEndian.AppendUint64(w.data, math.Float64bits(v.Float()))
}

func (floatCodec) shape() shape { return scalarShape }

func (floatCodec) read(r *recordReader, h header, v reflect.Value) error {
	bits, err := r.bigEndian(h.size)
	switch h.code {
	case msgpcode.Double:
		v.SetFloat(math.Float64frombits(bits))
	case msgpcode.Float:
		v.SetFloat(float64(math.Float32frombits(uint32(bits))))
	default:
		var n int64
		n, err = h.int(bits)
		v.SetFloat(float64(n))
	}
	return err
}

// timeCodec is for times, as timestamps of msgpack. It reads them as UTC.
type timeCodec struct{}

func (timeCodec) isEmpty(v reflect.Value) bool { return timeOf(v).IsZero() }

func (timeCodec) write(w *recordWriter, v reflect.Value) { w.time(timeOf(v)) }

func timeOf(v reflect.Value) time.Time {
	t, _ := reflect.TypeAssert[time.Time](v)
	return t
}

func (timeCodec) shape() shape { return extensionShape }

func (timeCodec) read(r *recordReader, h header, v reflect.Value) error {
	t, err := r.time(h)
	target, _ := reflect.TypeAssert[*time.Time](v.Addr())
	*target = t
	return err
}
