package apitext

import (
	"reflect"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// DecodeJSON reads one JSON document of at most [jsontext.MaxBytes] into the value that into points to. It is strict where
// encoding/json is lenient:
//
//   - Field names match exactly, including case. An unknown one is an error that suggests the field that was meant.
//   - A repeated key in one object, text after the document, and invalid UTF-8 are errors.
//   - Null means absent for fields, and is an error as an element of a list or map. Where any JSON value is accepted
//     (json.RawMessage), null is an ordinary value.
//   - Nesting is bounded by [jsontext.MaxDepth].
//
// Times come out in UTC, empty lists and maps as nil, raw JSON without insignificant white space. The old contents of into are
// replaced; on an error they stay.
//
// Errors are an [*schedule.Error] with CodeInvalidArgument that names the path of the offending field. If into is not a pointer,
// that is a defect of the caller: CodeInternal.
func DecodeJSON(data []byte, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.IsNil() {
		return schedule.Errorf(schedule.CodeInternal, "cannot decode into %T: it is not a pointer to a value", into)
	}
	if err := invalid(jsontext.CheckSize(len(data))); err != nil {
		return err
	}
	if err := invalid(jsontext.Check(data, jsontext.MaxDepth)); err != nil {
		return err
	}
	fresh := reflect.New(target.Type().Elem()).Elem()
	if err := decodeChecked(data, fresh); err != nil {
		return err
	}
	target.Elem().Set(fresh)
	return nil
}

// EncodeJSON writes v as compact JSON that DecodeJSON reads back as v. Unlike json.Marshal it does not escape <, > and &, so raw
// JSON in v comes out byte for byte.
func EncodeJSON(v any) ([]byte, error) {
	text, err := jsontext.Encode(v)
	if err != nil {
		return nil, schedule.Errorf(schedule.CodeInvalidArgument, "cannot be written as JSON: %v", err)
	}
	return text, nil
}

// DecodeMsgpack reads one msgpack value into the value that into points to, by the rules of [DecodeJSON]. It first turns the
// value into JSON, see [codec.MsgpackToJSON].
func DecodeMsgpack(data []byte, into any) error {
	text, problem := codec.MsgpackToJSON(data)
	if problem != nil {
		return invalid(problem)
	}
	return DecodeJSON(text, into)
}

// EncodeMsgpack writes v as msgpack. It has the same content as [EncodeJSON]: the same field names, durations and times as text.
// [DecodeMsgpack] reads it back as v.
func EncodeMsgpack(v any) ([]byte, error) {
	text, err := EncodeJSON(v)
	if err != nil {
		return nil, err
	}
	return codec.MsgpackOfJSON(text), nil
}

// invalid turns a problem of a text into an error for users; nil if there is none.
func invalid(p *jsontext.Problem) error {
	if p == nil {
		return nil
	}
	return schedule.Invalid(p.Path, "%s", p.Message)
}
