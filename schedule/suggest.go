package schedule

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// maxSuggestBytes bounds the words that suggestions are sought for: the cost grows with their length, and nobody
// mistypes a word of that size.
const maxSuggestBytes = 64

// nearest returns the word among known that people most likely meant by word, or "" when none resembles it. Case, "_"
// and "-" do not count, so that task_queue finds taskQueue. Of equally near words the first wins.
func nearest(word string, known []string) string {
	if len(word) > maxSuggestBytes {
		return ""
	}
	best, bestDistance := "", 0
	for _, candidate := range known {
		distance := levenshtein.ComputeDistance(plainWord(word), plainWord(candidate))
		tooFar := distance > 1+len(candidate)/4 || distance >= len(candidate)
		if tooFar || best != "" && distance >= bestDistance {
			continue
		}
		best, bestDistance = candidate, distance
	}
	return best
}

// Nearest returns the word among known that people most likely meant by word, or "" when none resembles it.
func Nearest(word string, known []string) string { return nearest(word, known) }

var plainer = strings.NewReplacer("_", "", "-", "")

func plainWord(word string) string { return plainer.Replace(strings.ToLower(word)) }

// unknownField is the error about a field name that is not among the known ones.
func unknownField(path, name string, known []string) error {
	if meant := nearest(name, known); meant != "" {
		return Invalid(path, "unknown field, did you mean %s?", meant)
	}
	if len(known) == 0 {
		return Invalid(path, "unknown field: none are accepted here")
	}
	return Invalid(path, "unknown field: use one of %s", strings.Join(known, ", "))
}

// unknownValue is the error about a value that is not among the known ones; what says what it should have been.
func unknownValue(path, what, value string, known []string) error {
	accepted := strings.Join(known, ", ")
	if meant := nearest(value, known); meant != "" {
		return Invalid(path, "%q is not %s, did you mean %s? Use one of %s", shorten(value), what, meant, accepted)
	}
	return Invalid(path, "%q is not %s: use one of %s", shorten(value), what, accepted)
}
