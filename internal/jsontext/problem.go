package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Limits of what people hand in, as JSON or YAML.
const (
	// MaxBytes is the largest JSON or YAML document that is read, aliases expanded. Several documents may be larger together.
	// A single request is bounded further by the message size of NATS.
	MaxBytes = 4 << 20
	// MaxDepth is how deep objects and lists may nest in all, the input of an action included.
	MaxDepth = 200
)

// Problem is what is wrong with a text: where, and what is accepted, in one line for people.
type Problem struct {
	// Path leads from the root of the text to the value at fault, such as "intervals[0].every"; empty if it is the whole.
	Path string
	// Message does not repeat the path.
	Message string
}

// Problemf makes a problem of the value at a path.
func Problemf(path, format string, args ...any) *Problem {
	return &Problem{Path: path, Message: fmt.Sprintf(format, args...)}
}

// CheckSize finds a text too large that has more than [MaxBytes] bytes.
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

// Encode writes v as compact JSON. Unlike json.Marshal it leaves <, > and & alone, so that raw JSON in v comes out byte for byte.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
