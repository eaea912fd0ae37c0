package client

import (
	"context"
	"iter"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The methods about namespaces take the name of any, whichever the client speaks for.

// CreateNamespace creates a namespace, which can be used as soon as this returns. An empty RequestID is replaced as by
// [Client.Create].
func (c *Client) CreateNamespace(
	ctx context.Context, name string, req schedule.CreateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "create", req)
}

// UpdateNamespace replaces the description and all limits of a namespace. To change some of them, set the others to what
// [Client.DescribeNamespace] says, with its ConflictToken.
func (c *Client) UpdateNamespace(
	ctx context.Context, name string, req schedule.UpdateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "update", req)
}

// DescribeNamespace returns a namespace with what it makes of its limits.
func (c *Client) DescribeNamespace(ctx context.Context, name string) (schedule.NamespaceDescription, error) {
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "describe", schedule.DescribeNamespaceRequest{})
}

// DeleteNamespace deletes a namespace. It returns as soon as the namespace takes no more changes: it is gone some seconds
// later, or, by force, when its last schedule is. Then describe answers schedule.CodeNotFound.
func (c *Client) DeleteNamespace(
	ctx context.Context, name string, req schedule.DeleteNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "delete", req)
}

// FreezeNamespace stops the automated actions of a namespace, as if each of its schedules were paused. What people trigger and
// backfill starts all the same.
func (c *Client) FreezeNamespace(
	ctx context.Context, name string, req schedule.FreezeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "freeze", req)
}

// UnfreezeNamespace lets the automated actions of a namespace start again. One that is not frozen stays as it is.
func (c *Client) UnfreezeNamespace(ctx context.Context, name string) (schedule.NamespaceDescription, error) {
	var req schedule.UnfreezeNamespaceRequest
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "unfreeze", req)
}

// ListNamespaces returns one page of the namespaces of the installation. See [Client.Namespaces].
func (c *Client) ListNamespaces(ctx context.Context, req schedule.ListNamespacesRequest) (schedule.ListNamespacesReply, error) {
	return aboutNamespace[schedule.ListNamespacesReply](ctx, c, subjects.NoNamespace, "list", req)
}

// Namespaces goes through the namespaces of the installation, ordered by name, a page at a time. An error is the last thing
// that comes.
func (c *Client) Namespaces(ctx context.Context) iter.Seq2[schedule.NamespaceDescription, error] {
	return func(yield func(schedule.NamespaceDescription, error) bool) {
		var req schedule.ListNamespacesRequest
		for {
			page, err := c.ListNamespaces(ctx, req)
			if err != nil {
				yield(schedule.NamespaceDescription{}, err)
				return
			}
			for _, description := range page.Namespaces {
				if !yield(description, nil) {
					return
				}
			}
			if page.NextPageToken == "" {
				return
			}
			req.PageToken = page.NextPageToken
		}
	}
}

// aboutNamespace makes a request about a namespace. All of them may be repeated: they say the same again, or bear a request ID.
func aboutNamespace[Reply any](ctx context.Context, c *Client, name, verb string, request any) (Reply, error) {
	if name != subjects.NoNamespace {
		if err := schedule.ValidateNamespace(name); err != nil {
			var none Reply
			return none, err // it would make another subject
		}
	}
	return call[Reply](ctx, c, c.names.API(name, subjects.ThingNamespace, verb), request)
}
