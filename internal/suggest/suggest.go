// Package suggest finds the word that people meant. It imports nothing of Carillon; every package may import it.
package suggest

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// maxSuggestBytes bounds the words that suggestions are sought for: the cost grows with their length, and nobody
// mistypes a word of that size.
const maxSuggestBytes = 64

// Nearest returns the word among known that people most likely meant by word, or "" when none resembles it. Case, "_"
// and "-" do not count, so that task_queue finds taskQueue. Of equally near words the first wins.
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
