package history

import (
	"context"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// startScheduled starts an execution for a schedule, which is told how it ends.
func (s *Service) startScheduled(ctx context.Context, at subjects.Request, data []byte) (proto.Message, error) {
	var start wire.StartWorkflow
	if err := codec.Unmarshal(data, &start); err != nil {
		return nil, serviceerror.NewInvalidArgument("the start cannot be read: " + err.Error())
	}
	request, err := decode[workflowservice.StartWorkflowExecutionRequest](at, start.Request)
	if err != nil {
		return nil, err
	}
	if start.RunID == "" || len(start.Callback) == 0 {
		return nil, serviceerror.NewInvalidArgument("the start names no run, or nobody who is to be told how it ends")
	}
	key, err := s.keyOf(at, request.GetWorkflowId())
	if err != nil {
		return nil, err
	}
	return s.transition(ctx, key, execution.Start{Request: request, RunID: start.RunID, Callback: start.Callback})
}

// tell tells a schedule or a parent how an execution ended. The entry is acknowledged only then, so no end is lost; a repeat is harmless.
func (s *Service) tell(ctx context.Context, key schedule.Key, ending execution.Ending) error {
	if ending.Parent != nil {
		return s.tellParent(ctx, key, ending)
	}
	message, err := workflows.Report(s.config.Names, s.config.Shards, key.Namespace, ending.Callback, ending.RunID, ending.Event)
	if err != nil {
		s.log.ErrorContext(ctx, "a schedule is not told how its workflow ended", "namespace", key.Namespace, "workflow_id", key.ID,
			"run_id", ending.RunID, "error", err)
		return nil // no attempt succeeds
	}
	if err := s.bus.Publish(ctx, message); err != nil {
		return fmt.Errorf("history: report the end of run %s: %w", ending.RunID, err)
	}
	return nil
}
