package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) importTemporalCommand() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "temporal-json FILE [flags]",
		Short: "Turn schedules of Temporal into schedules",
		Long: `Turns schedules of Temporal, as its command line prints them with "-o json", into
schedules: what "temporal schedule describe" says of one, or several such texts after
one another. Times, zone, jitter, workflow type, ID, task queue, input, memo, search
attributes, timeouts, retries, policies, notes and whether it is paused are carried
over. A worker of yours needs a handler for the workflow type: its input is the one
argument, or a list of several.

"describe" does not say the ID of the schedule: it is taken from a field scheduleId
that you add, from the name of the file, or from the workflow. What "temporal schedule
list" prints can be read as well, and says neither task queue nor input.

A cron expression in which both day fields are restricted means days that match both
to Temporal, and either to Carillon: it becomes a calendar that keeps the meaning.`,
		Example: `  temporal schedule describe -s nightly -o json > nightly.json
  carillon import temporal-json nightly.json > nightly.yaml
  for id in $(temporal schedule list -o json | jq -r '.[].scheduleId'); do
      temporal schedule describe -s "$id" -o json | jq --arg id "$id" '. + {scheduleId: $id}'
  done | carillon import temporal-json - | carillon schedule apply --yes --file -`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			all, err := parseTemporal(data, idOfFile(args[0]))
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return a.writeImported(&flags, all)
		},
	}
	flags.define(cmd)
	return cmd
}

// idOfFile is the ID that the name of a file suggests; empty for standard input.
func idOfFile(path string) string {
	if path == "-" {
		return ""
	}
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// parseTemporal reads JSON texts after one another, each of a schedule or a list of them. The ID is that of a schedule which
// stands alone and does not say its own.
func parseTemporal(data []byte, id string) ([]importer.Entry, error) {
	schedules, err := readTemporal(data)
	if err != nil {
		return nil, err
	}
	if len(schedules) != 1 {
		id = ""
	}
	all := make([]importer.Entry, len(schedules))
	for i := range schedules {
		if all[i], err = schedules[i].schedule(id); err != nil {
			all[i] = importer.Entry{From: cmp.Or(all[i].From, fmt.Sprintf("schedule %d", i+1)), Problem: err}
		}
	}
	return all, nil
}

func readTemporal(data []byte) ([]temporalSchedule, error) {
	var all []temporalSchedule
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var text json.RawMessage
		err := decoder.Decode(&text)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %w; print it with temporal schedule describe -o json", err)
		}
		found, err := readTemporalText(text)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no schedule in it")
	}
	return all, nil
}

// readTemporalText reads one text: a schedule, a list of schedules, or the page of a list.
func readTemporalText(text json.RawMessage) ([]temporalSchedule, error) {
	var all []temporalSchedule
	if bytes.HasPrefix(text, []byte("[")) {
		err := json.Unmarshal(text, &all)
		return all, err
	}
	var one struct {
		temporalSchedule
		Schedules []temporalSchedule `json:"schedules"`
	}
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	if len(one.Schedules) > 0 {
		return one.Schedules, nil
	}
	return []temporalSchedule{one.temporalSchedule}, nil
}

// temporalSchedule is the answer to describe, or an entry of a list, in the JSON form of Temporal's API.
type temporalSchedule struct {
	ScheduleID string `json:"scheduleId"`
	Schedule   *struct {
		Spec     temporalSpec     `json:"spec"`
		Action   temporalAction   `json:"action"`
		Policies temporalPolicies `json:"policies"`
		State    temporalState    `json:"state"`
	} `json:"schedule"`
	// Info is all that a list says; describe says other things there.
	Info struct {
		Spec         *temporalSpec `json:"spec"`
		WorkflowType temporalName  `json:"workflowType"`
		Notes        string        `json:"notes"`
		Paused       bool          `json:"paused"`
	} `json:"info"`
	Memo             temporalFields `json:"memo"`
	SearchAttributes temporalFields `json:"searchAttributes"`
}

type temporalName struct {
	Name string `json:"name"`
}

type temporalState struct {
	Notes            string         `json:"notes"`
	Paused           bool           `json:"paused"`
	LimitedActions   bool           `json:"limitedActions"`
	RemainingActions temporalNumber `json:"remainingActions"`
}

// temporalNumber is a 64-bit number, which the JSON form of protocol buffers writes as text.
type temporalNumber int

func (n *temporalNumber) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(bytes.Trim(data, `"`), (*int)(n))
}

// schedule makes a schedule of it.
func (t *temporalSchedule) schedule(id string) (importer.Entry, error) {
	var s importer.Entry
	switch {
	case t.Schedule != nil:
		if err := t.described(&s); err != nil {
			return s, err
		}
	case t.Info.Spec != nil:
		if err := t.listed(&s); err != nil {
			return s, err
		}
	default:
		return s, errors.New(`has neither "schedule", as describe prints it, nor "info.spec", as list does`)
	}
	switch {
	case t.ScheduleID != "":
		s.ID = t.ScheduleID
	case id != "":
		s.ID = id
	case s.Action.WorkflowID != "":
		s.ID = s.Action.WorkflowID
		s.Notes = append(s.Notes, "the ID is that of the workflow: Temporal does not say that of the schedule here")
	default:
		return s, errors.New("does not say its ID: add a field scheduleId")
	}
	s.From = "Temporal schedule " + s.ID
	t.keepFields(&s)
	return s, nil
}

// described takes over what describe says.
func (t *temporalSchedule) described(s *importer.Entry) (err error) {
	from := t.Schedule
	if s.Spec, err = from.Spec.spec(&s.Notes); err != nil {
		return err
	}
	if s.Action, err = from.Action.action(&s.Notes); err != nil {
		return err
	}
	if s.Policies, err = from.Policies.policies(); err != nil {
		return err
	}
	s.State = schedule.State{
		Notes: from.State.Notes, Paused: from.State.Paused,
		LimitedActions: from.State.LimitedActions, RemainingActions: int(from.State.RemainingActions),
	}
	return nil
}

// listed takes over what a list says.
func (t *temporalSchedule) listed(s *importer.Entry) (err error) {
	s.Notes = append(s.Notes, "a list says neither task queue nor input, memo, timeouts or policies: "+
		"temporal schedule describe does")
	s.Action = schedule.Action{Type: t.Info.WorkflowType.Name}
	s.State = schedule.State{Notes: t.Info.Notes, Paused: t.Info.Paused}
	s.Spec, err = t.Info.Spec.spec(&s.Notes)
	return err
}

// keepFields adds the memo and search attributes of the schedule itself to those of its runs, which Carillon searches by.
func (t *temporalSchedule) keepFields(s *importer.Entry) {
	memo := t.Memo.values("memo of the schedule", &s.Notes)
	attributes := t.SearchAttributes.values("search attribute of the schedule", &s.Notes)
	if len(memo)+len(attributes) == 0 {
		return
	}
	s.Notes = append(s.Notes, "memo and search attributes of the schedule itself become those of its runs")
	s.Action.Memo, s.Action.SearchAttributes = joined(memo, s.Action.Memo), joined(attributes, s.Action.SearchAttributes)
}

// joined has the entries of both; those of the second win.
func joined(a, b map[string]json.RawMessage) map[string]json.RawMessage {
	if len(a) == 0 {
		return b
	}
	for name, value := range b {
		a[name] = value
	}
	return a
}
