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

// meter shows the progress of an operation, for example a backfill. On a terminal it overwrites one line. Elsewhere it writes a line for
// every twentieth of the way, which keeps the log of a long operation readable.
type meter struct {
	out      io.Writer
	terminal bool
	// last is the line last shown. next is how much must be done before another line is written.
	last string
	next int
	// resting says that the lines now count the runs in progress.
	resting bool
}

func newMeter(out io.Writer, terminal bool) *meter { return &meter{out: out, terminal: terminal} }

func (m *meter) show(progress schedule.BackfillProgress, zone *time.Location) {
	m.draw(render.Progress(progress, zone), progress.Done, progress.Total)
}

// draw shows a line that says how much of the total is done.
func (m *meter) draw(line string, done, total int) {
	switch {
	case line == m.last, total == 0: // the total is unknown at first
		return
	case m.terminal:
		_, _ = fmt.Fprintf(m.out, "\r%s\x1b[K", line) // this erases the rest of a longer line
	case done >= m.next:
		_, _ = fmt.Fprintln(m.out, line)
		m.next = done + max(1, total/20, done/20)
	}
	m.last = line
}

// rest shows how many runs of a backfill are still in progress after all have started. The total is the number of its times.
func (m *meter) rest(running, total int) {
	if !m.resting {
		m.resting, m.next = true, 0
	}
	m.draw("all started, "+plural(running, "run")+" in progress", max(0, total-running), total)
}

// end moves past the line that is overwritten. Calling it again does nothing.
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

// zoneOf returns the zone of a spec, or UTC if this binary does not know the zone.
func zoneOf(spec schedule.Spec) *time.Location {
	zone, err := spec.Location()
	if err != nil {
		return time.UTC
	}
	return zone
}
