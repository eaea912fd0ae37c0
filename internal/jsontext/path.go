package jsontext

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Trail is the way from the root of a document to a value in it. It becomes text only once there is an error to report.
type Trail []Step

// Step leads from an object to the value of a key, or, where key is nil, from a list to an element.
type Step struct {
	Key   *string
	Index int
}

// String writes the trail as errors do: spec.intervals[0].every, and headers["a key"] where a key is not a plain word.
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

// JoinKey returns the path of the value that stands under key in the object at path.
func JoinKey(path, key string) string {
	switch {
	case !isPlainKey(key):
		return path + "[" + strconv.Quote(Shorten(key)) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// isPlainKey reports whether key can stand in a path without quotes.
func isPlainKey(key string) bool {
	notPlain := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	return key != "" && len(key) <= maxQuoted && !strings.ContainsFunc(key, notPlain)
}

// maxQuoted bounds, in bytes, what an error quotes of its input: an error is one line for people.
const maxQuoted = 100

// Shorten cuts text to what an error may quote.
func Shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}

// Indexed writes the path of an entry of a list.
func Indexed(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Describe says what a JSON text is: scalars as they stand, the rest by its kind.
func Describe(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte("{")):
		return "an object"
	case bytes.HasPrefix(text, []byte("[")):
		return "a list"
	}
	return Shorten(string(text))
}
