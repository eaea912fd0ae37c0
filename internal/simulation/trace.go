package simulation

import (
	"fmt"
	"hash/fnv"
	"io"
	"time"
)

// trace is what happened, in order. Lines are made when somebody wants to read them.
type trace struct {
	begin time.Time
	lines []line
}

type line struct {
	at           time.Duration
	what, detail string
	err          error
}

func (t *trace) add(now time.Time, n *node, c *call, err error) {
	t.lines = append(t.lines, line{at: now.Sub(t.begin), what: n.name + " " + c.what, detail: c.detail, err: err})
}

func (t *trace) note(now time.Time, what, detail string) {
	t.lines = append(t.lines, line{at: now.Sub(t.begin), what: what, detail: detail})
}

func (l line) String() string {
	text := fmt.Sprintf("%12.6f %-28s %s", l.at.Seconds(), l.what, l.detail)
	if l.err != nil {
		text += " → " + l.err.Error()
	}
	return text
}

// write writes the last lines; 0 for all.
func (t *trace) write(w io.Writer, last int) {
	from := 0
	if last > 0 {
		from = max(0, len(t.lines)-last)
	}
	for _, l := range t.lines[from:] {
		_, _ = fmt.Fprintln(w, l)
	}
}

// hash tells two runs of a seed apart.
func (t *trace) hash() uint64 {
	h := fnv.New64a()
	t.write(h, 0)
	return h.Sum64()
}
