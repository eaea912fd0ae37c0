// Package suggest finds the word that a user meant. It imports nothing of Carillon; every package may import it.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// maxSuggestBytes limits the length of words that get suggestions: the cost grows with the length, and nobody mistypes a word of
// that size.
const maxSuggestBytes = 64

// Nearest returns the word in known that a user most likely meant by word, or "" if none resembles it. It ignores case, "_" and
// "-", so that task_queue finds taskQueue. Of equally near words the first wins.
func Nearest(word string, known []string) string {
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

var plainer = strings.NewReplacer("_", "", "-", "")

func plainWord(word string) string { return plainer.Replace(strings.ToLower(word)) }
