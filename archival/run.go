package archival

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// readLimit bounds each request to history.
	readLimit = 30 * time.Second
	// slowest is how many bytes a bucket must take in a second, and give back.
	slowest = 128 << 10
)

// archiveRun reads a run, and writes it to its bucket. A reason means that this run cannot be archived; an error, that others could not be, either, or
// it is errGone.
func (s *Service) archiveRun(ctx context.Context, in *bucket, key schedule.Key, runID string) (reason string, err error) {
	if err := s.runs.Wait(ctx); err != nil {
		return "", err
	}
	run := &commonpb.WorkflowExecution{WorkflowId: key.ID, RunId: runID}
	asking, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	described, err := s.config.Source.Describe(asking, &workflowservice.DescribeWorkflowExecutionRequest{Namespace: key.Namespace, Execution: run})
	if err != nil {
		return unread(err)
	}
	info := described.GetWorkflowExecutionInfo()
	room := min(max(info.GetHistorySizeBytes(), 1), maxHeldOfOne)
	if err := in.held.Acquire(ctx, room); err != nil {
		return "", err
	}
	defer in.held.Release(room)
	if err := s.held.Acquire(ctx, room); err != nil {
		return "", err
	}
	defer s.held.Release(room)
	events, err := s.historyOf(ctx, key.Namespace, run)
	if err != nil {
		return unread(err)
	}
	return s.write(ctx, in, key.Namespace, info, events)
}

// write writes an execution to its bucket.
func (s *Service) write(
	ctx context.Context, in *bucket, namespace string, info *workflowpb.WorkflowExecutionInfo, events []*historypb.HistoryEvent,
) (reason string, err error) {
	a, err := archive.Encode(namespace, info, events)
	if err != nil {
		return err.Error(), nil
	}
	size := len(a.History) + len(a.Index)
	if err := s.bytes.WaitN(ctx, min(size, s.bytes.Burst())); err != nil {
		return "", err
	}
	limit := s.config.writeLimit + time.Duration(size)*time.Second/slowest
	if err := in.within(ctx, limit, func(ctx context.Context) error { return in.Save(ctx, a) }); err != nil {
		return "", fmt.Errorf("%s: %w", a.Entry.History, err)
	}
	metrics.ArchiveRuns.Add(ctx, 1, namespace)
	metrics.ArchiveBytes.Add(ctx, size, namespace)
	return "", nil
}

// historyOf reads the history of a run.
func (s *Service) historyOf(ctx context.Context, namespace string, run *commonpb.WorkflowExecution) (all []*historypb.HistoryEvent, err error) {
	request := &workflowservice.GetWorkflowExecutionHistoryRequest{Namespace: namespace, Execution: run}
	for {
		limited, cancel := context.WithTimeout(ctx, readLimit)
		page, err := s.config.Source.History(limited, request)
		cancel()
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetHistory().GetEvents()...)
		if request.NextPageToken = page.NextPageToken; len(request.NextPageToken) == 0 {
			return all, nil
		}
	}
}

// unread says what an error of history means for a run: that it is gone, that history cannot be asked now or does not know the namespace yet, or that
// this run cannot be read. A workflow ID that too many others ask about is a matter of its runs alone.
func unread(err error) (reason string, _ error) {
	var (
		gone      *serviceerror.NotFound
		unknown   *serviceerror.NamespaceNotFound
		away      *serviceerror.Unavailable
		late      *serviceerror.DeadlineExceeded
		canceled  *serviceerror.Canceled
		exhausted *serviceerror.ResourceExhausted
	)
	switch {
	case errors.As(err, &gone):
		return "", errGone
	case errors.As(err, &exhausted) && exhausted.Cause == enumspb.RESOURCE_EXHAUSTED_CAUSE_BUSY_WORKFLOW:
		return err.Error(), nil
	case errors.As(err, &unknown), errors.As(err, &away), errors.As(err, &late), errors.As(err, &canceled), errors.As(err, &exhausted), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		return "", err
	}
	return err.Error(), nil
}
