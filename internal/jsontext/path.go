package jsontext

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Trail is the way from the root of a document to a value in it. It becomes text only when there is an error to report.
type Trail []Step

// Step leads from an object to the value of a key. If Key is nil, it leads from a list to an element.
type Step struct {
	Key   *string
	Index int
}

// String writes the trail in the way of errors: spec.intervals[0].every, and headers["a key"] if a key is not a plain word.
func (t Trail) String() string {
	var path string
	for _, s := range t {
		if s.Key == nil {
			path = Indexed(path, s.Index)
		} else {
			path = JoinKey(path, *s.Key)
		}
	}
	return path
}

// JoinKey returns the path of the value of a key in the object at path.
func JoinKey(path, key string) string {
	switch {
	case !isPlainKey(key):
		return path + "[" + strconv.Quote(Shorten(key)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// isPlainKey reports whether key needs no quotes in a path.
func isPlainKey(key string) bool {
	notPlain := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	return key != "" && len(key) <= maxQuoted && !strings.ContainsFunc(key, notPlain)
}

// maxQuoted limits, in bytes, how much of the input an error quotes, because an error is one line for users.
const maxQuoted = 100

// Shorten cuts text to the length that an error may quote.
func Shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

// Indexed returns the path of an entry of a list.
func Indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Describe describes a JSON text: scalars literally, other values by their kind.
func Describe(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return "an object"
	case bytes.HasPrefix(text, []byte("[")):
		return "a list"
	}
	return Shorten(string(text))
}
