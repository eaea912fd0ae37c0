package query

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
)

// ValuesOf returns the values of an entry of the memo or of the search attributes, and whether there is one at all: null
// is none. The JSON value decides about the type. A string that says a time counts as both; a list counts as its elements,
// of which lists and objects have no value.
func ValuesOf(data json.RawMessage) (values []Value, present bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var decoded any
	if err := decoder.Decode(&decoded); err != nil || decoded == nil {
		return nil, err != nil && !errors.Is(err, io.EOF)
	}
	list, ok := decoded.([]any)
	if !ok {
		list = []any{decoded}
	}
	for _, element := range list {
		values = append(values, scalar(element)...)
	}
	return values, true
}

// scalar returns the values of what is no list.
func scalar(decoded any) []Value {
	switch decoded := decoded.(type) {
	case string:
		if t, ok := parseTime(decoded); ok {
			return []Value{TextOf(decoded), TimeOf(t)}
		}
		return []Value{TextOf(decoded)}
	case bool:
		return []Value{BoolOf(decoded)}
	case json.Number:
		if n, err := decoded.Int64(); err == nil {
			return []Value{IntOf(n)}
		}
		if f, err := strconv.ParseFloat(string(decoded), 64); err == nil {
			return []Value{DoubleOf(f)}
		}
	}
	return nil
}
