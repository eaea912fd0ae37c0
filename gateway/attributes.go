package gateway

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	schedulepb "go.temporal.io/api/schedule/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/attributes"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// maxAttributes is how many search attributes of its own a namespace may have.
	maxAttributes = 100
	// maxAttributeWrites bounds the attempts to write the attributes of a namespace that others write at the same time.
	maxAttributeWrites = 16
)

// ListSearchAttributes returns the attributes that every execution has, and those that have been added to the namespace. Others that its executions have
// are not among them: clients add only what is not listed, and their type would be a guess.
func (s *operatorService) ListSearchAttributes(
	ctx context.Context, r *operatorservice.ListSearchAttributesRequest,
) (*operatorservice.ListSearchAttributesResponse, error) {
	response := &operatorservice.ListSearchAttributesResponse{SystemAttributes: attributes.All()}
	if r.Namespace == "" {
		return response, nil
	}
	stored, err := s.addedAttributes(ctx, r.Namespace)
	if err != nil {
		return nil, err
	}
	response.CustomAttributes = stored.Value.Types
	return response, nil
}

// addedAttributes reads the attributes of a namespace.
func (g *Gateway) addedAttributes(ctx context.Context, namespace string) (kv.Record[attributes.Record], error) {
	stored, err := kv.GetJSON[attributes.Record](ctx, g.config.Cluster, subjects.SearchAttributesKey(namespace))
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	if stored.Value.Types == nil {
		stored.Value.Types = map[string]enums.IndexedValueType{}
	}
	return stored, err
}

// AddSearchAttributes lets the executions of a namespace have further attributes.
func (s *operatorService) AddSearchAttributes(
	ctx context.Context, r *operatorservice.AddSearchAttributesRequest,
) (*operatorservice.AddSearchAttributesResponse, error) {
	if len(r.SearchAttributes) == 0 {
		return nil, serviceerror.NewInvalidArgument("SearchAttributes are not set on request.")
	}
	for name, kind := range r.SearchAttributes {
		if err := attributes.CheckNew(name, kind); err != nil {
			return nil, err
		}
	}
	return &operatorservice.AddSearchAttributesResponse{}, s.changeAttributes(ctx, r.Namespace, func(types map[string]enums.IndexedValueType) error {
		for name, kind := range r.SearchAttributes {
			if known, exists := types[name]; exists && known != kind {
				return serviceerror.NewAlreadyExistsf("Search attribute %s already exists with type %s.", name, known)
			}
		}
		maps.Copy(types, r.SearchAttributes)
		if len(types) > maxAttributes {
			return serviceerror.NewFailedPreconditionf("a namespace has %d search attributes at most", maxAttributes)
		}
		return nil
	})
}

// RemoveSearchAttributes takes attributes away from a namespace. Executions that have them keep them.
func (s *operatorService) RemoveSearchAttributes(
	ctx context.Context, r *operatorservice.RemoveSearchAttributesRequest,
) (*operatorservice.RemoveSearchAttributesResponse, error) {
	if len(r.SearchAttributes) == 0 {
		return nil, serviceerror.NewInvalidArgument("SearchAttributes are not set on request.")
	}
	return &operatorservice.RemoveSearchAttributesResponse{}, s.changeAttributes(ctx, r.Namespace, func(types map[string]enums.IndexedValueType) error {
		for _, name := range r.SearchAttributes {
			if _, exists := types[name]; !exists {
				return serviceerror.NewNotFoundf("Search attribute %s doesn't exist.", name)
			}
			delete(types, name)
		}
		return nil
	})
}

// changeAttributes writes the attributes of a namespace after an edit, which may run again.
func (s *operatorService) changeAttributes(
	ctx context.Context, namespace string, edit func(map[string]enums.IndexedValueType) error,
) error {
	for range maxAttributeWrites {
		stored, err := s.addedAttributes(ctx, namespace)
		if err != nil {
			return err
		}
		before := len(stored.Value.Types)
		if err := edit(stored.Value.Types); err != nil || len(stored.Value.Types) == before {
			return err
		}
		_, err = kv.PutJSON(ctx, s.config.Cluster, subjects.SearchAttributesKey(namespace), &stored.Value, stored.Revision)
		if !errors.Is(err, kv.ErrConflict) {
			return err
		}
	}
	return serviceerror.NewUnavailable("the search attributes are being changed by too many others: try again")
}

// completeAttributes refuses search attributes that an execution of a namespace cannot have. Those that were added to the namespace get its type; others
// need not be added.
func (g *Gateway) completeAttributes(ctx context.Context, namespace string, all *common.SearchAttributes) error {
	return attributes.Complete(all, g.addedTypes(ctx, namespace))
}

// completeSchedule does the same for the attributes of a schedule itself, and for those of the workflows that it starts.
func (g *Gateway) completeSchedule(ctx context.Context, namespace string, own *common.SearchAttributes, s *schedulepb.Schedule) error {
	added := g.addedTypes(ctx, namespace)
	if err := attributes.Complete(own, added); err != nil {
		return err
	}
	return attributes.Complete(s.GetAction().GetStartWorkflow().GetSearchAttributes(), added)
}

// describeAttributes gives stored search attributes their types, without which clients cannot read them.
func (g *Gateway) describeAttributes(ctx context.Context, namespace string, stored ...*common.SearchAttributes) error {
	added := g.addedTypes(ctx, namespace)
	for _, all := range stored {
		if err := attributes.Describe(all, added); err != nil {
			return err
		}
	}
	return nil
}

// addedTypes returns a function that reads the types of the attributes of a namespace once.
func (g *Gateway) addedTypes(ctx context.Context, namespace string) func() (map[string]enums.IndexedValueType, error) {
	return sync.OnceValues(func() (map[string]enums.IndexedValueType, error) {
		stored, err := g.addedAttributes(ctx, namespace)
		return stored.Value.Types, err
	})
}

// completeCommands does the same for the commands of a workflow task.
func (g *Gateway) completeCommands(ctx context.Context, r *workflowservice.RespondWorkflowTaskCompletedRequest) error {
	added := g.addedTypes(ctx, r.Namespace)
	for _, c := range r.Commands {
		for _, all := range []*common.SearchAttributes{
			c.GetUpsertWorkflowSearchAttributesCommandAttributes().GetSearchAttributes(),
			c.GetContinueAsNewWorkflowExecutionCommandAttributes().GetSearchAttributes(),
			c.GetStartChildWorkflowExecutionCommandAttributes().GetSearchAttributes(),
		} {
			if err := attributes.Complete(all, added); err != nil {
				return err
			}
		}
	}
	return nil
}

// failAttributes fails a workflow task because of the search attributes in its commands. If they could not be checked, the worker tries again.
func (s *workflowService) failAttributes(ctx context.Context, r *workflowservice.RespondWorkflowTaskCompletedRequest, wrong error) error {
	var invalid *serviceerror.InvalidArgument
	if !errors.As(wrong, &invalid) {
		return wrong
	}
	const cause = enums.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES
	text := cause.String() + ": " + invalid.Message
	_, err := s.RespondWorkflowTaskFailed(ctx, &workflowservice.RespondWorkflowTaskFailedRequest{
		Namespace: r.Namespace, TaskToken: r.TaskToken, Identity: r.Identity, Cause: cause, Failure: serverFailure(text),
	})
	return cmp.Or(err, error(serviceerror.NewInvalidArgument(text)))
}
