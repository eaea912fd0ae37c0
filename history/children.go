package history

import (
	"context"
	"errors"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/journal"
	"github.com/carillon-scheduler/carillon/schedule"
)

// What one workflow asks of another becomes an entry of the other's journal, and then one of its own that says what came of it. A crash in
// between, or an answer that is lost, leads to a repeat, and each of the two knows a repeat.

// startChild starts a child of a workflow, and tells the workflow. If the workflow has ended meanwhile, the child ends too, or goes on, as it
// was to.
func (s *Service) startChild(ctx context.Context, parent schedule.Key, child execution.ChildStart) error {
	key := sibling(parent, child.Start.Request.GetWorkflowId())
	if child.Begun {
		return s.tellEnd(ctx, key, child)
	}
	outcome, err := s.outcomeOfStart(ctx, key, child)
	if err != nil {
		return err
	}
	if err = s.inform(ctx, parent, outcome); !isNotFound(err) {
		return err
	}
	if _, started := outcome.(execution.ChildStarted); !started || child.Policy == enumspb.PARENT_CLOSE_POLICY_ABANDON {
		return nil
	}
	return s.endOrphan(ctx, parent, execution.Orphaned{
		Orphan: execution.Orphan{WorkflowID: key.ID, FirstRun: child.Start.RunID, Policy: child.Policy},
		Parent: &commonpb.WorkflowExecution{WorkflowId: parent.ID, RunId: child.Parent.RunID},
	})
}

// tellEnd tells a workflow that a reset has begun how a child ended that runs before it had started, if the child has ended. Otherwise the child
// tells it by itself. If the workflow ID of the child has had another run since, nothing is known.
func (s *Service) tellEnd(ctx context.Context, key schedule.Key, child execution.ChildStart) error {
	last, err := s.journals.Last(ctx, s.shardOf(key), key)
	if errors.Is(err, journal.ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	entry, err := execution.ParseEntry(last.Data)
	if err != nil {
		return fmt.Errorf("history: entry %d of %s/%s: %w", last.Sequence, key.Namespace, key.ID, err)
	}
	for _, ending := range execution.Endings(entry) {
		if of := ending.Parent; of != nil && of.RunID == child.Parent.RunID && of.Event == child.Parent.Event {
			return s.tellParent(ctx, key, ending)
		}
	}
	return nil
}

// outcomeOfStart starts a child and returns what to tell the parent. An error means that it is to be tried again.
func (s *Service) outcomeOfStart(ctx context.Context, key schedule.Key, child execution.ChildStart) (execution.Input, error) {
	err := s.inform(ctx, key, child.Start)
	_, exists := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
	switch {
	case err == nil:
		return execution.ChildStarted{Parent: child.Parent}, nil
	case exists:
		const cause = enumspb.START_CHILD_WORKFLOW_EXECUTION_FAILED_CAUSE_WORKFLOW_ALREADY_EXISTS
		return execution.ChildNotStarted{Parent: child.Parent, Cause: cause}, nil
	case isInvalid(err):
		s.log.ErrorContext(ctx, "a child cannot be started", "namespace", key.Namespace, "workflow_id", key.ID, "error", err)
		return execution.ChildNotStarted{Parent: child.Parent}, nil // no attempt succeeds
	}
	return nil, err
}

// tellParent tells a workflow how its child ended, unless it has ended too.
func (s *Service) tellParent(ctx context.Context, child schedule.Key, ending execution.Ending) error {
	err := s.inform(ctx, sibling(child, ending.Parent.WorkflowID), execution.ChildEnded{
		Parent: *ending.Parent, Child: &commonpb.WorkflowExecution{WorkflowId: child.ID, RunId: ending.RunID}, End: ending.Event,
	})
	return unlessNotFound(err)
}

// endOrphan ends a child whose parent has ended, if it is in progress.
func (s *Service) endOrphan(ctx context.Context, parent schedule.Key, orphan execution.Orphaned) error {
	workflowID, in := orphan.Input(orphan.Parent)
	return unlessNotFound(s.inform(ctx, sibling(parent, workflowID), in))
}

// send sends a signal or a cancellation to another workflow, and tells the sender what came of it.
func (s *Service) send(ctx context.Context, from schedule.Key, out execution.Outgoing) error {
	done := execution.ExternalDone{RunID: out.RunID, Event: out.Event, NotFound: out.Input == nil}
	if out.Input != nil {
		err := s.inform(ctx, sibling(from, out.WorkflowID), out.Input)
		if err != nil && !isNotFound(err) && !isInvalid(err) {
			return err
		}
		done.NotFound = err != nil
	}
	return unlessNotFound(s.inform(ctx, from, done))
}

// inform is transition for an input whose reply nobody needs.
func (s *Service) inform(ctx context.Context, key schedule.Key, in execution.Input) error {
	_, err := s.transition(ctx, key, in)
	return err
}

// sibling is the key of another workflow in the same namespace.
func sibling(of schedule.Key, workflowID string) schedule.Key {
	return schedule.Key{Namespace: of.Namespace, ID: workflowID}
}

func unlessNotFound(err error) error {
	if isNotFound(err) {
		return nil
	}
	return err
}

func isInvalid(err error) bool {
	_, invalid := errors.AsType[*serviceerror.InvalidArgument](err)
	return invalid
}
