package execution

import (
	"fmt"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// parse reads an entry as whoever replays the journal does.
func (s *story) parse(data []byte) *Entry {
	entry, err := ParseEntry(data)
	require.NoError(s.t, err)
	require.NoError(s.t, entry.ReadBase(s.read))
	return entry
}

// read is the Reader of the journal.
func (s *story) read(from uint64, each func([]byte) (bool, error)) error {
	for i, data := range s.journal {
		if uint64(i+1)*10 < from {
			continue
		}
		if more, err := each(data); err != nil || !more {
			return err
		}
	}
	return nil
}

// runAt returns a run as it is now or was at its end; nil if there is none. The ID may be a name of a script.
func (s *story) runAt(id string) *Run {
	for i := 0; i < len(s.names); i += 2 {
		if s.names[i+1] == id {
			id = s.names[i]
		}
	}
	if s.state.Run == nil || id == "" || id == s.state.Run.ID {
		return s.state.Run
	}
	state := &State{Key: s.state.Key}
	for i, data := range s.journal {
		entry := s.parse(data)
		for _, part := range entry.Parts {
			if part.RunID == id {
				require.NoError(s.t, state.Apply(&Entry{Time: entry.Time, Parts: []Part{part}}, uint64(i+1)*10))
			}
		}
	}
	return state.Run
}

// reset makes a reset as package history does.
func (s *story) reset(request *workflowservice.ResetWorkflowExecutionRequest) Reset {
	in := Reset{Request: request, Base: s.runAt(request.GetWorkflowExecution().GetRunId())}
	if in.Base == nil {
		return in
	}
	var err error
	in.Events, err = in.Base.ReadEvents(s.read)
	require.NoError(s.t, err)
	for next := in.Next(); next != ""; next = in.Next() {
		events, err := s.runAt(next).ReadEvents(s.read)
		require.NoError(s.t, err)
		in.Later = append(in.Later, LaterRun{next, events})
	}
	return in
}

func (s *story) resetInput(arg func(string) string) Input {
	request := &workflowservice.ResetWorkflowExecutionRequest{
		WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: "w", RunId: arg("run")}, Reason: arg("reason"), RequestId: arg("request"),
	}
	_, err := fmt.Sscan(arg("to"), &request.WorkflowTaskFinishEventId)
	require.NoError(s.t, err)
	reapply, err := parseEnum(arg("reapply"), enumspb.ResetReapplyTypeFromString)
	require.NoError(s.t, err)
	request.ResetReapplyType = reapply //lint:ignore SA1019 clients still send it
	if kind, err := parseEnum(arg("exclude"), enumspb.ResetReapplyExcludeTypeFromString); kind != 0 {
		require.NoError(s.t, err)
		request.ResetReapplyExcludeTypes = []enumspb.ResetReapplyExcludeType{kind}
	}
	switch name := arg("then"); name {
	case "":
	case "options":
		request.PostResetOperations = []*workflowpb.PostResetOperation{{Variant: &workflowpb.PostResetOperation_UpdateWorkflowOptions_{}}}
	default:
		request.PostResetOperations = []*workflowpb.PostResetOperation{{Variant: &workflowpb.PostResetOperation_SignalWorkflow_{
			SignalWorkflow: &workflowpb.PostResetOperation_SignalWorkflow{SignalName: name},
		}}}
	}
	return s.reset(request)
}
