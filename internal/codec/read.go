package codec

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// Limits of a record, against hostile bytes.
const (
	// maxRecordEntries limits each list and map. The largest that is ever written is the buffer of a schedule with thousands of
	// runs in progress. An entry can be one byte in a record and hundreds of bytes in memory.
	maxRecordEntries = 1 << 16
	// maxRecordDepth limits nesting. Carillon's records need less than ten levels.
	maxRecordDepth = 64
)

// recordReader reads msgpack values. It checks each header before use: it allocates a list or map only if at least as many bytes
// follow as the header claims entries.
type recordReader struct {
	rest []byte
	// depth is the number of lists and maps around the next value.
	depth int
}

// readRecord reads body, which is exactly one value, into the zero value v.
func readRecord(body []byte, c codec, v reflect.Value) error {
	r := &recordReader{rest: body}
	if err := r.value(c, v); err != nil {
		return fmt.Errorf("%w: byte %d: %w", ErrFormat, len(body)-len(r.rest)+1, err)
	}
	if len(r.rest) > 0 {
		return fmt.Errorf("%w: %d bytes too many", ErrFormat, len(r.rest))
	}
	return nil
}

// value reads one value into v. Nil stands for the zero value, except for a whole record and for times.
func (r *recordReader) value(c codec, v reflect.Value) error {
	h, err := r.header()
	if err != nil {
		return err
	}
	want := c.shape()
	switch {
	case h.code == msgpcode.Nil && r.depth > 0 && want != extensionShape:
		v.SetZero()
		return nil
	case h.shape == want:
		return c.read(r, h, v)
	}
	return fmt.Errorf("%s where a %s is expected", h.shape, nameOf(v.Type()))
}

// nameOf returns the name of a type in errors: the name of the record, without its package.
func nameOf(t reflect.Type) string {
	if t == reflect.TypeFor[time.Time]() {
		return "time"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nameOf(t.Elem())
	case reflect.Slice:
		if t.Name() == "" {
			return "list of " + nameOf(t.Elem())
		}
	case reflect.Map:
		if t.Name() == "" {
			return "map of " + nameOf(t.Elem())
		}
	}
	return cmp.Or(t.Name(), t.String())
}

// skip reads a value of a field that this release does not know.
func (r *recordReader) skip() error {
	if r.depth > maxRecordDepth {
		return fmt.Errorf("nested more than %d levels deep", maxRecordDepth)
	}
	h, err := r.header()
	if err != nil {
		return err
	}
	if h.shape == listShape || h.shape == mapShape {
		return r.skipEntries(h)
	}
	_, err = r.take(h.size)
	return err
}

func (r *recordReader) skipEntries(h header) error {
	named := h.shape == mapShape
	minBytes := 1
	if named {
		minBytes = 2
	}
	if err := r.enter(h.size, minBytes); err != nil {
		return err
	}
	for range h.size {
		if named {
			if _, err := r.name(); err != nil {
				return err
			}
		}
		if err := r.skip(); err != nil {
			return err
		}
	}
	r.leave()
	return nil
}

// enter begins a list or map. It checks the claimed number of entries, each of at least minBytes, before any loop or allocation
// uses it.
func (r *recordReader) enter(size, minBytes int) error {
	switch {
	case size < 0 || size > maxRecordEntries: // below zero: it does not fit into an int of a 32-bit machine
		return tooManyEntries(size)
	case size*minBytes > len(r.rest):
		return errCutShort
	}
	r.depth++
	return nil
}

func (r *recordReader) leave() { r.depth-- }

// name reads the name of an entry.
func (r *recordReader) name() ([]byte, error) {
	h, err := r.header()
	if err != nil {
		return nil, err
	}
	if h.shape != textShape {
		return nil, fmt.Errorf("%s where a field name is expected", h.shape)
	}
	return r.take(h.size)
}

// int reads a number. A number that does not fit into its field wraps around.
func (r *recordReader) int(h header) (int64, error) {
	bits, err := r.bigEndian(h.size)
	if err != nil {
		return 0, err
	}
	return h.int(bits)
}

// int returns the number that bits encode.
func (h header) int(bits uint64) (int64, error) {
	switch {
	case msgpcode.IsFixedNum(h.code):
		return int64(int8(h.code)), nil
	case h.code >= msgpcode.Uint8 && h.code <= msgpcode.Uint64:
		return int64(bits), nil
	case h.code >= msgpcode.Int8 && h.code <= msgpcode.Int64:
		unused := 64 - 8*h.size
		return int64(bits<<unused) >> unused, nil
	}
	return 0, errScalar
}

// bigEndian reads a number of at most 8 bytes.
func (r *recordReader) bigEndian(size int) (n uint64, err error) {
	digits, err := r.take(size)
	for _, b := range digits {
		n = n<<8 | uint64(b)
	}
	return n, err
}

// time reads the timestamps that recordWriter writes.
func (r *recordReader) time(h header) (time.Time, error) {
	extension, err := r.take(h.size)
	if err != nil {
		return time.Time{}, err
	}
	if len(extension) == 0 || extension[0] != timeExtension {
		return time.Time{}, errors.New("an extension that is not a time")
	}
	var seconds uint64
	var nanoseconds int64
	switch stamp := extension[1:]; len(stamp) {
	case 4:
		seconds = uint64(binary.BigEndian.Uint32(stamp))
	case 8:
		both := binary.BigEndian.Uint64(stamp)
		seconds, nanoseconds = both&(1<<34-1), int64(both>>34)
	case 12:
		seconds, nanoseconds = binary.BigEndian.Uint64(stamp[4:]), int64(binary.BigEndian.Uint32(stamp))
	default:
		return time.Time{}, fmt.Errorf("a time of %d bytes", len(stamp))
	}
	return time.Unix(int64(seconds), nanoseconds).UTC(), nil
}

var errCutShort = errors.New("the data is cut short")

// take consumes n bytes.
func (r *recordReader) take(n int) ([]byte, error) {
	if n < 0 || n > len(r.rest) { // a negative n: the length does not fit into an int of a 32-bit machine
		return nil, errCutShort
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken, nil
}
