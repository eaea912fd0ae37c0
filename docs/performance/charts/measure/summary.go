package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/docs/performance/charts/figures"
)

// words is a measurement in one line.
func (m measurement) words() string {
	switch m.nodes {
	case 0:
		return m.command()
	case 1:
		return m.command() + " (one server beside it)"
	}
	return fmt.Sprintf("%s (a cluster of %d servers)", m.command(), m.nodes)
}

// summary is the essence of a result, to watch what comes in, and the version of the program.
func summary(line figures.Line) (essence, version string) {
	var r figures.Result
	if err := json.Unmarshal(line.Result, &r); err != nil {
		return err.Error(), ""
	}
	completed := r.Completed
	if load := r.Busy(); load.Completed > 0 {
		completed = load.Completed
	}
	essence = fmt.Sprintf("%.0f/s completed, p99 %.1f ms, %.2f cores, %.0f MiB, %.0f raw puts/s",
		completed, r.Lateness.P99, r.Cores, r.PeakRSS/(1<<20), r.RawPuts)
	if !r.OK() {
		essence += fmt.Sprintf("; %d missed, %d doubled, %d unexpected, %d early: not in the charts",
			r.Missed, r.Doubled, r.Unexpected, r.Early)
	}
	return essence, r.Environment.Version
}

// rounded is a duration as one wants to read it.
func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }
