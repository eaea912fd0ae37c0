package simulation

import (
	"fmt"
	"hash/fnv"
	"io"
	"regexp"
	"slices"
	"time"
)

// trace is what happened, in order. Lines are formatted only when they are read.
type trace struct {
	begin time.Time
	lines []line
}

type line struct {
	at        time.Duration
	who, what string
	detail    string
	err       error
}

func (t *trace) add(now time.Time, who string, c *call, err error) {
	t.lines = append(t.lines, line{at: now.Sub(t.begin), who: who, what: c.what, detail: c.detail, err: err})
}

func (t *trace) note(now time.Time, what, detail string) {
	t.lines = append(t.lines, line{at: now.Sub(t.begin), what: what, detail: detail})
}

func (l line) String() string {
	text := fmt.Sprintf("%12.6f %-28s %s", l.at.Seconds(), l.who+l.what, l.detail)
	if l.err != nil {
		text += " → " + l.err.Error()
	}
	return text
}

// write writes all lines.
func (t *trace) write(w io.Writer) {
	for _, l := range t.lines {
		_, _ = fmt.Fprintln(w, l)
	}
}

// about returns the last lines, at most so many, that concern a schedule or everybody. An empty ID means all lines.
func (t *trace) about(scheduleID string, most int) []string {
	var lines []string
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(scheduleID) + `\b`)
	for i := len(t.lines) - 1; i >= 0 && len(lines) < most; i-- {
		l := &t.lines[i]
		if everybodys[l.what] || scheduleID == "" || word.MatchString(l.detail) {
			lines = append(lines, l.String())
		}
	}
	slices.Reverse(lines)
	return lines
}

// everybodys are the notes that concern all schedules.
var everybodys = map[string]bool{
	"CRASH": true, "STOP": true, "START": true, "SUSPEND": true, "BREAKDOWN": true, "CLOCK": true, "CALM": true,
}

// lastBefore returns the index of the last wanted line before an index, -1 if there is none.
func (t *trace) lastBefore(index int, wanted func(*line) bool) int {
	for index--; index >= 0 && !wanted(&t.lines[index]); index-- {
	}
	return max(index, -1)
}

// hash tells two runs of a seed apart.
func (t *trace) hash() uint64 {
	h := fnv.New64a()
	t.write(h)
	return h.Sum64()
}
