package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Report is the result of a run. As JSON it is one object.
type Report struct {
	Seed            uint64  `json:"seed"`
	DurationSeconds float64 `json:"duration_seconds"`
	Schedules       int     `json:"schedules"`
	Findings
	// Faults counts the faults by kind.
	Faults map[Kind]int `json:"faults"`
	// Requests counts the acknowledged requests by verb. Refused counts those that were understood and refused, Unanswered
	// those whose outcome is unknown.
	Requests   map[Verb]int `json:"requests"`
	Refused    int          `json:"refused"`
	Unanswered int          `json:"unanswered"`
	// Begun counts how often the code of a run began, Events the events.
	Begun  int `json:"begun"`
	Events int `json:"events"`
	// SettleSeconds is how long after the last fault something still happened. Settled says that everything came to rest in
	// time.
	SettleSeconds float64 `json:"settle_seconds"`
	Settled       bool    `json:"settled"`
	// Exits are the processes that ended by themselves.
	Exits []string `json:"exits"`
	// Dir is where data and logs are kept, if something was found.
	Dir string `json:"dir,omitempty"`
}

// OK reports whether the run has found nothing.
func (r *Report) OK() bool { return r.Findings.OK() && r.Settled }

// maxProblems is how many problems the readable report lists.
const maxProblems = 30

// Write writes the report in readable form.
func (r *Report) Write(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("seed", "%d", r.Seed)
	line("run", "%gs, %d schedules; at rest %gs after the last fault", r.DurationSeconds, r.Schedules, r.SettleSeconds)
	line("faults", "%s", counts(r.Faults))
	line("requests", "%s acknowledged, %d refused, %d without an answer", counts(r.Requests), r.Refused, r.Unanswered)
	line("expected", "%d actions, and %d more that a pause or an update may have come before", r.Expected, r.Uncertain)
	line("started", "%d, besides %d skipped and %d dropped with an event", r.Started, r.Skipped, r.Dropped)
	line("code", "began %d times; again for a reason: %s", r.Begun, counts(r.Repeated))
	line("workflows", "%d started, %d ended with the right result, %d signals acknowledged, %d updates answered, %d children ended",
		r.Workflows.Started, r.Workflows.Ended, r.Workflows.Signals, r.Workflows.Updates, r.Workflows.Children)
	line("missed", "%d", r.Missed)
	line("doubled", "%d", r.Doubled)
	line("lost", "%d", r.Lost)
	line("other", "%d unexpected, %d overlapped, %d miscounted, %d unexplained",
		r.Unexpected, r.Overlapped, r.Miscounted, r.Unexplained)
	if !r.Settled {
		line("unsettled", "schedules are still busy, or requests without an answer")
	}
	for _, exit := range r.Exits {
		line("exit", "%s", exit)
	}
	for i, problem := range r.Problems {
		if i == maxProblems {
			line("", "and %d more", len(r.Problems)-i)
			break
		}
		line("problem", "%s", problem)
	}
	if r.Dir != "" {
		line("kept", "%s", r.Dir)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// counts writes a count for each key, in the order of the keys.
func counts[K ~string](m map[K]int) string {
	if len(m) == 0 {
		return "none"
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", key, m[key]))
	}
	return strings.Join(parts, ", ")
}
