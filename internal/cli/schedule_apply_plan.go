package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// What apply does with a schedule.
const (
	applyCreate = "create"
	applyUpdate = "update"
	applyDelete = "delete"
	applyKeep   = "keep"
)

// applyStep is what apply does about one schedule.
type applyStep struct {
	ID   string `json:"id"`
	File string `json:"file,omitempty"`
	// Action is create, update, delete, or keep for a schedule that needs no change.
	Action string `json:"action"`
	// Diff shows the changes in unified form, between the schedules as YAML.
	Diff string `json:"diff,omitempty"`
	// Error says why the step failed.
	Error string `json:"error,omitempty"`
	// Warnings tell what may surprise about the times of a schedule to create or update, and after the step also about its action.
	Warnings []schedule.Notice `json:"warnings,omitempty"`

	wanted schedule.Schedule
	token  uint64
	// warned is how many of the warnings people have seen.
	warned int
}

// planApply compares the files with the stored schedules. If a file names no field of the state, apply keeps the stored state: whether the
// schedule is paused, and how many actions it has left. Schedules in current that no file names are deleted.
func planApply(wanted []manifest, current map[string]schedule.Description) ([]applyStep, error) {
	var steps []applyStep
	named := map[string]bool{}
	for i := range wanted {
		m := &wanted[i]
		named[m.ID] = true
		step := applyStep{ID: m.ID, File: m.file, Action: applyCreate, wanted: m.Schedule}
		before, there := current[m.ID]
		var old *schedule.Schedule
		if there {
			if m.keepState {
				step.wanted.State = before.State
			}
			step.Action, step.token, old = applyUpdate, before.ConflictToken, &before.Schedule
		}
		var err error
		if step.Diff, err = diffOf(m.ID, old, &step.wanted); err != nil {
			return nil, err
		}
		if there && step.Diff == "" {
			step.Action = applyKeep
		}
		steps = append(steps, step)
	}
	return append(steps, deletions(current, named)...), nil
}

func deletions(current map[string]schedule.Description, named map[string]bool) []applyStep {
	var steps []applyStep
	for _, id := range slices.Sorted(maps.Keys(current)) {
		if !named[id] {
			steps = append(steps, applyStep{ID: id, Action: applyDelete, token: current[id].ConflictToken})
		}
	}
	return steps
}

// diffOf returns the difference between two schedules; it is empty if there is none.
func diffOf(id string, before, after *schedule.Schedule) (string, error) {
	old, oldName := "", "/dev/null"
	if before != nil {
		text, err := apitext.EncodeYAML(before)
		if err != nil {
			return "", err
		}
		old, oldName = string(text), "now/"+id
	}
	text, err := apitext.EncodeYAML(after)
	if err != nil {
		return "", err
	}
	return udiff.Unified(oldName, "files/"+id, old, string(text)), nil
}

// summaryOf counts steps for people, such as "2 to create, 1 to update, 7 unchanged".
func summaryOf(steps []applyStep) string {
	count := map[string]int{}
	for i := range steps {
		count[steps[i].Action]++
	}
	var parts []string
	for _, kind := range []struct{ action, text string }{
		{applyCreate, "to create"}, {applyUpdate, "to update"}, {applyDelete, "to delete"}, {applyKeep, "unchanged"},
	} {
		if n := count[kind.action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind.text))
		}
	}
	return strings.Join(parts, ", ")
}

// changes reports whether there is anything to do.
func changes(steps []applyStep) bool {
	for i := range steps {
		if steps[i].Action != applyKeep {
			return true
		}
	}
	return false
}
