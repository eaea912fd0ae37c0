package codec

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// FormatVersion is the first byte of everything that [Marshal] writes. Within one version, fields may be added: older readers
// ignore them, and newer readers take missing ones for zero. Any other change of the format needs a new version.
const FormatVersion byte = 1

// ErrFormat is wrapped by the errors of [Unmarshal]: Marshal did not write the bytes, or a release with another FormatVersion
// did.
var ErrFormat = errors.New("not a record this release can read")

var errNoValue = errors.New("there is no value")

// Marshal encodes a record or message for storage: FormatVersion, then the value as msgpack, with field names as in JSON and
// without zero fields. It encodes the types of Carillon's records: structs with json tags, possibly embedded, whose fields are
// scalars, times, byte strings, and slices, string maps and pointers of those. Durations are nanoseconds; times keep their
// nanoseconds and lose their zone. The order of map entries varies, so do not compare the bytes.
//
// Marshal fails for nil, for a value of another kind, and for a value that Unmarshal would refuse: a list or map of more than
// 65,536 entries. The result belongs to the caller. Safe for concurrent use.
func Marshal(v any) ([]byte, error) {
	if v == nil {
		return nil, fmt.Errorf("encode %T: %w", v, errNoValue)
	}
	c, err := codecOf(reflect.TypeOf(v))
	if err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	w := writers.Get().(*recordWriter)
	defer w.release()
	w.data = append(w.data, FormatVersion)
	c.write(w, reflect.ValueOf(v))
	switch {
	case w.err != nil:
		return nil, fmt.Errorf("encode %T: %w", v, w.err)
	case w.data[1] == msgpcode.Nil:
		return nil, fmt.Errorf("encode %T: %w", v, errNoValue)
	}
	return bytes.Clone(w.data), nil
}

// Unmarshal decodes what Marshal wrote into the value that into points to. It replaces the previous contents; on an error it
// leaves them unchanged.
//
// Times are decoded as UTC. Empty and nil slices, maps and byte strings are the same: they are decoded as nil. Fields that the
// type does not have are ignored, because a newer release may have written them. The error wraps [ErrFormat] if the data is
// empty, cut short, followed by more bytes, of another version or of another shape.
//
// The data may come from anywhere. Unmarshal checks each claim in it before use, so that its memory is at most proportional to
// the size of the data, and its stack is not deep. The result does not refer to data. Safe for concurrent use.
func Unmarshal(data []byte, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return fmt.Errorf("cannot decode into %T: it is not a pointer to a value", into)
	}
	t := target.Type().Elem()
	if err := checkVersion(data); err != nil {
		return fmt.Errorf("decode %s: %w", nameOf(t), err)
	}
	c, err := codecOf(t)
	if err != nil {
		return fmt.Errorf("decode %s: %w", nameOf(t), err)
	}
	fresh := reflect.New(t).Elem()
	if err := readRecord(data[1:], c, fresh); err != nil {
		return fmt.Errorf("decode %s: %w", nameOf(t), err)
	}
	target.Elem().Set(fresh)
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
