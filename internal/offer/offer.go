package offer

import (
	"errors"
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Queue names a queue of tasks. A sticky queue is a workflow queue.
type Queue = subjects.Queue

// Kind says what the tasks of a queue are.
type Kind = subjects.QueueKind

// The kinds of tasks.
const (
	Workflow = subjects.QueueWorkflow
	Activity = subjects.QueueActivity
)

var (
	// ErrNobody: no poll takes the task.
	ErrNobody = errors.New("offer: nobody polls the queue")
	// ErrBusy is an [ErrNobody] of a queue that has pollers: none of them became free within the patience of the offer.
	ErrBusy = fmt.Errorf("%w at this moment", ErrNobody)
	// ErrStopped: the process is stopping, and takes no more polls.
	ErrStopped = errors.New("offer: the process is stopping")
)

// Task names a task. It says where the task is found, and not what it contains.
type Task struct {
	Namespace  string `json:"namespace,omitempty"`
	WorkflowID string `json:"workflowId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	Kind       Kind   `json:"kind,omitempty"`
	// EventID is the event that scheduled the task, Attempt counts from 1.
	EventID int64 `json:"eventId,omitempty"`
	Attempt int32 `json:"attempt,omitempty"`
	// Stamp tells apart the attempts of an activity that have the same number, because somebody has reset it.
	Stamp int32 `json:"stamp,omitempty"`
	// Priority orders the tasks of a backlog: subjects.FirstPriority to subjects.LastPriority, 0 for subjects.DefaultPriority.
	Priority int `json:"priority,omitempty"`
	// Scheduled is when the task was scheduled. From Expires on nobody wants it any more; zero if that is not known.
	Scheduled time.Time `json:"scheduled,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
}

// Marshal encodes the task for the backlog.
func (t Task) Marshal() ([]byte, error) { return codec.Marshal(&t) }

// ParseTask decodes what Marshal encoded. An error means that the data is no task.
func ParseTask(data []byte) (Task, error) {
	var t Task
	if err := codec.Unmarshal(data, &t); err != nil {
		return Task{}, err
	}
	if t.Namespace == "" || t.WorkflowID == "" || t.RunID == "" {
		return Task{}, fmt.Errorf("offer: %w: a task that names no execution", codec.ErrFormat)
	}
	return t, nil
}

// Poller is who has taken an offer.
type Poller struct {
	// Inbox is the subject where the poll waits for its task. [Polls] sets it.
	Inbox string `json:"inbox,omitempty"`
	// Identity and BuildID are what the worker says of itself.
	Identity string `json:"identity,omitempty"`
	BuildID  string `json:"buildId,omitempty"`
}

// Start asks history to start a task of the backlog, and to hand it to a poll that is reserved for it.
type Start struct {
	Task   Task   `json:"task,omitzero"`
	Poller Poller `json:"poller,omitzero"`
}

// Marshal encodes the request.
func (s Start) Marshal() ([]byte, error) { return codec.Marshal(&s) }

// ParseStart decodes what Marshal encoded. An error means that the data is no such request.
func ParseStart(data []byte) (Start, error) {
	var s Start
	if err := codec.Unmarshal(data, &s); err != nil {
		return Start{}, err
	}
	if s.Task.Namespace == "" || s.Task.WorkflowID == "" || s.Task.RunID == "" || s.Poller.Inbox == "" {
		return Start{}, fmt.Errorf("offer: %w: a request that names no execution or no poll", codec.ErrFormat)
	}
	return s, nil
}

// answer is what a gateway answers to an offer. Without a poller, none is free.
type answer struct {
	Poller Poller `json:"poller,omitzero"`
}

// probe is the body of an offer that only asks whether somebody listens.
const probe = "?"

// standing is an offer to all gateways of a queue, or its end.
type standing struct {
	ID string `json:"id,omitempty"`
	// Patience is how long the offer stands. Zero means that it ends now.
	Patience time.Duration `json:"patience,omitempty"`
}
