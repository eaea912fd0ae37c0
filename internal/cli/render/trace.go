package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Trace is a run of a workflow, with what it waits for and with its children.
type Trace struct {
	WorkflowID string `json:"workflowId"`
	// RunID is empty for a child that has not begun.
	RunID string `json:"runId,omitempty"`
	// Type is the type of the workflow.
	Type string `json:"type"`
	// Status is one of the words of [WorkflowStatus], or "starting" or "not started" for a child that has not begun or never will.
	Status string `json:"status"`
	// Started and Ended are zero before.
	Started time.Time `json:"startTime,omitzero"`
	Ended   time.Time `json:"closeTime,omitzero"`
	// Ending says how it ended without a result, such as "has failed: no stock". It is empty for one that runs or has completed.
	Ending string `json:"ending,omitempty"`
	// Next is the ID of the run in which it goes on.
	Next string `json:"nextRunId,omitempty"`
	// CompletedActivities is how many activities have completed. Activities are the others, those that have ended without a result last.
	CompletedActivities int             `json:"completedActivities,omitempty"`
	Activities          []TraceActivity `json:"activities,omitempty"`
	// Timers are those that run.
	Timers []TraceTimer `json:"timers,omitempty"`
	// CompletedChildren is how many children have completed that are not among Children. Children are in the order of their start.
	CompletedChildren int      `json:"completedChildren,omitempty"`
	Children          []*Trace `json:"children,omitempty"`
}

// TraceActivity is an activity that has not completed.
type TraceActivity struct {
	ID   string `json:"activityId"`
	Type string `json:"type"`
	// State is that of a pending activity, such as "scheduled", "started" or "paused", or "failed", "timed out" or "canceled".
	State string `json:"state"`
	// Attempt counts from 1; 0 for one that has ended.
	Attempt int `json:"attempt,omitempty"`
	// Failure is that of the last attempt.
	Failure string `json:"failure,omitempty"`
}

// TraceTimer is a timer that runs.
type TraceTimer struct {
	ID  string    `json:"timerId"`
	Due time.Time `json:"due"`
}

// WorkflowTrace returns a tree of lines: a line for each workflow, and below it its children and what it waits for. On a terminal lines are cut to fit.
func WorkflowTrace(tree *Trace, view View) string {
	var out strings.Builder
	view.trace(&out, tree, "", "")
	return out.String()
}

// trace writes a workflow and all below it. first stands before its own line, and rest before the others.
func (v View) trace(out *strings.Builder, t *Trace, first, rest string) {
	v.traceLine(out, first, t.Status, strings.Join(nonEmpty(oneLine(t.WorkflowID), oneLine(t.Type), v.traceTime(t)), "  "))
	var below []func(first, rest string)
	leaf := func(state, text string) {
		below = append(below, func(first, _ string) { v.traceLine(out, first, state, text) })
	}
	if t.CompletedActivities > 0 {
		leaf("completed", plural(t.CompletedActivities, "activity", "activities"))
	}
	for _, a := range t.Activities {
		leaf(a.State, a.line())
	}
	for _, timer := range t.Timers {
		leaf("timer", oneLine(timer.ID)+"  "+Relative(timer.Due, v.Now))
	}
	if t.CompletedChildren > 0 {
		leaf("completed", plural(t.CompletedChildren, "child", "children"))
	}
	for _, child := range t.Children {
		below = append(below, func(first, rest string) { v.trace(out, child, first, rest) })
	}
	for i, write := range below {
		if i == len(below)-1 {
			write(rest+"└─ ", rest+"   ")
		} else {
			write(rest+"├─ ", rest+"│  ")
		}
	}
}

// traceLine writes one line. Its state has a colour, and the rest is cut to the width of the terminal.
func (v View) traceLine(out *strings.Builder, before, state, text string) {
	line := Printable(before + state + " " + text)
	if runes := []rune(line); v.Width > 0 && len(runes) > v.Width {
		line = string(runes[:max(v.Width-1, 0)]) + "…"
	}
	if painted, ok := strings.CutPrefix(line, before+state+" "); ok && v.Color {
		line = before + stateColors[state].Paint(state) + " " + painted
	}
	out.WriteString(line + "\n")
}

// traceTime says when a workflow began, or how and when it ended.
func (v View) traceTime(t *Trace) string {
	switch {
	case !t.Ended.IsZero():
		return strings.Join(nonEmpty(oneLine(t.Ending), Relative(t.Ended, v.Now)), ", ")
	case !t.Started.IsZero():
		return "started " + Relative(t.Started, v.Now)
	}
	return ""
}

func nonEmpty(all ...string) (some []string) {
	for _, text := range all {
		if text != "" {
			some = append(some, text)
		}
	}
	return some
}

func (a TraceActivity) line() string {
	text := "activity " + oneLine(a.ID) + "  " + oneLine(a.Type)
	if a.Attempt > 0 {
		text += fmt.Sprintf("  attempt %d", a.Attempt)
	}
	return strings.Join(nonEmpty(text, oneLine(a.Failure)), ": ")
}

func plural(n int, one, many string) string {
	return fmt.Sprintf("%d %s", n, cmp.Or(map[bool]string{true: one}[n == 1], many))
}
