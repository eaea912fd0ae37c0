package pages

//lint:file-ignore SA1019 Temporal has marked it as deprecated, and has nothing else for it

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.temporal.io/api/enums/v1"
	workerpb "go.temporal.io/api/worker/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
)

// queueOne is the page of one task queue.
type queueOne struct {
	Name, Search string
	Open         int64
	// Types are workflow tasks and activities.
	Types   []queueType
	Workers []workerRow
	Native  *nativeQueue
	// Unserved says what waits although nobody polls.
	Unserved []string
}

// queueType is a queue for one type of tasks.
type queueType struct {
	Name, Age string
	Backlog   int64
	// Added and Dispatched are how many tasks a second come and go, as text; both are empty if there were none of late.
	Added, Dispatched string
	// Limited says that the rate which workers have set keeps tasks waiting.
	Limited bool
	Pollers []pollerRow
}

// pollerRow is somebody who polls.
type pollerRow struct {
	Identity, BuildID string
	Last              moment
}

// workerRow is a worker that sends heartbeats.
type workerRow struct {
	Identity, Host, SDK, Status string
	Start                       moment
}

// nativeQueue is a queue of Carillon's own protocol.
type nativeQueue struct {
	taskqueue.Status
	Last, Oldest moment
	OldestID     string
}

// taskQueue shows one task queue.
func (p *Pages) taskQueue(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	name, now := r.PathValue("queue"), p.config.Now()
	query := running(name)
	one := &queueOne{Name: name, Search: address(asks.Namespace(), "executions") + queryOf("query", query)}
	if counted, err := asks.Workflows.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: asks.Namespace(), Query: query}); err == nil {
		one.Open = counted.Count
	}
	types := []queueKind{{name, enums.TASK_QUEUE_TYPE_WORKFLOW}, {name, enums.TASK_QUEUE_TYPE_ACTIVITY}}
	described, err := describeQueues(ctx, asks, types)
	if err != nil {
		return nil, err
	}
	for i, d := range described {
		one.Types = append(one.Types, typeOf([]string{"workflow tasks", "activities"}[i], d, now))
	}
	if err := one.addWorkers(ctx, asks, now); err != nil {
		return nil, err
	}
	one.note()
	return &answer{view: "taskqueue", title: "Task queue " + name, data: one}, nil
}

// addWorkers adds the workers that have sent heartbeats, and the queue of Carillon's own protocol if it can be seen.
func (q *queueOne) addWorkers(ctx context.Context, asks *speaker.Speaker, now time.Time) error {
	workers, err := asks.Workflows.ListWorkers(ctx, &workflowservice.ListWorkersRequest{
		Namespace: asks.Namespace(), PageSize: manyThings, Query: "TaskQueue = '" + quoteless(q.Name) + "'",
	})
	for _, w := range workers.GetWorkers() {
		q.Workers = append(q.Workers, workerOf(w, now))
	}
	_ = asks.AskJetStream(ctx, func(ctx context.Context, js jetstream.JetStream) error { // without it, that part is missing
		status, err := taskqueue.Look(ctx, js, asks.Names, asks.Namespace(), q.Name)
		if err == nil {
			q.Native = nativeOf(&status, now)
		}
		return err
	})
	return err
}

func typeOf(name string, d *workflowservice.DescribeTaskQueueResponse, now time.Time) queueType {
	stats := d.GetStats()
	of := queueType{Name: name, Backlog: stats.GetApproximateBacklogCount(), Limited: stats.GetRateLimitingActive()}
	if of.Backlog > 0 {
		of.Age = lasted(stats.GetApproximateBacklogAge().AsDuration().Round(time.Second))
	}
	if stats.GetTasksAddRate() > 0 || stats.GetTasksDispatchRate() > 0 {
		of.Added, of.Dispatched = rateText(stats.GetTasksAddRate()), rateText(stats.GetTasksDispatchRate())
	}
	for _, poller := range d.GetPollers()[:min(len(d.GetPollers()), manyThings)] {
		of.Pollers = append(of.Pollers, pollerRow{cut(poller.GetIdentity(), namesInList), poller.GetWorkerVersionCapabilities().GetBuildId(), momentOfProto(poller.GetLastAccessTime(), now)})
	}
	return of
}

// rateText returns how many a second there are, for people.
func rateText(perSecond float32) string {
	switch {
	case perSecond == 0:
		return "0"
	case perSecond < 0.1:
		return "less than 0.1"
	case perSecond < 10:
		return strconv.FormatFloat(float64(perSecond), 'f', 1, 32)
	}
	return strconv.FormatFloat(float64(perSecond), 'f', 0, 32)
}

func workerOf(w *workerpb.WorkerListInfo, now time.Time) workerRow {
	return workerRow{cut(w.GetWorkerIdentity(), namesInList), w.GetHostName(), strings.TrimSpace(w.GetSdkName() + " " + w.GetSdkVersion()), w.GetStatus().String(), momentOfProto(w.GetStartTime(), now)}
}

// nativeOf returns what a page says about a queue of Carillon's own protocol; nil if nobody uses it.
func nativeOf(status *taskqueue.Status, now time.Time) *nativeQueue {
	if !status.Worker() && status.Waiting == 0 && status.LastHandOut.IsZero() {
		return nil
	}
	native := &nativeQueue{Status: *status, Last: momentOf(status.LastHandOut, now, time.UTC)}
	if status.Oldest != nil {
		native.Oldest, native.OldestID = momentOf(status.Oldest.Since, now, time.UTC), status.Oldest.ID
	}
	return native
}

// note says what waits although nobody polls.
func (q *queueOne) note() {
	for i := range q.Types {
		of := &q.Types[i]
		if len(of.Pollers) == 0 && of.Backlog > 0 {
			q.Unserved = append(q.Unserved, fmt.Sprintf("No worker polls for %s, and %d wait.", of.Name, of.Backlog))
		}
	}
	if len(q.Unserved) == 0 && q.Open > 0 && len(q.Types[0].Pollers) == 0 {
		q.Unserved = append(q.Unserved, fmt.Sprintf("No worker polls for workflow tasks, and %s here.", countRun(q.Open)))
	}
	if q.Native != nil && q.Native.Waiting > 0 && !q.Native.Worker() {
		q.Unserved = append(q.Unserved, fmt.Sprintf("No worker of Carillon's own protocol asks for runs, and %d wait.", q.Native.Waiting))
	}
}

func countRun(n int64) string {
	if n == 1 {
		return "1 execution runs"
	}
	return fmt.Sprintf("%d executions run", n)
}
