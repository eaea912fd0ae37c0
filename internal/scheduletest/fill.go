package scheduletest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"

	"pgregory.net/rapid"
)

// Fill gives every field below v a random value, in the form that decoding gives. Slices and maps are nil rather than empty,
// times are UTC, and raw JSON is compact.
func Fill(t *rapid.T, v reflect.Value) {
	switch target := v.Addr().Interface().(type) {
	case *time.Time:
		*target = AnyTime(t)
		return
	case *json.RawMessage:
		*target = anyJSON(t)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			Fill(t, v.Field(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			Fill(t, v.Elem())
		}
	case reflect.Slice:
		fillSlice(t, v)
	case reflect.Map:
		fillMap(t, v)
	case reflect.String:
		v.SetString(anyText(t))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "uint") >> (64 - v.Type().Bits()))
	case reflect.Float64:
		v.SetFloat(rapid.Float64().Draw(t, "float"))
	default:
		t.Fatalf("cannot fill a %s", v.Type())
	}
}

func fillSlice(t *rapid.T, v reflect.Value) {
	if n := rapid.IntRange(0, 2).Draw(t, "length"); n > 0 {
		v.Set(reflect.MakeSlice(v.Type(), n, n))
	}
	for i := range v.Len() {
		Fill(t, v.Index(i))
	}
}

func fillMap(t *rapid.T, v reflect.Value) {
	if rapid.Bool().Draw(t, "empty") {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range rapid.IntRange(1, 2).Draw(t, "entries") {
		value := reflect.New(v.Type().Elem()).Elem()
		Fill(t, value)
		if value.Type() == reflect.TypeFor[json.RawMessage]() && value.IsNil() {
			value.SetBytes([]byte("null"))
		}
		v.SetMapIndex(reflect.ValueOf(anyText(t)), value)
	}
}

// anyText favours texts that YAML might take for something other than text.
func anyText(t *rapid.T) string {
	return rapid.OneOf(
		rapid.String(),
		rapid.StringOf(rapid.SampledFrom([]rune("a \n\t:-#'\"\\|>%@&*!{}[],?~0\u00a0\u0085\u2028\ufeff\x00\x7f🙂"))),
		rapid.SampledFrom([]string{
			"", " ", "null", "true", "No", "on", "y", "0x1F", "09", "1e400", "1_000", ".inf", "12:30", "2026-03-01", "<<", "=", "---",
			"two\nlines", "two\n\nlines\n", "lines\n\n", " indented\nlines", "blank \nend", "windows\r\n", "# none",
		}),
	).Draw(t, "text")
}

// AnyTime returns the zero time or an instant of the years that RFC 3339 can write.
func AnyTime(t *rapid.T) time.Time {
	if rapid.Bool().Draw(t, "zero") {
		return time.Time{}
	}
	first, last := time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	seconds := rapid.Int64Range(first.Unix(), last.Unix()).Draw(t, "seconds")
	return time.Unix(seconds, rapid.Int64Range(0, 999_999_999).Draw(t, "nanoseconds")).UTC()
}

// anyJSON returns a compact JSON text, or nil.
func anyJSON(t *rapid.T) json.RawMessage {
	if rapid.Bool().Draw(t, "none") {
		return nil
	}
	text, err := compactJSON(anyJSONValue(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func anyJSONValue(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	switch {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return json.Number(rapid.StringMatching(`-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?`).Draw(t, "number"))
	case kind == 3 || depth == 0:
		return anyText(t)
	case kind == 4:
		list := make([]any, rapid.IntRange(0, 2).Draw(t, "length"))
		for i := range list {
			list[i] = anyJSONValue(t, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 2).Draw(t, "entries") {
		object[anyText(t)] = anyJSONValue(t, depth-1)
	}
	return object
}

// compactJSON writes a value as JSON, without escapes for <, > and &.
func compactJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSpace(buf.Bytes()), err
}
