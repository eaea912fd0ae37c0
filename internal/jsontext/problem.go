package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Limits of JSON or YAML from users.
const (
	// MaxBytes is the size of the largest JSON or YAML document to read, with aliases expanded. Several documents together may be
	// larger. The message size of NATS limits a single request further.
	MaxBytes = 4 << 20
	// MaxDepth is how deep objects and lists may nest in total, including the input of an action.
	MaxDepth = 200
)

// Problem is what is wrong with a text: where, and what would be accepted, in one line for users.
type Problem struct {
	// Path leads from the root of the text to the wrong value, such as "intervals[0].every"; empty for the whole text.
	Path string
	// Message does not repeat the path.
	Message string
}

// Problemf returns a problem of the value at a path.
func Problemf(path, format string, args ...any) *Problem {
	return &Problem{Path: path, Message: fmt.Sprintf(format, args...)}
}

// CheckSize rejects a text of more than [MaxBytes] bytes.
func CheckSize(size int) *Problem {
	if size > MaxBytes {
		return Problemf("", "the text is too large: at most %d bytes (4 MiB) are read", MaxBytes)
	}
	return nil
}

// TooDeep is the problem of a text that nests deeper than a limit.
func TooDeep(limit int) *Problem {
	return Problemf("", "is nested too deeply: at most %d levels are accepted", limit)
}

// Encode writes v as compact JSON. Unlike json.Marshal it does not escape <, > and &, so that raw JSON in v keeps its bytes.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
