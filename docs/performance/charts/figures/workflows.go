package figures

import "fmt"

// Load is what was measured of one kind of workflow under one load.
type Load struct {
	Load      string  `json:"load"`
	Completed float64 `json:"completed_per_s"`
	// CPU is the processor time for each workflow in milliseconds, the worker included, and NATS where it is embedded.
	CPU float64 `json:"cpu_ms_per_workflow"`
}

// Operation is what was measured of one kind of request.
type Operation struct {
	Completed float64 `json:"per_s"`
	Latency   struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	} `json:"latency_ms"`
	// CPU is the processor time for each of them in milliseconds, without the worker.
	CPU float64 `json:"cpu_ms_each"`
}

// busy is the name of the load of several clients, each of which starts the next workflow when it has a result.
const busy = "from clients"

// Busy returns what was measured while several clients started workflows; nothing if that was not measured.
func (r *Result) Busy() Load {
	for _, load := range r.Workflows {
		if load.Load == busy {
			return load
		}
	}
	return Load{}
}

// Steps puts the steps of runs together that began with a history of the same length, and returns the spread of a figure
// over that length, in events. A run has steps at several lengths.
func Steps(runs []Run, y func(Operation) float64) []Point {
	values := map[float64][]float64{}
	for i := range runs {
		for name, operation := range runs[i].Result.Operations {
			var length float64
			if _, err := fmt.Sscanf(name, "step at %f events", &length); err == nil {
				values[length] = append(values[length], y(operation))
			}
		}
	}
	return spreads(values)
}
