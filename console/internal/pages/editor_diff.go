package pages

import (
	"net/http"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// changesShown bounds the lines of a difference.
const changesShown = 400

// diffLine is a line of a difference, and the element of HTML for what is added or removed.
type diffLine struct{ Kind, Text string }

// addChanges adds to a page how a schedule would differ from what it is now.
func (e *editor) addChanges(r *http.Request, asks *speaker.Speaker, to *schedule.Schedule) error {
	d, err := asks.Describe(r.Context(), e.ID)
	if err != nil {
		return err
	}
	before, err := apitext.EncodeYAML(d.Schedule)
	if err != nil {
		return err
	}
	after, err := apitext.EncodeYAML(to)
	if err != nil {
		return err
	}
	e.Changes = diffLines(udiff.Unified("now", "then", string(before), string(after)))
	e.IsSame = len(e.Changes) == 0
	return nil
}

// diffLines returns the lines of a unified diff, without its head.
func diffLines(text string) (lines []diffLine) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case len(lines) == changesShown:
			return append(lines, diffLine{"", "…"})
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"), strings.HasPrefix(line, `\`):
		case strings.HasPrefix(line, "+"):
			lines = append(lines, diffLine{"ins", line})
		case strings.HasPrefix(line, "-"):
			lines = append(lines, diffLine{"del", line})
		case strings.HasPrefix(line, "@@"):
			lines = append(lines, diffLine{"hunk", line})
		default:
			lines = append(lines, diffLine{"", line})
		}
	}
	return lines
}
