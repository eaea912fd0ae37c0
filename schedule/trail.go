package schedule

import (
	"strconv"
	"strings"
)

// trail is the way from the root of a document to a value in it. It becomes text only once there is an error to report.
type trail []step

// step leads from an object to the value of a key, or, where key is nil, from a list to an element.
type step struct {
	key   *string
	index int
}

// String writes the trail as errors do: spec.intervals[0].every, and headers["a key"] where a key is not a plain word.
func (t trail) String() string {
	var path string
	for _, s := range t {
		if s.key == nil {
			path = indexed(path, s.index)
		} else {
			path = joinKey(path, *s.key)
		}
	}
	return path
}

// joinKey returns the path of the value that stands under key in the object at path.
func joinKey(path, key string) string {
	switch {
	case !isPlainKey(key):
		return path + "[" + strconv.Quote(shorten(key)) + "]"
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

// shorten cuts text to what an error may quote.
func shorten(text string) string {
	if len(text) <= maxQuoted {
		return text
	}
	return strings.ToValidUTF8(text[:maxQuoted], "") + "…"
}
