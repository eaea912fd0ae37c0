package flagconf

import (
	"fmt"

	"github.com/agnivade/levenshtein"
)

// Suggest returns `; did you mean "nearest"?`, with a prefix such as "--" before the name, or "" when nothing known is
// near.
func Suggest(name string, known []string, prefix string) string {
	best, bestDistance := "", 0
	for _, candidate := range known {
		distance := levenshtein.ComputeDistance(name, candidate)
		tooFar := distance > 1+len(candidate)/4
		if tooFar || best != "" && distance >= bestDistance {
			continue
		}
		best, bestDistance = candidate, distance
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", prefix+best)
}
