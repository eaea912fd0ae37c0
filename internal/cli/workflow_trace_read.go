package cli

import (
	"context"
	"sync"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
)

// traceReads is how many children of a workflow are read at once.
const traceReads = 8

// traceReader reads trees of workflows. What has ended it reads once.
type traceReader struct {
	api       workflowservice.WorkflowServiceClient
	namespace string
	all       bool

	mu    sync.Mutex
	ended map[string]*render.Trace // by the ID of the run
}

// read reads a run, and children down to a level.
func (r *traceReader) read(ctx context.Context, execution *common.WorkflowExecution, depth int) (*render.Trace, error) {
	if known := r.known(execution.RunId); known != nil {
		return known, nil
	}
	d, err := r.api.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: r.namespace, Execution: execution})
	if err != nil {
		return nil, err
	}
	info := d.GetWorkflowExecutionInfo()
	events, err := readHistory(ctx, r.api, &workflowservice.GetWorkflowExecutionHistoryRequest{Namespace: r.namespace, Execution: info.GetExecution()})
	if err != nil {
		return nil, err
	}
	tree := traceOf(info, d.GetPendingActivities())
	story := storyOf(tree, events)
	if err := r.readChildren(ctx, story, depth); err != nil {
		return nil, err
	}
	if story.over() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.ended[tree.RunID] = tree
	}
	return tree, nil
}

func (r *traceReader) known(runID string) *render.Trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended[runID]
}

// readChildren reads the children that are to be shown, in the order in which the workflow began them. Below the last level they are what their
// parent knows of them.
func (r *traceReader) readChildren(ctx context.Context, story *traceStory, depth int) error {
	var shown []*render.Trace
	for _, child := range inOrder(story.children) {
		if child.Status == render.WorkflowStatus(enums.WORKFLOW_EXECUTION_STATUS_COMPLETED) && !r.all {
			story.tree.CompletedChildren++
		} else {
			shown = append(shown, child)
		}
	}
	if story.tree.Children = shown; depth == 0 {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(traceReads)
	for i, child := range shown {
		group.Go(func() (err error) {
			shown[i], err = r.readChild(ctx, child, depth-1)
			return err
		})
	}
	return group.Wait()
}

// readChild reads a child, in its newest run. One that has not begun, or that is gone, stays what its parent knows of it.
func (r *traceReader) readChild(ctx context.Context, child *render.Trace, depth int) (*render.Trace, error) {
	tree := child
	for next := child.RunID; next != ""; next = tree.Next {
		read, err := r.read(ctx, &common.WorkflowExecution{WorkflowId: child.WorkflowID, RunId: next}, depth)
		switch {
		case status.Code(err) == codes.NotFound:
			return tree, nil
		case err != nil:
			return nil, err
		}
		tree = read
	}
	return tree, nil
}
