package pages

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/carillon-scheduler/carillon/console/internal/speaker"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (p *Pages) addArchived() {
	p.bounded("GET "+Base+"{namespace}/archived", p.listArchived)
	p.bounded("GET "+Base+"{namespace}/archived/{workflow}/{run}", p.archived)
	p.addWhole(ofArchive)
}

// ofArchive is the part of the console with what is in an archive.
const ofArchive = "archived"

// archivedList is the page with the executions in the archive of a namespace.
type archivedList struct {
	// Query is what was asked for, and Refused why nothing is shown.
	Query, Refused string
	Rows           []executionRow
	// Next is the address of the next page; empty on the last one. A page may have no executions and not be the last.
	Next    string
	IsFirst bool
}

// listArchived lists the archived executions of a namespace, the last day first.
func (p *Pages) listArchived(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	token, err := placeOf(r)
	if err != nil {
		return nil, err
	}
	list := &archivedList{Query: strings.TrimSpace(r.URL.Query().Get("query")), IsFirst: len(token) == 0}
	found, err := asks.Workflows.ListArchivedWorkflowExecutions(r.Context(), &workflowservice.ListArchivedWorkflowExecutionsRequest{
		Namespace: asks.Namespace(), PageSize: executionsShown, NextPageToken: token, Query: list.Query,
	})
	shown := &answer{view: "archived", title: "Archived executions", data: list}
	if status.Code(err) == codes.InvalidArgument && list.IsFirst {
		list.Refused = status.Convert(err).Message() // also if the namespace has no archive
		return shown, nil
	}
	if err != nil {
		return nil, err
	}
	list.Rows = p.executionRows(asks.Namespace(), found.Executions)
	for i, info := range found.Executions {
		run := info.GetExecution()
		list.Rows[i].Address = address(asks.Namespace(), "archived", run.GetWorkflowId(), run.GetRunId()) +
			queryOf("closed", info.GetCloseTime().AsTime().Format(isoTime))
	}
	if len(found.NextPageToken) > 0 {
		list.Next = address(asks.Namespace(), "archived") + queryOf("query", list.Query, "after", placeText(found.NextPageToken))
	}
	return shown, nil
}

// archived shows an execution of the archive. What lists show of it is found by its IDs, and by the time of its end, if the address has it: otherwise, the
// archive may have to look at many days.
func (p *Pages) archived(r *http.Request, asks *speaker.Speaker) (*answer, error) {
	of := executionOf(r)
	query := "WorkflowId = '" + quoteless(of.WorkflowId) + "' AND RunId = '" + quoteless(of.RunId) + "'"
	if at, err := time.Parse(time.RFC3339, r.URL.Query().Get("closed")); err == nil {
		query += " AND CloseTime = '" + at.Format(isoTime) + "'"
	}
	info, err := firstArchived(r.Context(), asks, query)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return nil, schedule.Errorf(schedule.CodeNotFound, "the archive has no such execution, or did not find it in time: begin with the list")
	}
	d := &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: info}
	one := p.executionOne(asks.Namespace(), d)
	one.IsArchived, one.Address = true, address(asks.Namespace(), ofArchive, one.ID, one.RunID)
	if one.History, err = p.historyPart(r.Context(), r, asks, one); err != nil {
		return nil, err
	}
	if err := p.addEnds(r.Context(), asks, one); err != nil {
		return nil, err
	}
	one.addPending(asks.Namespace(), d, p.config.Now())
	return &answer{view: "execution", title: one.ID, data: one}, nil
}

// firstArchived returns the first execution of an archive that a query finds; nil if there is none, or if it was not found until ctx ended. An archive looks for
// it in parts, and each but the last may have none.
func firstArchived(ctx context.Context, asks *speaker.Speaker, query string) (*workflow.WorkflowExecutionInfo, error) {
	request := &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: asks.Namespace(), PageSize: 1, Query: query}
	for {
		found, err := asks.Workflows.ListArchivedWorkflowExecutions(ctx, request)
		switch {
		case err != nil && ctx.Err() != nil && len(request.NextPageToken) > 0:
			return nil, nil
		case err != nil:
			return nil, err
		case len(found.Executions) > 0:
			return found.Executions[0], nil
		case len(found.NextPageToken) == 0:
			return nil, nil
		}
		request.NextPageToken = found.NextPageToken
	}
}
