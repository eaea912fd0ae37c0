// Package temporal turns schedules of Temporal into schedules of Carillon. It reads the JSON that Temporal's command line prints.
//
// [Parse] is pure. The package imports schedule, internal/importer, internal/apitext and internal/payload. It must not import the SDK of
// Temporal, because it needs only the JSON form of its API.
package temporal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Parse reads a sequence of JSON texts, each a schedule or a list of schedules. The id is for a schedule that is alone in the
// text and does not have its own ID. The kind says what the schedules start: workflows, for the same workers as before, or runs on
// workers of Carillon's own protocol.
func Parse(data []byte, id string, kind schedule.ActionKind) ([]importer.Entry, error) {
	schedules, err := readAll(data)
	if err != nil {
		return nil, err
	}
	if len(schedules) != 1 {
		id = ""
	}
	all := make([]importer.Entry, len(schedules))
	for i := range schedules {
		if all[i], err = schedules[i].schedule(id, kind); err != nil {
			all[i] = importer.Entry{From: cmp.Or(all[i].From, fmt.Sprintf("schedule %d", i+1)), Problem: err}
		}
	}
	return all, nil
}

func readAll(data []byte) ([]answer, error) {
	var all []answer
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
		found, err := readText(text)
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

// readText reads one text: a schedule, a list of schedules, or the page of a list.
func readText(text json.RawMessage) ([]answer, error) {
	var all []answer
	if bytes.HasPrefix(text, []byte("[")) {
		err := json.Unmarshal(text, &all)
		return all, err
	}
	var one struct {
		answer
		Schedules []answer `json:"schedules"`
	}
	if err := json.Unmarshal(text, &one); err != nil {
		return nil, err
	}
	if len(one.Schedules) > 0 {
		return one.Schedules, nil
	}
	return []answer{one.answer}, nil
}

// answer is the answer to a describe request, or an entry of a list, in the JSON form of Temporal's API.
type answer struct {
	ScheduleID string `json:"scheduleId"`
	Schedule   *struct {
		Spec     scheduleSpec     `json:"spec"`
		Action   scheduleAction   `json:"action"`
		Policies schedulePolicies `json:"policies"`
		State    scheduleState    `json:"state"`
	} `json:"schedule"`
	// Info is everything in an entry of a list. In the answer to a describe request it has other fields.
	Info struct {
		Spec         *scheduleSpec `json:"spec"`
		WorkflowType named         `json:"workflowType"`
		Notes        string        `json:"notes"`
		Paused       bool          `json:"paused"`
	} `json:"info"`
	Memo             payloadFields `json:"memo"`
	SearchAttributes payloadFields `json:"searchAttributes"`
}

type named struct {
	Name string `json:"name"`
}

type scheduleState struct {
	Notes            string `json:"notes"`
	Paused           bool   `json:"paused"`
	LimitedActions   bool   `json:"limitedActions"`
	RemainingActions number `json:"remainingActions"`
}

// number is a 64-bit number, which the JSON form of protocol buffers writes as text.
type number int

func (n *number) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(bytes.Trim(data, `"`), (*int)(n))
}

// schedule turns the answer into a schedule.
func (t *answer) schedule(id string, kind schedule.ActionKind) (importer.Entry, error) {
	var s importer.Entry
	switch {
	case t.Schedule != nil:
		if err := t.described(&s, kind); err != nil {
			return s, err
		}
	case t.Info.Spec != nil:
		if err := t.listed(&s, kind); err != nil {
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
	s.Memo, s.SearchAttributes = t.Memo.payloads(), t.SearchAttributes.payloads()
	return s, nil
}

// described adds what the answer to a describe request has.
func (t *answer) described(s *importer.Entry, kind schedule.ActionKind) (err error) {
	from := t.Schedule
	if s.Spec, err = from.Spec.spec(&s.Notes); err != nil {
		return err
	}
	if s.Action, err = from.Action.action(kind, &s.Notes); err != nil {
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

// listed adds what an entry of a list has.
func (t *answer) listed(s *importer.Entry, kind schedule.ActionKind) (err error) {
	s.Notes = append(s.Notes, "a list says neither task queue nor input, memo, timeouts or policies: "+
		"temporal schedule describe does")
	s.Action = schedule.Action{Type: t.Info.WorkflowType.Name}
	if kind.IsWorkflow() {
		s.Action.Kind = kind
	}
	s.State = schedule.State{Notes: t.Info.Notes, Paused: t.Info.Paused}
	s.Spec, err = t.Info.Spec.spec(&s.Notes)
	return err
}
