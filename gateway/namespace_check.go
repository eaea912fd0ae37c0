package gateway

import (
	"context"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/schedule"
)

// inNamespace is a request that says which namespace it is about.
type inNamespace interface{ GetNamespace() string }

// namespaceOf returns the namespace of a request, if it has one.
func namespaceOf(request any) string {
	if in, ok := request.(inNamespace); ok {
		return in.GetNamespace()
	}
	return ""
}

// checkNamespace returns the namespace of a request, if it must have one. It refuses a namespace that does not exist, and the start of an
// execution in one that is being deleted.
func (g *Gateway) checkNamespace(ctx context.Context, request any, method string) (record schedule.Namespace, err error) {
	in, ok := request.(inNamespace)
	if !ok {
		return record, nil
	}
	switch request := request.(type) {
	case *workflowservice.RegisterNamespaceRequest, *workflowservice.DescribeNamespaceRequest, *workflowservice.UpdateNamespaceRequest,
		*workflowservice.DeprecateNamespaceRequest, *operatorservice.DeleteNamespaceRequest:
		return record, nil // the frontend answers
	case *operatorservice.ListSearchAttributesRequest:
		if request.GetNamespace() == "" {
			return record, nil
		}
	}
	name := in.GetNamespace()
	if name == "" {
		return record, whyNoNamespace(in)
	}
	if record, err = g.namespace(ctx, name); err != nil {
		return record, err
	}
	if record.Deleting && startsExecutions(request) {
		return record, serviceerror.NewNamespaceInvalidState(name, enums.NAMESPACE_STATE_DELETED,
			[]enums.NamespaceState{enums.NAMESPACE_STATE_REGISTERED})
	}
	return record, nil
}

// whyNoNamespace returns what is wrong with a request without a namespace. If it has a task token, the token does not tell the namespace either.
func whyNoNamespace(request inNamespace) error {
	if r, ok := request.(withToken); ok {
		if _, err := namespaceOfToken(r); err != nil {
			return err
		}
	}
	return serviceerror.NewInvalidArgument("Namespace not set on request.")
}

func startsExecutions(request any) bool {
	switch request.(type) {
	case *workflowservice.StartWorkflowExecutionRequest, *workflowservice.SignalWithStartWorkflowExecutionRequest:
		return true
	}
	return false
}

// namespace returns the record of a namespace. One that has just been created may be known to the store only.
func (g *Gateway) namespace(ctx context.Context, name string) (schedule.Namespace, error) {
	if record, known := g.config.Known.Get(name); known {
		return record, nil
	}
	return g.storedNamespace(ctx, name)
}
