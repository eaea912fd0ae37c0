package schedule

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Limits of what people hand in, as JSON or YAML.
const (
	// MaxTextBytes is the largest JSON or YAML document that is read, aliases expanded. Several documents may be larger together.
	// A single request is bounded further by the message size of NATS.
	MaxTextBytes = 4 << 20
	// MaxTextDepth is how deep objects and lists may nest in all, the input of an action included.
	MaxTextDepth = 200
)

// DecodeJSON reads one JSON document of at most [MaxTextBytes] into the value that into points to, and is strict where
// encoding/json is lenient:
//
//   - field names match exactly, case included; an unknown one is an error that names the field that was meant;
//   - a key that stands twice in one object, text after the document, and invalid UTF-8 are errors;
//   - null means absent, for fields; as an element of a list or map it is an error. Where any JSON value is accepted
//     (json.RawMessage), null is a value like others;
//   - nesting is bounded by [MaxTextDepth].
//
// Times come out in UTC, empty lists and maps as nil, raw JSON without insignificant white space. What into held before
// is replaced; on an error it is left alone.
//
// Errors are an [*Error] with CodeInvalidArgument that names the path of the offending field. An into that is not a
// pointer is a defect of the caller: CodeInternal.
func DecodeJSON(data []byte, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return Errorf(CodeInternal, "cannot decode into %T: it is not a pointer to a value", into)
	}
	if err := checkSize(len(data)); err != nil {
		return err
	}
	if err := checkJSON(data, MaxTextDepth); err != nil {
		return err
	}
	fresh := reflect.New(target.Type().Elem()).Elem()
	if err := decodeChecked(data, fresh); err != nil {
		return err
	}
	target.Elem().Set(fresh)
	return nil
}

// EncodeJSON writes v as compact JSON that DecodeJSON reads back as v. Unlike json.Marshal it leaves <, > and & alone,
// so raw JSON in v comes out byte for byte.
func EncodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, Errorf(CodeInvalidArgument, "cannot be written as JSON: %v", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func checkSize(size int) error {
	if size > MaxTextBytes {
		return Errorf(CodeInvalidArgument, "the text is too large: at most %d bytes (4 MiB) are read", MaxTextBytes)
	}
	return nil
}
