package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

// meter shows how far something has come, a backfill for example: on a terminal in one line that is written over, elsewhere in a
// line for every twentieth of the way, so that a log of a long one stays readable.
type meter struct {
	out      io.Writer
	terminal bool
	// last is what was last shown, next how much has to be done for another line.
	last string
	next int
	// resting says that the lines are about the runs in progress now.
	resting bool
}

func newMeter(out io.Writer, terminal bool) *meter { return &meter{out: out, terminal: terminal} }

func (m *meter) show(progress schedule.BackfillProgress, zone *time.Location) {
	m.draw(render.Progress(progress, zone), progress.Done, progress.Total)
}

// draw shows a line that says how much of the total is done.
func (m *meter) draw(line string, done, total int) {
	switch {
	case line == m.last, total == 0: // how much there is is not known at once
		return
	case m.terminal:
		_, _ = fmt.Fprintf(m.out, "\r%s\x1b[K", line) // the rest of a longer line goes
	case done >= m.next:
		_, _ = fmt.Fprintln(m.out, line)
		m.next = done + max(1, total/20, done/20)
	}
	m.last = line
}

// rest shows how many runs of a backfill of so many times are still in progress, when all have been started.
func (m *meter) rest(running, total int) {
	if !m.resting {
		m.resting, m.next = true, 0
	}
	m.draw("all started, "+plural(running, "run")+" in progress", max(0, total-running), total)
}

// end leaves the line that is written over. It may be called several times.
func (m *meter) end() {
	if m.terminal && m.last != "" {
		_, _ = fmt.Fprintln(m.out)
	}
	m.last = ""
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// zoneOf is the zone of a spec, or UTC if this binary does not know it.
func zoneOf(spec schedule.Spec) *time.Location {
	zone, err := spec.Location()
	if err != nil {
		return time.UTC
	}
	return zone
}
