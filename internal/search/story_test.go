package search

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/execution"
)

// Story makes the journal of one workflow ID by real decisions.
type Story struct {
	State execution.State
	Now   time.Time
	// Entry is the last entry, encoded.
	Entry []byte
	// BuildID is what the worker says about its code; nothing if it is empty.
	BuildID string
	// sequence is that of the last entry, and journal are all of them.
	sequence uint64
	journal  [][]byte
}

// NewStory begins a journal with a start.
func NewStory(t require.TestingT, namespace, id, runID string, now time.Time, request *workflowservice.StartWorkflowExecutionRequest) *Story {
	s := &Story{State: execution.State{Key: execution.Key{Namespace: namespace, WorkflowID: id}}, Now: now}
	request.Namespace, request.WorkflowId = namespace, id
	if request.WorkflowType == nil {
		request.WorkflowType = &common.WorkflowType{Name: "report"}
	}
	if request.TaskQueue == nil {
		request.TaskQueue = &taskqueue.TaskQueue{Name: "q"}
	}
	s.Do(t, execution.Start{Request: request, RunID: runID})
	return s
}

// Do decides about an input.
func (s *Story) Do(t require.TestingT, in execution.Input) execution.Decision {
	d, err := execution.Decide(&s.State, in, s.Now)
	require.NoError(t, err)
	require.NotNil(t, d.Entry)
	s.Entry, err = d.Entry.Marshal()
	require.NoError(t, err)
	s.sequence++
	s.journal = append(s.journal, s.Entry)
	s.State = *d.After
	s.State.Stored(s.sequence)
	return d
}

// Reset resets the newest run to the end of a workflow task.
func (s *Story) Reset(t require.TestingT, to int64) {
	events, err := s.State.Run.ReadEvents(func(from uint64, each func([]byte) (bool, error)) error {
		for _, data := range s.journal[from-1:] {
			if more, err := each(data); err != nil || !more {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	s.Do(t, execution.Reset{Base: s.State.Run, Events: events, Request: &workflowservice.ResetWorkflowExecutionRequest{
		WorkflowTaskFinishEventId: to, RequestId: "reset",
	}})
}

// Commands completes a workflow task with commands: first an entry for its start, which each gets, then one for its end.
func (s *Story) Commands(t require.TestingT, each func(), commands ...*command.Command) {
	task := s.State.Run.Task
	d := s.Do(t, execution.StartWorkflowTask{
		RunID: s.State.Run.ID, Event: task.Scheduled, Attempt: task.Attempt, Queue: "q", RequestID: fmt.Sprint("poll-", s.sequence), Identity: "w",
	})
	each()
	token, err := execution.ParseToken(d.Reply.(*workflowservice.PollWorkflowTaskQueueResponse).TaskToken)
	require.NoError(t, err)
	s.Do(t, execution.CompleteWorkflowTask{Token: token, Request: &workflowservice.RespondWorkflowTaskCompletedRequest{
		Commands: commands, ForceCreateNewWorkflowTask: true,
		WorkerVersionStamp: &common.WorkerVersionStamp{BuildId: s.BuildID}, //lint:ignore SA1019 workers still send it
	}, RequestID: "r"})
	each()
}

// Complete is the command that ends a run well.
func Complete() *command.Command {
	return &command.Command{
		CommandType: enums.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
		Attributes: &command.Command_CompleteWorkflowExecutionCommandAttributes{
			CompleteWorkflowExecutionCommandAttributes: &command.CompleteWorkflowExecutionCommandAttributes{},
		},
	}
}

// Activity is the command that schedules an activity.
func Activity(id, kind string) *command.Command {
	return &command.Command{
		CommandType: enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
		Attributes: &command.Command_ScheduleActivityTaskCommandAttributes{
			ScheduleActivityTaskCommandAttributes: &command.ScheduleActivityTaskCommandAttributes{
				ActivityId: id, ActivityType: &common.ActivityType{Name: kind}, TaskQueue: &taskqueue.TaskQueue{Name: "q"},
				StartToCloseTimeout: durationpb.New(time.Minute),
			},
		},
	}
}

// Upsert is the command that changes search attributes.
func Upsert(attributes map[string]*common.Payload) *command.Command {
	return &command.Command{
		CommandType: enums.COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
		Attributes: &command.Command_UpsertWorkflowSearchAttributesCommandAttributes{
			UpsertWorkflowSearchAttributesCommandAttributes: &command.UpsertWorkflowSearchAttributesCommandAttributes{
				SearchAttributes: &common.SearchAttributes{IndexedFields: attributes},
			},
		},
	}
}

// Remember is the command that changes the memo.
func Remember(memo map[string]*common.Payload) *command.Command {
	return &command.Command{
		CommandType: enums.COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES,
		Attributes: &command.Command_ModifyWorkflowPropertiesCommandAttributes{
			ModifyWorkflowPropertiesCommandAttributes: &command.ModifyWorkflowPropertiesCommandAttributes{
				UpsertedMemo: &common.Memo{Fields: memo},
			},
		},
	}
}

// Payload is a search attribute of a type; an empty one means that the payload does not say.
func Payload(of, json string) *common.Payload {
	p := &common.Payload{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(json)}
	if of != "" {
		p.Metadata["type"] = []byte(of)
	}
	return p
}

// Info describes the newest run.
func (s *Story) Info() *workflow.WorkflowExecutionInfo {
	info := execution.Describe(&s.State).WorkflowExecutionInfo
	info.MostRecentWorkerVersionStamp = nil //lint:ignore SA1019 entries of lists do not have it
	return info
}

// RunIDOf returns a run ID.
func RunIDOf(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
