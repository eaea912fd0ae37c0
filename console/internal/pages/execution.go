package pages

//lint:file-ignore SA1019 Temporal has marked it as deprecated, and has nothing else for it

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/schedule"
)

// executionOne is the page of one execution.
type executionOne struct {
	ID, RunID, Address, Type, TaskQueue string
	State                               state
	IsOpen                              bool
	// IsArchived says that this is what the archive has of it: nobody can do anything with it.
	IsArchived        bool
	Start, Close, Due moment
	Took              string
	// Links are other executions and the schedule that have to do with this one, and Facts are what is known besides.
	Links []executionLink
	Facts []fact
	Trace traceLink
	// Runs and Offspring are the addresses of searches: for all runs of the workflow ID, and for the children of this run.
	Runs, Offspring string
	// Memo and Attributes are what whoever started it and its code have attached.
	Memo, Attributes []fact
	// Unserved are the task queues that nobody polls although this execution needs it.
	Unserved   []string
	Activities []activityRow
	Children   []executionLink
	Task       *pendingTask
	Callbacks  []fact
	// Input, Result and Failure are texts; empty if there are none.
	Input, Result, Failure text
	History                *historyPart
	// More says what is left out.
	More []string
	// allowance is for all but the history.
	allowance allowance
}

// executionLink leads to another page. Label says how it is related.
type executionLink struct{ Label, Name, Address string }

// fact is a name with a text.
type fact struct{ Name, Text string }

// text is a text of any length, of which a page shows the beginning.
type text struct {
	Shown string
	// All is the address of the whole text; empty if Shown has all of it.
	All string
}

// How many bytes of a text a page shows: of an input or a result, and of a small thing of which there are many. How many of those a page shows.
const (
	longText    = 4_000
	shortText   = 200
	manyThings  = 30
	namesInList = 120
)

// latest leads to the latest run of a workflow ID.
func (p *Pages) latest(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	id := r.PathValue("workflow")
	d, err := describe(ctx, asks, &common.WorkflowExecution{WorkflowId: id})
	if err != nil {
		return nil, err
	}
	return &answer{to: address(asks.Namespace(), "executions", id, d.GetWorkflowExecutionInfo().GetExecution().GetRunId())}, nil
}

func describe(ctx context.Context, asks *speaker.Speaker, of *common.WorkflowExecution) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return asks.Workflows.DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: asks.Namespace(), Execution: of,
	})
}

// executionOf returns the execution that the address of a page names.
func executionOf(r *http.Request) *common.WorkflowExecution {
	return &common.WorkflowExecution{WorkflowId: r.PathValue("workflow"), RunId: r.PathValue("run")}
}

// execution shows one execution.
func (p *Pages) execution(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	d, err := describe(ctx, asks, executionOf(r))
	if err != nil {
		return nil, err
	}
	one := p.executionOne(asks.Namespace(), d)
	if one.History, err = p.historyPart(ctx, r, asks, one); err != nil {
		return nil, err
	}
	shown := &answer{view: "execution", title: one.ID, data: one}
	if r.URL.Query().Has("newer") { // whoever asks for newer events has the rest
		return shown, nil
	}
	if err := p.addEnds(ctx, asks, one); err != nil {
		return nil, err
	}
	one.addPending(asks.Namespace(), d, p.config.Now())
	if one.IsOpen {
		one.Unserved = unserved(ctx, asks, d)
	}
	return shown, nil
}

// executionOne returns what the description of an execution says.
func (p *Pages) executionOne(namespace string, d *workflowservice.DescribeWorkflowExecutionResponse) *executionOne {
	info, now := d.GetWorkflowExecutionInfo(), p.config.Now()
	id, run := info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()
	one := &executionOne{
		ID: id, RunID: run, Address: address(namespace, "executions", id, run), Type: info.GetType().GetName(), TaskQueue: info.GetTaskQueue(),
		State: stateOfExecution(info.GetStatus()), IsOpen: info.GetCloseTime() == nil, Took: tookOf(info, now),
		Start: momentOf(info.GetStartTime().AsTime(), now, time.UTC), Links: relatives(namespace, info), Facts: factsOf(d),
		Task: pendingTaskOf(d.GetPendingWorkflowTask(), now), allowance: allowance{summaryAllowance},
	}
	search := address(namespace, "executions")
	one.Runs = search + queryOf("query", "WorkflowId = '"+quoteless(id)+"'")
	one.Offspring = search + queryOf("query", "ParentWorkflowId = '"+quoteless(id)+"' AND ParentRunId = '"+quoteless(run)+"'")
	if !one.IsOpen {
		one.Close = momentOf(info.GetCloseTime().AsTime(), now, time.UTC)
	}
	if due := info.GetExecutionTime(); due != nil && due.AsTime().After(info.GetStartTime().AsTime()) {
		one.Due = momentOf(due.AsTime(), now, time.UTC)
	}
	return one
}

// addPending adds what an execution waits for, and what is attached to it, as far as there is room.
func (e *executionOne) addPending(namespace string, d *workflowservice.DescribeWorkflowExecutionResponse, now time.Time) {
	info := d.GetWorkflowExecutionInfo()
	for _, a := range first(d.GetPendingActivities(), "pending activities", &e.More) {
		e.Activities = append(e.Activities, e.allowance.activity(a, e.Address, now))
	}
	for _, c := range first(d.GetPendingChildren(), "pending children", &e.More) {
		if there := address(namespace, "executions", c.GetWorkflowId(), c.GetRunId()); e.allowance.has(there) {
			e.Children = append(e.Children, executionLink{e.allowance.short(c.GetWorkflowTypeName()), e.allowance.short(c.GetWorkflowId()), there})
		}
	}
	for _, c := range first(d.GetCallbacks(), "callbacks", &e.More) {
		e.Callbacks = append(e.Callbacks, fact{e.allowance.short(c.GetCallback().GetNexus().GetUrl()), c.GetState().String() + ", attempt " + whole(c.GetAttempt())})
	}
	e.Memo = e.allowance.payloads(info.GetMemo().GetFields())
	e.Attributes = e.allowance.payloads(info.GetSearchAttributes().GetIndexedFields())
}

// first returns the first of many things, and notes how many there are besides.
func first[T any](all []T, name string, more *[]string) []T {
	if len(all) > manyThings {
		*more = append(*more, "There are "+whole(len(all)-manyThings)+" more "+name+".")
	}
	return all[:min(len(all), manyThings)]
}

// relatives returns links to the parent, the first run and the schedule of an execution.
func relatives(namespace string, info *workflow.WorkflowExecutionInfo) (links []executionLink) {
	add := func(label string, to *common.WorkflowExecution) {
		links = append(links, executionLink{label, to.GetWorkflowId(), address(namespace, "executions", to.GetWorkflowId(), to.GetRunId())})
	}
	id, run := info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()
	parent, root := info.GetParentExecution(), info.GetRootExecution()
	if parent.GetWorkflowId() != "" {
		add("Parent", parent)
	}
	if root.GetWorkflowId() != "" && root.GetWorkflowId() != id && root.GetWorkflowId() != parent.GetWorkflowId() {
		add("Root", root)
	}
	if first := info.GetFirstRunId(); first != "" && first != run {
		links = append(links, executionLink{"First run", first, address(namespace, "executions", id, first)})
	}
	var by string
	if json.Unmarshal(info.GetSearchAttributes().GetIndexedFields()[schedule.AttributeScheduledBy].GetData(), &by) == nil && by != "" {
		links = append(links, executionLink{"Schedule", by, address(namespace, "schedules", by)},
			executionLink{"Run of the schedule", cmp.Or(info.GetFirstRunId(), run), address(namespace, "schedules", by, "runs", cmp.Or(info.GetFirstRunId(), run))})
	}
	return links
}

// factsOf returns what is known about an execution besides.
func factsOf(d *workflowservice.DescribeWorkflowExecutionResponse) (facts []fact) {
	info, config := d.GetWorkflowExecutionInfo(), d.GetExecutionConfig()
	add := func(name, text string) {
		if text != "" {
			facts = append(facts, fact{name, text})
		}
	}
	add("History", plural(int(info.GetHistoryLength()), "event")+", "+bytesText(info.GetHistorySizeBytes()))
	for _, limit := range []struct {
		name string
		d    time.Duration
	}{{"Execution timeout", config.GetWorkflowExecutionTimeout().AsDuration()}, {"Run timeout", config.GetWorkflowRunTimeout().AsDuration()}} {
		if limit.d > 0 {
			add(limit.name, limit.d.String())
		}
	}
	add("Build ID", info.GetMostRecentWorkerVersionStamp().GetBuildId())
	if key := info.GetPriority().GetPriorityKey(); key > 0 {
		add("Priority", whole(key))
	}
	if d.GetWorkflowExtendedInfo().GetCancelRequested() {
		add("Cancellation", "has been asked for")
	}
	return facts
}

// payloads returns named values, in the order of their names.
func (a *allowance) payloads(fields map[string]*common.Payload) (facts []fact) {
	names := slices.Sorted(maps.Keys(fields))
	for _, name := range names[:min(len(names), manyThings)] {
		facts = append(facts, fact{a.short(name), a.short(readable.Short(fields[name]))})
	}
	return facts
}

// addEnds adds the input of an execution, and what it ended with.
func (p *Pages) addEnds(ctx context.Context, asks *speaker.Speaker, one *executionOne) error {
	started, ended, err := ends(ctx, asks, &common.WorkflowExecution{WorkflowId: one.ID, RunId: one.RunID}, one.IsOpen)
	if err != nil {
		return err
	}
	input, result, failed := inputOf(started), resultOf(ended), failureText(ended)
	one.Input = one.allowance.long(input, one.Address+"/input")
	one.Result = one.allowance.long(result, one.Address+"/result")
	one.Failure = one.allowance.long(failed, one.Address+"/result")
	attributes := started.GetWorkflowExecutionStartedEventAttributes()
	one.Trace = p.trace(parentOf(attributes.GetHeader()))
	if before := attributes.GetContinuedExecutionRunId(); before != "" {
		one.Links = append(one.Links, executionLink{"Continues", before, address(asks.Namespace(), "executions", one.ID, before)})
	}
	if next := execution.NextRun(ended); next != "" {
		one.Links = append(one.Links, executionLink{"Goes on in", next, address(asks.Namespace(), "executions", one.ID, next)})
	}
	if cron := attributes.GetCronSchedule(); cron != "" {
		one.Facts = append(one.Facts, fact{"Cron schedule", cron})
	}
	if attempt := attributes.GetAttempt(); attempt > 1 {
		one.Facts = append(one.Facts, fact{"Attempt", whole(attempt)})
	}
	if who := attributes.GetIdentity(); who != "" {
		one.Facts = append(one.Facts, fact{"Started by", who})
	}
	return nil
}

// isOpen reports whether an execution with a status has not ended.
func isOpen(of enums.WorkflowExecutionStatus) bool {
	return of == enums.WORKFLOW_EXECUTION_STATUS_RUNNING || of == enums.WORKFLOW_EXECUTION_STATUS_PAUSED
}
