package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// benchProgress shows what a measurement is doing: on a terminal as a bar in one line that is overwritten, elsewhere as one line for each
// finished step. It is safe for concurrent use.
type benchProgress struct {
	out      io.Writer
	now      func() time.Time
	terminal bool
	scenario string

	mu    sync.Mutex
	stage string
	last  time.Time
}

const (
	barWidth = 30
	// barPause is the least time between two drawings of a bar: drawing takes time away from the measurement.
	barPause = 200 * time.Millisecond
)

func (a *app) newBenchProgress(scenario string) *benchProgress {
	return &benchProgress{out: a.env.Stderr, now: a.env.Now, terminal: isTerminal(a.env.Stderr), scenario: scenario}
}

func (p *benchProgress) show(stage string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fresh := stage != p.stage
	now := p.now()
	if !fresh && (!p.terminal || now.Sub(p.last) < barPause) {
		return
	}
	p.stage, p.last = stage, now
	if p.terminal {
		p.write("\r" + p.scenario + "  " + bar(stage, done, total) + "\x1b[K")
	} else {
		p.write(p.scenario + ": " + stage + "\n")
	}
}

// end removes the bar.
func (p *benchProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		p.write("\r\x1b[K")
	}
}

func (p *benchProgress) write(text string) { _, _ = io.WriteString(p.out, text) }

// bar draws how far something has come: "[######....]  creating schedules  600/1000".
func bar(stage string, done, total int) string {
	if total <= 0 {
		if done == 0 {
			return stage
		}
		return fmt.Sprintf("%s  %d", stage, done)
	}
	full := min(max(done, 0), total) * barWidth / total
	return fmt.Sprintf("[%s%s]  %s  %d/%d", strings.Repeat("#", full), strings.Repeat(".", barWidth-full), stage, done, total)
}
