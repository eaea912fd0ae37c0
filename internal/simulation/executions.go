package simulation

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/history"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/matching"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The roles of processes where there are executions.
const (
	roleHistory    = subjects.PoolHistory
	roleMatching   = "matching"
	roleFlowWorker = "flow-worker"
	roleClient     = "client"
)

// ExecutionPlanOf draws the plan of a seed for workflow executions, and no schedules.
func ExecutionPlanOf(seed uint64) Plan {
	drawn := PlanOf(seed)
	rng := rand.New(rand.NewPCG(seed, streamExecutions))
	plan := Plan{
		Duration: drawn.Duration, Requests: 2 * drawn.Requests, Crash: drawn.Crash, LostRequest: drawn.LostRequest, LostReply: drawn.LostReply,
		Duplicate: drawn.Duplicate, Stale: drawn.Stale, Slow: drawn.Slow, Skew: drawn.Skew, Restarts: drawn.Restarts,
		Suspensions: drawn.Suspensions, Outages: drawn.Outages, PowerCuts: drawn.PowerCuts, Full: drawn.Full, Elections: drawn.Elections,
	}
	plan.Executions, plan.DeletedConsumers, plan.Standstills = 1+rng.IntN(4), drawn.DeletedConsumers, drawn.Standstills
	plan.Checks = rng.IntN(3) == 0
	if rng.IntN(6) == 0 {
		plan.expire(rng)
	}
	return plan
}

// executions is what the world knows about executions.
type executions struct {
	world    *world
	journals map[string]*journaled // by workflow ID
	// tasks and attempts count how often code began to work on a workflow task and on an attempt of an activity, by what tells them apart.
	tasks    map[string]int
	attempts map[string]int
	// seen are the histories that code has seen with tasks whose results were accepted, done the results of activities that were accepted.
	seen []seenHistory
	done []doneActivity
	asks []*operation
	// told are the runs whose end a schedule was told of, by the request that began them.
	told map[string][]string
	// finishing are the workflow IDs that are being brought to their end.
	finishing map[string]bool
}

// journaled is a journal, as it is stored.
type journaled struct {
	state execution.State
	runs  []*executionRun
	// entries are all that were ever written, by their sequences.
	entries map[uint64]*writtenEntry
}

// executionRun is one run in a journal.
type executionRun struct {
	id, request string
	callback    []byte
	events      []*historypb.HistoryEvent
	ended       bool
	// follows is the run before in the same chain, and next the one that must follow; empty if none does.
	follows, next string
	// base is the run from which a reset has begun this one, and through the last event that it has from there; zero if none has.
	base    *executionRun
	through int64
	// first is the sequence of the entry with which it begins, and began when that was stored.
	first uint64
	began time.Time
	// deleted is when it was deleted, and closed when it ended, as the entry says; zero if it has not.
	deleted, closed time.Time
	// reset is the request of that. handed is the run of a reset that ends instead of this one, for those who wait for the end.
	reset, handed string
}

type seenHistory struct {
	workflowID, runID string
	events            []*historypb.HistoryEvent
}

type doneActivity struct {
	token  execution.Token
	result string
}

func newExecutions(w *world) *executions {
	return &executions{world: w, journals: map[string]*journaled{}, tasks: map[string]int{}, attempts: map[string]int{}, finishing: map[string]bool{}, told: map[string][]string{}}
}

// bootExecutions starts the processes.
func (w *world) bootExecutions(begin time.Time) {
	for _, role := range []string{roleHistory, roleMatching, roleFlowWorker} {
		w.bring(begin, role, namespace, role, each)
	}
	if w.plan.Checks {
		w.bring(begin, roleChecker, namespace, roleChecker, 1)
	}
	w.bring(begin, roleClient, namespace, roleClient, 1)
}

// executing is what the processes of executions do; nil for other roles.
func (n *node) executing(log *slog.Logger) func(context.Context) {
	names := n.world.names
	switch n.role {
	case roleHistory:
		return runs(history.New(history.Config{
			Bus: n, Conn: n, Names: names, Shards: shards, Namespaces: n.world, Logger: log, Now: n.now, NewID: n.newID,
			Executions: 2, // so that some are read anew
			// Nothing tells the offers of two tasks apart that are made at the same moment.
			OffersAtOnce: 1,
		}))
	case roleMatching:
		return n.routing(func(ctx context.Context) {
			runs(matching.New(matching.Config{
				Bus: n, Conn: n, Names: names, Starter: matching.NewStarter(n.owners, names, shards), Logger: log, Now: n.now,
			}))(ctx)
		})
	case roleFlowWorker:
		return n.routing(n.serveExecutions)
	case roleClient:
		n.immune = true
		return n.routing(func(ctx context.Context) { <-ctx.Done() })
	}
	return nil
}

// routing is a process that sends requests about executions to their owners.
func (n *node) routing(run func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		n.owners, _ = owners.New(n, n.world.names, n.now) // nothing refuses a subscription
		run(ctx)
	}
}

// newID returns an ID in the form of a UUID, different in each process.
func (n *node) newID() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", n.birth, n.madeIDs.Add(1))
}

// find reports what a goroutine of a process has found.
func (n *node) find(kind, id, format string, args ...any) {
	n.note("finds "+kind, func() { n.world.ledger.find(kind, id, format, args...) })
}

// beginTask: each workflow task is given to code once.
func (e *executions) beginTask(n *node, task *workflowservice.PollWorkflowTaskQueueResponse) {
	if n.dead {
		return
	}
	name := string(task.GetTaskToken())
	if e.tasks[name]++; e.tasks[name] > 1 {
		e.world.ledger.find("task doubled", task.GetWorkflowExecution().GetWorkflowId(), "%s has got task %s again", n.name, name)
	}
}

func (e *executions) endTask(workflowID, runID string, events []*historypb.HistoryEvent) {
	e.seen = append(e.seen, seenHistory{workflowID, runID, events})
}

// beginAttempt: each attempt of an activity is given to code once.
func (e *executions) beginAttempt(n *node, token *execution.Token) {
	if n.dead {
		return
	}
	name := fmt.Sprintf("%s %d %d.%d", token.RunID, token.Scheduled, token.Stamp, token.Attempt)
	if e.attempts[name]++; e.attempts[name] > 1 {
		e.world.ledger.find("attempt doubled", token.WorkflowID, "%s has got attempt %s again", n.name, name)
	}
}

func (e *executions) completed(token *execution.Token, result string) {
	e.done = append(e.done, doneActivity{*token, result})
}

// journaled adds an entry that has just been stored: it follows on what is there.
func (e *executions) journaled(msg *nats.Msg, sequence uint64, now time.Time) {
	_, key, err := e.world.names.ParseJournal(msg.Subject)
	if err != nil {
		return
	}
	find := func(format string, args ...any) { e.world.ledger.find("journal", key.ID, format, args...) }
	entry, err := execution.ParseEntry(msg.Data)
	if err != nil {
		find("entry %d: %v", sequence, err)
		return
	}
	j := e.journals[key.ID]
	if j == nil {
		j = &journaled{
			state: execution.State{Key: execution.Key{Namespace: key.Namespace, WorkflowID: key.ID}}, entries: map[uint64]*writtenEntry{},
		}
		e.journals[key.ID] = j
	}
	for i := range entry.Parts {
		part := &entry.Parts[i]
		run := e.add(j, part, entry.Time, find)
		// A run may begin late, by a request that was on its way for very long.
		if run != nil && e.finishing[key.ID] && (part.First == 0 || run.ended) {
			e.world.finish(key.ID, run, now)
		}
	}
	e.wrote(j, entry, sequence, now)
	e.checkTimers(key.ID, entry, now)
	e.checkPaused(j, entry, sequence)
	e.unpauseLate(key.ID, entry, now)
	if err := j.state.Apply(entry, sequence); err != nil {
		find("%v", err)
	}
}

// runsOf are the runs of a workflow ID.
func (e *executions) runsOf(id string) []*executionRun {
	if j := e.journals[id]; j != nil {
		return j.runs
	}
	return nil
}

func (j *journaled) newest() *executionRun {
	if len(j.runs) == 0 {
		return nil
	}
	return j.runs[len(j.runs)-1]
}

// add adds what an entry of a time says about one run, and returns the run; nil if it is none that may change.
func (e *executions) add(j *journaled, part *execution.Part, at time.Time, find func(string, ...any)) *executionRun {
	last := j.newest()
	if part.First == 0 {
		switch {
		case last != nil && !last.ended:
			find("run %s begins, and %s has not ended", part.RunID, last.id)
		case last != nil && e.keeps(last, time.Now()) && part.Base == nil && part.StartRequest != "" && last.request == part.StartRequest && last.next == "":
			find("request %s begins two runs in a row", part.StartRequest)
		case last != nil && last.next != "" && last.next != part.RunID:
			find("run %s is followed by %s, and not by %s", last.id, part.RunID, last.next)
		}
		next := &executionRun{id: part.RunID, request: part.StartRequest, callback: part.Callback}
		if part.Base != nil {
			j.beginAgain(next, last, part, find)
		} else {
			next.follows = part.Events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		}
		last = next
		j.runs = append(j.runs, last)
	}
	if onlyDeletes(part) {
		return nil
	}
	if last == nil || last.id != part.RunID || last.ended {
		find("something happens to run %s, which is not open", part.RunID)
		return nil
	}
	last.events = append(last.events[:len(last.events):len(last.events)], part.Events...)
	if len(part.Events) > 0 {
		_, last.ended = execution.EndOf(part.Events[len(part.Events)-1])
		last.closed, last.next = at, execution.NextRun(part.Events[len(part.Events)-1])
	}
	return last
}

// checkTimers: no timer fires early. The clocks of two processes differ by twice the skew, at most.
func (e *executions) checkTimers(id string, entry *execution.Entry, now time.Time) {
	for i := range entry.Parts {
		part := &entry.Parts[i]
		run := e.journals[id].newest()
		for _, event := range slices.Concat(part.Events, part.Buffer) {
			fired := event.GetTimerFiredEventAttributes()
			if fired == nil || run.id != part.RunID {
				continue
			}
			began := run.events[fired.GetStartedEventId()-1]
			due := began.GetEventTime().AsTime().Add(began.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration())
			if now.Before(due.Add(-2 * e.world.plan.Skew)) {
				e.world.ledger.find("early", id, "timer %s fires %v early", fired.GetTimerId(), due.Sub(now))
			}
		}
	}
}

// busyExecutions says what of executions is under way.
func (w *world) busyExecutions() string {
	for _, id := range slices.Sorted(maps.Keys(w.executions.journals)) {
		if run := w.executions.journals[id].newest(); !run.ended {
			return "run " + run.id + " of " + id
		}
	}
	for shard := range shards {
		if c := w.names.Transfer(shard); w.server.HasConsumer(c.Stream, c.Config.Durable) && w.server.Backlog(c.Stream, c.Config.Durable) > 0 {
			return "what " + c.Stream + " has to carry out"
		}
	}
	for _, m := range w.server.Messages(w.names.BacklogStream(), w.names.Backlogs()) {
		return m.Subject
	}
	if w.plan.Retention > 0 {
		for shard := range shards {
			if left := w.server.Messages(w.names.JournalStream(shard), ">"); len(left) > 0 {
				return "what has still to expire of " + left[0].Subject
			}
		}
	}
	return ""
}

// aboutExecution is a key of a workflow ID in the only namespace.
func aboutExecution(id string) schedule.Key { return schedule.Key{Namespace: namespace, ID: id} }
