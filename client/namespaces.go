package client

import (
	"context"
	"iter"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The methods about namespaces take any name, not only the client's own namespace.

// CreateNamespace creates a namespace. The namespace can be used as soon as the call returns. An empty RequestID is replaced as by
// [Client.Create].
func (c *Client) CreateNamespace(
	ctx context.Context, name string, req schedule.CreateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "create", req)
}

// UpdateNamespace replaces the description and all limits of a namespace. To change only some of them, copy the others, and the
// ConflictToken, from [Client.DescribeNamespace].
func (c *Client) UpdateNamespace(
	ctx context.Context, name string, req schedule.UpdateNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "update", req)
}

// DescribeNamespace returns a namespace and how much of its limits it uses.
func (c *Client) DescribeNamespace(ctx context.Context, name string) (schedule.NamespaceDescription, error) {
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "describe", schedule.DescribeNamespaceRequest{})
}

// DeleteNamespace deletes a namespace. It returns as soon as the namespace accepts no more changes. The namespace is gone some seconds
// later, or, with Force, when its last schedule is gone. Then DescribeNamespace returns ErrNotFound.
func (c *Client) DeleteNamespace(
	ctx context.Context, name string, req schedule.DeleteNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "delete", req)
}

// FreezeNamespace stops the automated actions of a namespace, as if each of its schedules were paused. Triggers and backfills still start.
func (c *Client) FreezeNamespace(
	ctx context.Context, name string, req schedule.FreezeNamespaceRequest,
) (schedule.NamespaceDescription, error) {
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "freeze", req)
}

// UnfreezeNamespace lets the automated actions of a namespace start again. If the namespace is not frozen, nothing changes.
func (c *Client) UnfreezeNamespace(ctx context.Context, name string) (schedule.NamespaceDescription, error) {
	var req schedule.UnfreezeNamespaceRequest
	identify(&req.RequestID)
	return aboutNamespace[schedule.NamespaceDescription](ctx, c, name, "unfreeze", req)
}

// ListNamespaces returns one page of the namespaces of the installation. See [Client.Namespaces].
func (c *Client) ListNamespaces(ctx context.Context, req schedule.ListNamespacesRequest) (schedule.ListNamespacesReply, error) {
	return aboutNamespace[schedule.ListNamespacesReply](ctx, c, subjects.NoNamespace, "list", req)
}

// Namespaces iterates over the namespaces of the installation, ordered by name. It reads a page at a time. An error ends the iteration.
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

// aboutNamespace makes a request about a namespace. All these requests are safe to repeat: a repeat says the same again, or has a request
// ID.
func aboutNamespace[Reply any](ctx context.Context, c *Client, name, verb string, request any) (Reply, error) {
	return about[Reply](ctx, c, name, subjects.ThingNamespace, verb, request)
}

// about makes a request about a thing in a namespace, or in none; see call.
func about[Reply any](ctx context.Context, c *Client, namespace, thing, verb string, request any) (Reply, error) {
	if namespace != subjects.NoNamespace {
		if err := schedule.ValidateNamespace(namespace); err != nil {
			var none Reply
			return none, err // it would make another subject
		}
	}
	return call[Reply](ctx, c, c.names.API(namespace, thing, verb), request)
}
