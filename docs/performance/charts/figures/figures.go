// Package figures keeps what the series have measured, a line of JSON for each run, and works out what the charts show.
package figures

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// Line is a run of a series.
type Line struct {
	Series string `json:"series"`
	// Command is what was measured, as one would type it. The same command with as many nodes is the same measurement.
	Command string `json:"command"`
	// Nodes is how many NATS servers there were beside the process; 0 where it was embedded.
	Nodes   int       `json:"nodes"`
	TakenAt time.Time `json:"taken_at"`
	// Result is the object that "carillon bench --json" has printed, as it is.
	Result json.RawMessage `json:"result"`
}

// Result is what the charts need of a result. docs/performance/README.md explains its keys.
type Result struct {
	Scenario   string `json:"scenario"`
	Parameters struct {
		Schedules int `json:"schedules"`
		Dormant   int `json:"dormant"`
		Size      int `json:"size"`
	} `json:"parameters"`
	Environment struct {
		NATSVersion string `json:"nats_version"`
		Shards      int    `json:"shards"`
		Replicas    int    `json:"replicas"`
		Version     string `json:"version"`
		Go          string `json:"go"`
		CPUs        int    `json:"cpus"`
	} `json:"environment"`
	Offered    float64 `json:"offered_per_s"`
	Completed  float64 `json:"completed_per_s"`
	Missed     int     `json:"missed"`
	Doubled    int     `json:"doubled"`
	Unexpected int     `json:"unexpected"`
	Early      int     `json:"early"`
	Lateness   struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"lateness_ms"`
	Cores      float64              `json:"cpu_cores"`
	PeakRSS    float64              `json:"peak_rss_bytes"`
	RSS        float64              `json:"rss_bytes"`
	CreatedRSS float64              `json:"created_rss_bytes"`
	Disk       float64              `json:"disk_bytes"`
	RawPuts    float64              `json:"raw_puts_per_s"`
	Times      map[string]float64   `json:"times_s"`
	Workflows  []Load               `json:"workflows"`
	Operations map[string]Operation `json:"operations"`
}

// OK reports whether everything that was due ran once: the figures are worth nothing otherwise.
func (r *Result) OK() bool { return r.Missed+r.Doubled+r.Unexpected+r.Early == 0 }

// Run is a line with its result read.
type Run struct {
	Line
	Result Result
}

// Read reads the runs of a file. A file that is not there has none.
func Read(name string) ([]Run, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	var runs []Run
	for line := range bytes.Lines(text) {
		run, err := parse(line)
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, len(runs)+1, err)
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func parse(line []byte) (run Run, err error) {
	if err = json.Unmarshal(line, &run.Line); err == nil {
		err = json.Unmarshal(run.Line.Result, &run.Result)
	}
	return run, err
}

// Append adds a line to a file, which is made if it is not there.
func Append(name string, line Line) (err error) {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.Write(append(text, '\n'))
	return err
}
