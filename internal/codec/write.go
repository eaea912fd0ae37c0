package codec

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// recordWriter appends msgpack values to data, each in its shortest form.
type recordWriter struct {
	data []byte
	// err is the first error. What is written after it does not count.
	err error
}

// writers keeps writers for reuse, with the memory of their data.
var writers = sync.Pool{New: func() any { return new(recordWriter) }}

// maxPooledBytes prevents one large record from keeping its memory in the pool forever.
const maxPooledBytes = 64 << 10

// release makes w available to other calls.
func (w *recordWriter) release() {
	if cap(w.data) <= maxPooledBytes {
		w.data, w.err = w.data[:0], nil
		writers.Put(w)
	}
}

func (w *recordWriter) text(s string) {
	if len(s) < 32 {
		w.data = append(w.data, msgpcode.FixedStrLow|byte(len(s)))
	} else {
		w.length(len(s), msgpcode.Str8, msgpcode.Str16, msgpcode.Str32)
	}
	w.data = append(w.data, s...)
}

func (w *recordWriter) bytes(b []byte) {
	w.length(len(b), msgpcode.Bin8, msgpcode.Bin16, msgpcode.Bin32)
	w.data = append(w.data, b...)
}

// length writes a length after the code for lengths of its size.
func (w *recordWriter) length(n int, code8, code16, code32 byte) {
	if n <= math.MaxUint8 {
		w.data = append(w.data, code8, byte(n))
	} else {
		w.longLength(n, code16, code32)
	}
}

func (w *recordWriter) longLength(n int, code16, code32 byte) {
	if n <= math.MaxUint16 {
		w.data = binary.BigEndian.AppendUint16(append(w.data, code16), uint16(n))
	} else {
		w.data = binary.BigEndian.AppendUint32(append(w.data, code32), uint32(n))
	}
}

func (w *recordWriter) listHeader(n int) {
	w.entries(n, msgpcode.FixedArrayLow, msgpcode.Array16, msgpcode.Array32)
}

func (w *recordWriter) mapHeader(n int) {
	w.entries(n, msgpcode.FixedMapLow, msgpcode.Map16, msgpcode.Map32)
}

// entries writes how many entries follow.
func (w *recordWriter) entries(n int, fixed, code16, code32 byte) {
	if n < 16 {
		w.data = append(w.data, fixed|byte(n))
	} else {
		w.longLength(n, code16, code32)
	}
	if n > maxRecordEntries && w.err == nil {
		w.err = tooManyEntries(n)
	}
}

func tooManyEntries(n int) error {
	return fmt.Errorf("%d entries, at most %d are accepted", n, maxRecordEntries)
}

// countFields completes the map header at start. So far only the first byte of its shortest form has been written.
func (w *recordWriter) countFields(start, n int) {
	if n < 16 {
		w.data[start] |= byte(n)
		return
	}
	w.data[start] = msgpcode.Map16
	w.data = slices.Insert(w.data, start+1, byte(n>>8), byte(n))
}

func (w *recordWriter) int(n int64) {
	switch {
	case n >= 0:
		w.uint(uint64(n))
	case n >= int64(int8(msgpcode.NegFixedNumLow)):
		w.data = append(w.data, byte(n))
	case n >= math.MinInt8:
		w.data = append(w.data, msgpcode.Int8, byte(n))
	case n >= math.MinInt16:
		w.data = binary.BigEndian.AppendUint16(append(w.data, msgpcode.Int16), uint16(n))
	case n >= math.MinInt32:
		w.data = binary.BigEndian.AppendUint32(append(w.data, msgpcode.Int32), uint32(n))
	default:
		w.data = binary.BigEndian.AppendUint64(append(w.data, msgpcode.Int64), uint64(n))
	}
}

func (w *recordWriter) uint(n uint64) {
	switch {
	case n <= uint64(msgpcode.PosFixedNumHigh):
		w.data = append(w.data, byte(n))
	case n <= math.MaxUint8:
		w.data = append(w.data, msgpcode.Uint8, byte(n))
	case n <= math.MaxUint16:
		w.data = binary.BigEndian.AppendUint16(append(w.data, msgpcode.Uint16), uint16(n))
	case n <= math.MaxUint32:
		w.data = binary.BigEndian.AppendUint32(append(w.data, msgpcode.Uint32), uint32(n))
	default:
		w.data = binary.BigEndian.AppendUint64(append(w.data, msgpcode.Uint64), n)
	}
}

// timeExtension is the type of the extension for times, -1.
const timeExtension = 0xff

// time writes seconds and nanoseconds since 1970 in 4 bytes if those suffice, otherwise in 8 or in 12.
func (w *recordWriter) time(t time.Time) {
	seconds, nanoseconds := uint64(t.Unix()), uint64(t.Nanosecond())
	switch {
	case seconds>>34 != 0:
		w.data = append(w.data, msgpcode.Ext8, 12, timeExtension)
		w.data = binary.BigEndian.AppendUint32(w.data, uint32(nanoseconds))
		w.data = binary.BigEndian.AppendUint64(w.data, seconds)
	case seconds>>32 != 0 || nanoseconds != 0:
		w.data = append(w.data, msgpcode.FixExt8, timeExtension)
		w.data = binary.BigEndian.AppendUint64(w.data, nanoseconds<<34|seconds)
	default:
		w.data = append(w.data, msgpcode.FixExt4, timeExtension)
		w.data = binary.BigEndian.AppendUint32(w.data, uint32(seconds))
	}
}
