package gateway

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/subjects"
)

// ownArchive is the archive of a namespace that asks for one and names none.
const ownArchive = "jetstream://"

// archiveWait is how long a request about a run that is gone waits for the archive.
const archiveWait = 5 * time.Second

// ListArchivedWorkflowExecutions returns a page of the executions in the archive of a namespace: the last day first.
func (s *workflowService) ListArchivedWorkflowExecutions(
	ctx context.Context, r *workflowservice.ListArchivedWorkflowExecutionsRequest,
) (*workflowservice.ListArchivedWorkflowExecutionsResponse, error) {
	response := &workflowservice.ListArchivedWorkflowExecutionsResponse{}
	if err := call.Ask(ctx, s.config.Conn, s.config.Names.Archive(r.Namespace, subjects.VerbListArchived), r, response); err != nil {
		return nil, err
	}
	return response, nil
}

// runRequest is a request about a run.
type runRequest interface {
	proto.Message
	GetExecution() *common.WorkflowExecution
}

// orArchived asks the archive of a namespace, if it has one, about a run that history does not have. gone is the answer of history.
func (g *Gateway) orArchived(ctx context.Context, gone error, namespace, verb string, request runRequest, response proto.Message) error {
	var notFound *serviceerror.NotFound
	if !errors.As(gone, &notFound) {
		return gone
	}
	if record, known := g.config.Known.Get(namespace); !known || record.Limits.Archive == "" {
		return gone
	}
	ctx, cancel := context.WithTimeout(ctx, archiveWait)
	defer cancel()
	err := call.Ask(ctx, g.config.Conn, g.config.Names.Archive(namespace, verb), request, response)
	if errors.As(err, &notFound) || err != nil && request.GetExecution().GetRunId() == "" {
		return gone // a workflow that never was must not depend on the archive
	}
	return err
}

// archival are Temporal's settings of an archive. Here, histories and what lists show are archived together.
type archival struct {
	history, visibility       enums.ArchivalState
	historyURI, visibilityURI string
}

// apply returns the URL of the archive of a namespace, which was another one before.
func (a archival) apply(before string) (string, error) {
	is := func(state enums.ArchivalState) bool { return a.history == state || a.visibility == state }
	uri := cmp.Or(a.historyURI, a.visibilityURI)
	switch {
	case a.historyURI != "" && a.visibilityURI != "" && a.historyURI != a.visibilityURI:
		return "", serviceerror.NewInvalidArgument("History and visibility are archived together: give the same URI for both.")
	case is(enums.ARCHIVAL_STATE_ENABLED):
		return cmp.Or(uri, before, ownArchive), nil
	case is(enums.ARCHIVAL_STATE_DISABLED):
		return "", nil
	case uri != "" && before == "":
		return "", serviceerror.NewInvalidArgument("An archival URI needs an archival state of enabled.")
	}
	return cmp.Or(uri, before), nil
}

// archivalState is the state of a namespace with an archive.
func archivalState(archive string) enums.ArchivalState {
	if archive == "" {
		return enums.ARCHIVAL_STATE_DISABLED
	}
	return enums.ARCHIVAL_STATE_ENABLED
}
