package gateway

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/internal/offer"
)

// pollersWait is how long the other processes get to say who polls a queue, and how fast its tasks come and go. Nobody knows how many they are.
const pollersWait = 200 * time.Millisecond

// DescribeTaskQueue says who polls a queue, what waits in its backlog, and how fast tasks come and go.
func (s *workflowService) DescribeTaskQueue(
	ctx context.Context, r *workflowservice.DescribeTaskQueueRequest,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	if err := checkQueue(r.TaskQueue); err != nil {
		return nil, err
	}
	if r.GetApiMode() == enums.DESCRIBE_TASK_QUEUE_MODE_ENHANCED {
		return s.describeTypes(ctx, r)
	}
	info, byPriority, err := s.describeQueue(ctx, r, r.TaskQueueType)
	if err != nil {
		return nil, err
	}
	response := &workflowservice.DescribeTaskQueueResponse{Pollers: info.Pollers}
	if r.ReportStats {
		response.Stats, response.StatsByPriorityKey = info.Stats, byPriority
	}
	if r.IncludeTaskQueueStatus {
		response.TaskQueueStatus = &taskqueue.TaskQueueStatus{BacklogCountHint: info.Stats.ApproximateBacklogCount}
	}
	return response, nil
}

// ListTaskQueuePartitions names the partitions of a queue. Each queue is one, which no process owns.
func (s *workflowService) ListTaskQueuePartitions(
	_ context.Context, r *workflowservice.ListTaskQueuePartitionsRequest,
) (*workflowservice.ListTaskQueuePartitionsResponse, error) {
	if err := checkQueue(r.TaskQueue); err != nil {
		return nil, err
	}
	all := []*taskqueue.TaskQueuePartitionMetadata{{Key: r.TaskQueue.Name}}
	return &workflowservice.ListTaskQueuePartitionsResponse{ActivityTaskQueuePartitions: all, WorkflowTaskQueuePartitions: all}, nil
}

// describeTypes answers the other form of the request, which is about several types of tasks at once.
func (s *workflowService) describeTypes(
	ctx context.Context, r *workflowservice.DescribeTaskQueueRequest,
) (*workflowservice.DescribeTaskQueueResponse, error) {
	types := r.TaskQueueTypes
	if len(types) == 0 {
		types = []enums.TaskQueueType{enums.TASK_QUEUE_TYPE_WORKFLOW, enums.TASK_QUEUE_TYPE_ACTIVITY}
	}
	described := &taskqueue.TaskQueueVersionInfo{TypesInfo: map[int32]*taskqueue.TaskQueueTypeInfo{}}
	for _, kind := range types {
		if kind == enums.TASK_QUEUE_TYPE_NEXUS {
			continue // nothing polls for these
		}
		info, _, err := s.describeQueue(ctx, r, kind)
		if err != nil {
			return nil, err
		}
		described.TypesInfo[int32(kind)] = info
	}
	return &workflowservice.DescribeTaskQueueResponse{
		VersionsInfo: map[string]*taskqueue.TaskQueueVersionInfo{"": described}, // workers without a version
	}, nil
}

// describeQueue describes a queue of one type of tasks, and what waits there with each priority.
func (s *workflowService) describeQueue(
	ctx context.Context, r *workflowservice.DescribeTaskQueueRequest, of enums.TaskQueueType,
) (*taskqueue.TaskQueueTypeInfo, map[int32]*taskqueue.TaskQueueStats, error) {
	queue := offer.Queue{Namespace: r.Namespace, Kind: offer.Workflow, Name: r.TaskQueue.Name}
	switch of {
	case enums.TASK_QUEUE_TYPE_UNSPECIFIED, enums.TASK_QUEUE_TYPE_WORKFLOW:
	case enums.TASK_QUEUE_TYPE_ACTIVITY:
		queue.Kind = offer.Activity
	case enums.TASK_QUEUE_TYPE_NEXUS: // nothing polls for these, and the web UI asks
		return &taskqueue.TaskQueueTypeInfo{Stats: &taskqueue.TaskQueueStats{ApproximateBacklogAge: durationpb.New(0)}}, nil, nil
	default:
		return nil, nil, serviceerror.NewInvalidArgument("Invalid TaskQueueType.")
	}
	stats, byPriority, err := s.backlog(ctx, queue)
	if err != nil {
		return nil, nil, err
	}
	polling, rates, err := s.askProcesses(ctx, queue)
	if err != nil {
		return nil, nil, err
	}
	addRates(rates, stats, byPriority)
	stats.RateLimitingActive = polling.Limited
	for _, of := range byPriority {
		of.RateLimitingActive = polling.Limited
	}
	info := &taskqueue.TaskQueueTypeInfo{Stats: stats}
	for _, w := range polling.Workers {
		info.Pollers = append(info.Pollers, &taskqueue.PollerInfo{
			Identity: w.Identity, LastAccessTime: timestamppb.New(w.Access),
			WorkerVersionCapabilities: &common.WorkerVersionCapabilities{BuildId: w.BuildID},
		})
	}
	return info, byPriority, nil
}

// askProcesses asks at once who polls a queue, and how fast its tasks come and go.
func (g *Gateway) askProcesses(ctx context.Context, queue offer.Queue) (polling offer.Polling, rates map[int]offer.Rates, err error) {
	ctx, stop := context.WithTimeout(ctx, pollersWait)
	defer stop()
	var both errgroup.Group
	both.Go(func() (err error) {
		polling, err = offer.WhoPolls(ctx, g.config.Conn, g.config.Names, queue)
		return err
	})
	both.Go(func() (err error) {
		rates, err = offer.AskRates(ctx, g.config.Conn, g.config.Names, queue)
		return err
	})
	err = both.Wait()
	return polling, rates, err
}

// addRates adds the rates of each priority, and those of all.
func addRates(rates map[int]offer.Rates, all *taskqueue.TaskQueueStats, byPriority map[int32]*taskqueue.TaskQueueStats) {
	var sum offer.Rates
	for priority, of := range rates {
		stats := byPriority[int32(priority)]
		if stats == nil {
			stats = &taskqueue.TaskQueueStats{ApproximateBacklogAge: durationpb.New(0)}
			byPriority[int32(priority)] = stats
		}
		stats.TasksAddRate, stats.TasksDispatchRate = float32(of.Added), float32(of.Dispatched)
		sum.Added, sum.Dispatched = sum.Added+of.Added, sum.Dispatched+of.Dispatched
	}
	all.TasksAddRate, all.TasksDispatchRate = float32(sum.Added), float32(sum.Dispatched)
}

// backlog counts the tasks of a queue that no poll has taken, and says how long the first of them has waited: of all, and of each priority that has some.
func (g *Gateway) backlog(
	ctx context.Context, queue offer.Queue,
) (all *taskqueue.TaskQueueStats, byPriority map[int32]*taskqueue.TaskQueueStats, err error) {
	names := g.config.Names
	stream, err := g.config.JS.Stream(ctx, names.BacklogStream())
	if err != nil {
		return nil, nil, fmt.Errorf("gateway: open the backlog: %w", err)
	}
	all, byPriority = &taskqueue.TaskQueueStats{ApproximateBacklogAge: durationpb.New(0)}, map[int32]*taskqueue.TaskQueueStats{}
	for _, filter := range []string{names.Backlog(queue), names.OtherBacklogs(queue)} {
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return nil, nil, fmt.Errorf("gateway: count the backlog: %w", err)
		}
		for subject, n := range info.State.Subjects {
			if err := g.addStats(ctx, stream, subject, n, all, byPriority); err != nil {
				return nil, nil, err
			}
		}
	}
	return all, byPriority, nil
}

// addStats adds the tasks of a queue that have one priority.
func (g *Gateway) addStats(
	ctx context.Context, stream jetstream.Stream, subject string, n uint64, all *taskqueue.TaskQueueStats, byPriority map[int32]*taskqueue.TaskQueueStats,
) error {
	_, priority, err := g.config.Names.ParseBacklog(subject)
	if err != nil {
		return nil // it is of no queue
	}
	age, err := g.age(ctx, stream, subject)
	if err != nil {
		return err
	}
	byPriority[int32(priority)] = &taskqueue.TaskQueueStats{ApproximateBacklogCount: int64(n), ApproximateBacklogAge: durationpb.New(age)}
	all.ApproximateBacklogCount += int64(n)
	all.ApproximateBacklogAge = durationpb.New(max(age, all.ApproximateBacklogAge.AsDuration()))
	return nil
}

// age says how long the first task of a subject has waited; 0 if there is none any more.
func (g *Gateway) age(ctx context.Context, stream jetstream.Stream, subject string) (time.Duration, error) {
	first, err := stream.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("gateway: read the backlog: %w", err)
	}
	return max(0, g.config.Now().Sub(first.Time)), nil
}
