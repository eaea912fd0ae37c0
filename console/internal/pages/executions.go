package pages

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/console/internal/readable"
	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

// executionWait bounds the requests of one page about executions.
const executionWait = 10 * time.Second

// executionsShown is how many executions one page of the list has. If their workflow IDs and task queues have more than namesSize bytes, it has longNamesShown.
const (
	executionsShown = 50
	longNamesShown  = 15
	namesSize       = 20_000
)

// bounded adds a page whose requests end within executionWait.
func (p *Pages) bounded(pattern string, make maker) {
	p.page(pattern, func(r *http.Request, asks *speaker.Speaker) (*answer, error) {
		ctx, cancel := context.WithTimeout(r.Context(), executionWait)
		defer cancel()
		return make(r.WithContext(ctx), asks)
	})
}

// placeOf returns the place in a list at which a page begins: the token of whoever keeps the list. Nil is the beginning.
func placeOf(r *http.Request) ([]byte, error) {
	token, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("after"))
	if err != nil {
		return nil, schedule.Invalid("after", "is no place in the list: begin with the first page")
	}
	return token, nil
}

// placeText returns a place as placeOf reads it.
func placeText(token []byte) string { return base64.RawURLEncoding.EncodeToString(token) }

func (p *Pages) addExecutions() {
	p.bounded("GET "+Base+"{namespace}/executions", p.listExecutions)
	p.bounded("GET "+Base+"{namespace}/executions/{workflow}", p.latest)
	p.bounded("GET "+Base+"{namespace}/executions/{workflow}/{run}", p.execution)
	p.addWhole("executions")
	p.addArchived()
	p.addExecutionActs()
	p.addActivityActs()
	p.bounded("GET "+Base+"{namespace}/new-execution", p.newExecution)
	p.bounded("POST "+Base+"{namespace}/new-execution", p.startExecution)
	p.addBatches()
	p.addTaskQueues()
}

// executionList is the page with the executions of a namespace.
type executionList struct {
	Query, Refused string
	// Filters lead to the executions that have a status; nil if they could not be counted.
	Filters []statusFilter
	Rows    []executionRow
	// Next is the address of the next page; empty on the last one. Bulk is that of the page that does something to all that are found.
	Next, Bulk string
	IsFirst    bool
}

// statusFilter is a link to the executions of a status, with how many there are.
type statusFilter struct {
	Word, Kind, Address string
	Count               int64
	IsChosen            bool
}

// executionRow is an execution in a list.
type executionRow struct {
	ID, RunID, Address, Type, TaskQueue string
	// Queue is the address of the task queue.
	Queue        string
	State        state
	Start, Close moment
	Took         string
}

func (p *Pages) listExecutions(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	ctx := r.Context()
	token, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	list := &executionList{Query: strings.TrimSpace(r.URL.Query().Get("query")), IsFirst: len(token) == 0}
	found, err := findExecutions(ctx, asks, list.Query, token)
	shown := &answer{view: "executions", title: "Executions", data: list}
	if status.Code(err) == codes.InvalidArgument && list.Query != "" && list.IsFirst {
		list.Refused = status.Convert(err).Message()
		return shown, nil
	}
	if err != nil {
		return nil, err
	}
	list.Rows = p.executionRows(asks.Namespace(), found.Executions)
	if len(found.NextPageToken) > 0 {
		list.Next = address(asks.Namespace(), "executions") + queryOf("query", list.Query, "after", placeText(found.NextPageToken))
	}
	list.Bulk = address(asks.Namespace(), "new-batch") + queryOf("query", list.Query)
	if r.Header.Get("HX-Request") == "" { // what is counted is outside of what a page asks for again
		list.Filters = filters(ctx, asks, list.Query)
	}
	return shown, nil
}

// findExecutions returns a page of the executions that a query finds: a shorter one if their names are long.
func findExecutions(ctx context.Context, asks *speaker.Speaker, query string, token []byte) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: asks.Namespace(), PageSize: executionsShown, NextPageToken: token, Query: query}
	found, err := asks.Workflows.ListWorkflowExecutions(ctx, request)
	size := 0
	for _, info := range found.GetExecutions() {
		size += len(info.GetExecution().GetWorkflowId()) + len(info.GetTaskQueue())
	}
	if err != nil || size <= namesSize {
		return found, err
	}
	request.PageSize = longNamesShown
	return asks.Workflows.ListWorkflowExecutions(ctx, request)
}

func (p *Pages) executionRows(namespace string, found []*workflow.WorkflowExecutionInfo) (rows []executionRow) {
	now := p.config.Now()
	for _, info := range found {
		id, run := info.GetExecution().GetWorkflowId(), info.GetExecution().GetRunId()
		row := executionRow{
			ID: cut(id, namesInList), RunID: run, Address: address(namespace, "executions", id, run), Type: cut(info.GetType().GetName(), namesInList),
			TaskQueue: cut(info.GetTaskQueue(), namesInList),
			Queue:     address(namespace, "task-queues", info.GetTaskQueue()), State: stateOfExecution(info.GetStatus()), Start: momentOf(info.GetStartTime().AsTime(), now, time.UTC), Took: tookOf(info, now),
		}
		if info.GetCloseTime() != nil {
			row.Close = momentOf(info.GetCloseTime().AsTime(), now, time.UTC)
		}
		rows = append(rows, row)
	}
	return rows
}

// tookOf says how long an execution took, or has taken so far.
func tookOf(info *workflow.WorkflowExecutionInfo, now time.Time) string {
	if info.GetCloseTime() == nil {
		return rounded(max(0, now.Sub(info.GetStartTime().AsTime()))) + " so far"
	}
	return lasted(info.GetCloseTime().AsTime().Sub(info.GetStartTime().AsTime()))
}

// lasted returns a duration for people: exact where it is short.
func lasted(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Millisecond).String()
	case d < 24*time.Hour:
		return d.Round(time.Second).String()
	}
	return rounded(d)
}

// statusKinds are the colours of the statuses.
var statusKinds = map[enums.WorkflowExecutionStatus]string{
	enums.WORKFLOW_EXECUTION_STATUS_RUNNING: "busy", enums.WORKFLOW_EXECUTION_STATUS_COMPLETED: "good", enums.WORKFLOW_EXECUTION_STATUS_FAILED: "bad",
	enums.WORKFLOW_EXECUTION_STATUS_CANCELED: "warn", enums.WORKFLOW_EXECUTION_STATUS_TERMINATED: "bad",
	enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: "quiet", enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT: "bad",
}

func stateOfExecution(of enums.WorkflowExecutionStatus) state {
	return state{of.String(), cmp.Or(statusKinds[of], "quiet")}
}

// filters counts the executions of each status for which the rest of a query holds, and returns links to them. Nil: the frontend does not count.
func filters(ctx context.Context, asks *speaker.Speaker, query string) []statusFilter {
	rest, chosen := withoutStatus(query)
	condition, order := splitOrder(rest)
	counted, err := asks.Workflows.CountWorkflowExecutions(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: asks.Namespace(), Query: strings.TrimSpace(condition + " GROUP BY ExecutionStatus"),
	})
	if err != nil {
		return nil // the list says what is wrong with the query
	}
	base := address(asks.Namespace(), "executions")
	all := []statusFilter{{Word: "all", Kind: "quiet", Address: base + queryOf("query", rest), Count: counted.Count, IsChosen: chosen == ""}}
	for _, group := range counted.Groups {
		word := groupOf(group.GetGroupValues())
		if of, err := enums.WorkflowExecutionStatusFromString(word); err == nil { // unless it is of a later version
			there := base + queryOf("query", withStatus(condition, order, word))
			all = append(all, statusFilter{Word: word, Kind: stateOfExecution(of).Kind, Address: there, Count: group.Count, IsChosen: word == chosen})
		}
	}
	return all
}

// groupOf returns the value of a group as text.
func groupOf(values []*common.Payload) string {
	if len(values) == 0 {
		return ""
	}
	var text string
	if json.Unmarshal(values[0].GetData(), &text) != nil {
		return readable.Short(values[0])
	}
	return text
}

// ofStatus is how a link to a status ends, before the order.
var ofStatus = regexp.MustCompile(`^(?:\((.*)\) AND )?ExecutionStatus = '(\w+)'$`)

// withStatus narrows a condition to a status.
func withStatus(condition, order, word string) string {
	text := "ExecutionStatus = '" + word + "'"
	if condition != "" {
		text = "(" + condition + ") AND " + text
	}
	return strings.TrimSpace(text + " " + order)
}

// withoutStatus takes back what withStatus has done. A query that was written otherwise stays as it is.
func withoutStatus(query string) (rest, chosen string) {
	condition, order := splitOrder(query)
	parts := ofStatus.FindStringSubmatch(condition)
	if parts == nil {
		return query, ""
	}
	return strings.TrimSpace(parts[1] + " " + order), parts[2]
}

var orderBy = regexp.MustCompile(`(?i)\border\s+by\b`)

// splitOrder parts a query into its condition and its order. Quoted texts are no order.
func splitOrder(query string) (condition, order string) {
	for _, place := range orderBy.FindAllStringIndex(query, -1) {
		before := query[:place[0]]
		if strings.Count(before, "'")%2 == 0 && strings.Count(before, `"`)%2 == 0 && strings.Count(before, "`")%2 == 0 {
			return strings.TrimSpace(before), query[place[0]:]
		}
	}
	return strings.TrimSpace(query), ""
}
