package history

import (
	"context"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/carillon-scheduler/carillon/execution"
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
	err = s.inform(ctx, parent, outcome)
	if err == nil && child.Again {
		return s.tellEnd(ctx, key, child)
	}
	if _, started := outcome.(execution.ChildStarted); started && isNotFound(err) {
		return s.abandoned(ctx, parent, child, errors.Is(err, execution.ErrNoChild))
	}
	return unlessNotFound(err)
}

// abandoned decides about a child that has been started, and that its parent does not wait for: isOpen says that the parent goes on all the same.
// Somebody else has tried to start it, too, and may have told the parent that it cannot be started. Then nobody may see it.
func (s *Service) abandoned(ctx context.Context, parent schedule.Key, child execution.ChildStart, isOpen bool) error {
	refused, err := s.refused(ctx, parent, child.Parent)
	policy := child.Policy
	switch {
	case err != nil:
		return err
	case refused:
		policy = enumspb.PARENT_CLOSE_POLICY_TERMINATE
	case isOpen || policy == enumspb.PARENT_CLOSE_POLICY_ABANDON:
		return nil
	}
	return s.endOrphan(ctx, parent, execution.Orphaned{
		Orphan: execution.Orphan{WorkflowID: child.Start.Request.GetWorkflowId(), FirstRun: child.Start.RunID, Policy: policy},
		Parent: &commonpb.WorkflowExecution{WorkflowId: parent.ID, RunId: child.Parent.RunID},
	})
}

// refused reports whether the history of a parent says that a child could not be started.
func (s *Service) refused(ctx context.Context, key schedule.Key, parent execution.Parent) (found bool, err error) {
	err = s.with(ctx, key, func(of *slot) error {
		if _, err := s.refresh(ctx, of); err != nil || of.state.Run == nil {
			return err
		}
		return s.entries(ctx, of, 1, func(entry *execution.Entry, _ uint64) (bool, error) {
			found = of.state.RefusesChild(entry, parent)
			return !found, nil
		})
	})
	return found, err
}

// tellEnd tells a workflow that a reset has begun how a child ended that a run before it had started. A child in progress tells it by itself.
func (s *Service) tellEnd(ctx context.Context, key schedule.Key, child execution.ChildStart) error {
	found, err := s.endOf(ctx, key, child.Parent)
	if found == nil || err != nil {
		return err
	}
	return s.tellParent(ctx, key, *found)
}

// endOf returns how a child of a workflow ended that has begun; nil if it is in progress. If it has been removed, nobody knows, and it counts as
// terminated. The workflow ID of the child may have had other runs since.
func (s *Service) endOf(ctx context.Context, key schedule.Key, parent execution.Parent) (found *execution.Ending, err error) {
	err = s.with(ctx, key, func(of *slot) error {
		if _, err := s.refresh(ctx, of); err != nil {
			return err
		}
		if of.state.Run.Open() && of.state.Run.IsChild(parent) {
			return nil
		}
		vanished := execution.Vanished(parent)
		if found = &vanished; of.state.Run == nil {
			return nil
		}
		return s.entries(ctx, of, 1, func(entry *execution.Entry, _ uint64) (bool, error) {
			for _, ending := range execution.Endings(entry) {
				if of := ending.Parent; of != nil && of.RunID == parent.RunID && of.Event == parent.Event {
					found = &ending
				}
			}
			return found == &vanished, nil
		})
	})
	return found, err
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
		done.NotFound, done.TooMany = isNotFound(err), isInvalid(err) // a signal that is valid is refused only by a workflow that has too many
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
