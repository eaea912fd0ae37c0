package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// FormatVersion is the first byte of everything [Marshal] writes. Within one version, fields may be added: older readers
// ignore them, newer ones read their absence as zero. Any other change of the format needs a new version.
const FormatVersion byte = 1

// ErrFormat is wrapped by the errors of [Unmarshal]: the bytes are not what Marshal writes, or were written by a release
// with another FormatVersion.
var ErrFormat = errors.New("not a record this release can read")

// Marshal encodes a record or message for storage: FormatVersion, then the value as msgpack, field names as in JSON, zero
// fields left out. It encodes the types of this package: structs with json tags, possibly embedded, whose fields are
// scalars, times, byte strings, and slices, string maps and pointers of those. Durations are nanoseconds; times keep
// their nanoseconds and lose their zone. The order of map entries varies, so bytes are not to be compared.
//
// Marshal fails for nil, for a value of another kind, and for one that Unmarshal would refuse: a list or map of more than 65,536
// entries. The result belongs to the caller. Safe for concurrent use.
func Marshal(v any) ([]byte, error) {
	w := encoders.Get().(*recordEncoder)
	defer w.release()
	w.buf.WriteByte(FormatVersion)
	if err := w.encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	record := w.buf.Bytes()
	if record[1] == msgpcode.Nil {
		return nil, fmt.Errorf("encode %T: there is no value", v)
	}
	if len(record) > maxRecordEntries { // a smaller one cannot hold too many entries
		if err := checkRecord(record[1:], reflect.TypeOf(v)); err != nil {
			return nil, fmt.Errorf("encode %T: %w", v, err)
		}
	}
	return bytes.Clone(record), nil
}

// Unmarshal decodes what Marshal wrote into the value that into points to. What it held before is replaced; on an error
// it is left alone.
//
// Times come back in UTC. Empty and nil slices, maps and byte strings are one and the same: they come back as nil. Fields
// unknown to the type are ignored: a newer release may have written them. Data that is empty, cut short, followed by
// more bytes, of another version or of another shape gives an error that wraps [ErrFormat].
//
// The data may come from anywhere: it is checked before it is decoded, so that it can claim neither more memory than in
// proportion to its own size nor a deep stack. The result does not refer to data. Safe for concurrent use.
func Unmarshal(data []byte, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("cannot decode into %T: it is not a pointer to a value", into)
	}
	t := target.Type().Elem()
	if err := checkVersion(data); err != nil {
		return fmt.Errorf("decode %s: %w", t, err)
	}
	if err := checkRecord(data[1:], t); err != nil {
		return fmt.Errorf("decode %s: %w", t, err)
	}
	fresh := reflect.New(t)
	if err := decodeRecord(data[1:], fresh); err != nil {
		return fmt.Errorf("decode %s: %w: %w", t, ErrFormat, err)
	}
	normalize(fresh.Elem())
	target.Elem().Set(fresh.Elem())
	return nil
}

func checkVersion(data []byte) error {
	switch {
	case len(data) == 0:
		return fmt.Errorf("%w: no data", ErrFormat)
	case data[0] != FormatVersion:
		return fmt.Errorf("%w: format version %d, this release reads version %d", ErrFormat, data[0], FormatVersion)
	}
	return nil
}

func decodeRecord(body []byte, into reflect.Value) error {
	decoder := decoders.Get().(*msgpack.Decoder)
	decoder.Reset(bytes.NewReader(body))
	decoder.SetCustomStructTag("json")
	err := decoder.DecodeValue(into.Elem())
	if len(body) <= maxPooledBytes {
		decoder.Reset(nil)
		decoders.Put(decoder)
	}
	return err
}

// The pools are our own. Those of the msgpack library are shared with the rest of the program.
var (
	encoders = sync.Pool{New: func() any { return newRecordEncoder() }}
	decoders = sync.Pool{New: func() any { return msgpack.NewDecoder(nil) }}
)

// maxPooledBytes keeps one large record from holding its memory for ever.
const maxPooledBytes = 64 << 10

// recordEncoder is an encoder with the buffer it writes to, for reuse.
type recordEncoder struct {
	buf     bytes.Buffer
	encoder *msgpack.Encoder
}

func newRecordEncoder() *recordEncoder {
	w := new(recordEncoder)
	w.encoder = msgpack.NewEncoder(&w.buf)
	w.encoder.SetCustomStructTag("json")
	w.encoder.SetOmitEmpty(true)
	w.encoder.UseCompactInts(true)
	w.encoder.SetSortMapKeys(true)
	return w
}

func (w *recordEncoder) release() {
	if w.buf.Cap() <= maxPooledBytes {
		w.buf.Reset()
		encoders.Put(w)
	}
}
