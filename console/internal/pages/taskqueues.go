package pages

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats.go/jetstream"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/refusal"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
)

// queuesShown is how many task queues one page of the list has.
const queuesShown = 20

func (p *Pages) addTaskQueues() {
	p.bounded("GET "+Base+"{namespace}/task-queues", p.taskQueues)
	p.bounded("GET "+Base+"{namespace}/task-queues/{queue}", p.taskQueue)
}

// queueList is the page with the task queues of a namespace.
type queueList struct {
	Rows []*queueRow
	// Total is how many there are, Next the address of the next page.
	Total   int
	Next    string
	IsFirst bool
	// Missing says what could not be found out.
	Missing []string
}

// queueRow is a task queue, for workflows and activities or for runs of Carillon's own protocol, or for both.
type queueRow struct {
	Name, Shown, Address string
	// Open is how many executions run there, and Search the address of those.
	Open   int64
	Search string
	// Backlog is how many tasks wait for a poll. Beats is how many workers have sent heartbeats, and Pollers how many poll, at most one a type of tasks.
	Backlog, Beats int64
	Pollers        int
	// Added and Dispatched are how many tasks a second come and go, of both types, as text.
	Added, Dispatched string
	// Native is the queue of Carillon's own protocol; nil if there is none.
	Native *taskqueue.Status
	State  state
}

// queueSet collects what several sources know about task queues.
type queueSet struct {
	sync.Mutex
	namespace string
	rows      map[string]*queueRow
	missing   []string
}

// change changes what is known about a queue.
func (s *queueSet) change(name string, change func(*queueRow)) {
	s.Lock()
	defer s.Unlock()
	row := s.rows[name]
	if row == nil {
		row = &queueRow{
			Name: name, Shown: cut(name, namesInList), Address: address(s.namespace, "task-queues", name),
			Search: address(s.namespace, "executions") + queryOf("query", running(name)),
		}
		s.rows[name] = row
	}
	change(row)
}

// running is a search for the executions that run on a task queue.
func running(queue string) string {
	return "TaskQueue = '" + quoteless(queue) + "' AND ExecutionStatus = 'Running'"
}

// quoteless returns a text for a string of a query.
func quoteless(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, `\`, `\\`), "'", "''")
}

// taskQueues shows the task queues of a namespace: those for which executions run, tasks wait, workers have come, or schedules have runs. Nobody keeps a list.
func (p *Pages) taskQueues(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	found := &queueSet{namespace: asks.Namespace(), rows: map[string]*queueRow{}}
	var all sync.WaitGroup
	for name, source := range queueSources {
		all.Go(func() {
			if err := source(ctx, asks, found); err != nil {
				found.Lock()
				defer found.Unlock()
				found.missing = append(found.missing, name+": "+refusal.Of(err).Message)
			}
		})
	}
	all.Wait()
	list := found.page(r.URL.Query().Get("after"))
	addPollers(ctx, asks, list.Rows)
	return &answer{view: "taskqueues", title: "Task queues", data: list}, nil
}

// page returns the queues whose names come after one.
func (s *queueSet) page(after string) *queueList {
	list := &queueList{Total: len(s.rows), IsFirst: after == "", Missing: s.missing}
	slices.Sort(list.Missing)
	for _, row := range s.rows {
		if row.Name > after {
			list.Rows = append(list.Rows, row)
		}
	}
	slices.SortFunc(list.Rows, func(a, b *queueRow) int { return cmp.Compare(a.Name, b.Name) })
	if len(list.Rows) > queuesShown {
		list.Rows = list.Rows[:queuesShown]
		list.Next = address(s.namespace, "task-queues") + queryOf("after", list.Rows[queuesShown-1].Name)
	}
	return list
}

// queueSources are who knows of task queues.
var queueSources = map[string]func(context.Context, *speaker.Speaker, *queueSet) error{
	"executions": queuesOfExecutions, "backlog": byJetStream(queuesOfBacklog), "workers": queuesOfWorkers, "runs": byJetStream(queuesOfRuns),
}

// byJetStream is a source that asks JetStream.
func byJetStream(source func(context.Context, jetstream.JetStream, *speaker.Speaker, *queueSet) error) func(context.Context, *speaker.Speaker, *queueSet) error {
	return func(ctx context.Context, asks *speaker.Speaker, found *queueSet) error {
		return asks.AskJetStream(ctx, func(ctx context.Context, js jetstream.JetStream) error { return source(ctx, js, asks, found) })
	}
}

func queuesOfExecutions(ctx context.Context, asks *speaker.Speaker, found *queueSet) error {
	counted, err := asks.Workflows.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: asks.Namespace(), Query: "ExecutionStatus = 'Running' GROUP BY TaskQueue",
	})
	for _, group := range counted.GetGroups() {
		if name := groupOf(group.GetGroupValues()); name != "" {
			found.change(name, func(row *queueRow) { row.Open = group.GetCount() })
		}
	}
	return err
}

func queuesOfBacklog(ctx context.Context, js jetstream.JetStream, asks *speaker.Speaker, found *queueSet) error {
	stream, err := js.Stream(ctx, asks.Names.BacklogStream())
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(asks.Names.BacklogsOf(asks.Namespace())))
	if err != nil {
		return err
	}
	for subject, n := range info.State.Subjects {
		if queue, _, err := asks.Names.ParseBacklog(subject); err == nil {
			found.change(queue.Name, func(row *queueRow) { row.Backlog += int64(n) })
		}
	}
	return nil
}

func queuesOfWorkers(ctx context.Context, asks *speaker.Speaker, found *queueSet) error {
	workers, err := asks.Workflows.ListWorkers(ctx, &workflowservice.ListWorkersRequest{Namespace: asks.Namespace()})
	for _, w := range workers.GetWorkers() {
		if w.GetStatus() != enums.WORKER_STATUS_SHUTDOWN && w.GetStatus() != enums.WORKER_STATUS_SHUTTING_DOWN && w.GetTaskQueue() != "" {
			found.change(w.GetTaskQueue(), func(row *queueRow) { row.Beats++ })
		}
	}
	return err
}

func queuesOfRuns(ctx context.Context, js jetstream.JetStream, asks *speaker.Speaker, found *queueSet) error {
	all, err := taskqueue.All(ctx, js, asks.Names)
	for i := range all {
		if all[i].Namespace == asks.Namespace() {
			found.change(all[i].Name, func(row *queueRow) { row.Native = &all[i].Status })
		}
	}
	return err
}

// addPollers asks who polls the queues of a page and how fast their tasks come and go, and says how each of them is.
func addPollers(ctx context.Context, asks *speaker.Speaker, rows []*queueRow) {
	var asked []queueKind
	for _, row := range rows {
		asked = append(asked, queueKind{row.Name, enums.TASK_QUEUE_TYPE_WORKFLOW}, queueKind{row.Name, enums.TASK_QUEUE_TYPE_ACTIVITY})
	}
	described, _ := describeQueues(ctx, asks, asked)
	for i, row := range rows {
		if described[2*i] == nil || described[2*i+1] == nil {
			row.State = state{"not known", "quiet"}
			continue
		}
		workflows, activities := described[2*i], described[2*i+1]
		row.Pollers = max(len(workflows.GetPollers()), len(activities.GetPollers()))
		row.Added = rateText(workflows.GetStats().GetTasksAddRate() + activities.GetStats().GetTasksAddRate())
		row.Dispatched = rateText(workflows.GetStats().GetTasksDispatchRate() + activities.GetStats().GetTasksDispatchRate())
		row.State = row.how()
	}
}

// how says how a queue is.
func (q *queueRow) how() state {
	native := q.Native != nil && q.Native.Worker()
	nativeWaits := q.Native != nil && q.Native.Waiting > 0
	switch {
	case q.Pollers == 0 && (q.Open > 0 || q.Backlog > 0), nativeWaits && !native:
		return state{"no worker", "bad"}
	case q.Pollers > 0 || native:
		return state{"served", "good"}
	}
	return state{"idle, no worker", "quiet"}
}
