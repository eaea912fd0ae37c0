package render

import (
	"io"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Workflows writes one line for each workflow execution.
func Workflows(w io.Writer, all []*workflow.WorkflowExecutionInfo, view View) error {
	if len(all) == 0 {
		_, err := io.WriteString(w, "no workflows\n")
		return err
	}
	rows := [][]string{{"STATUS", "WORKFLOW", "TYPE", "STARTED", "ENDED", "RUN"}}
	for _, one := range all {
		rows = append(rows, []string{
			WorkflowStatus(one.Status), oneLine(one.GetExecution().GetWorkflowId()), oneLine(one.GetType().GetName()),
			relativeOrDash(one.StartTime, view.Now), relativeOrDash(one.CloseTime, view.Now), one.GetExecution().GetRunId(),
		})
	}
	return view.Table(w, rows)
}

// WorkflowStatus is the status of a workflow in the words that runs of schedules have, such as "timed out".
func WorkflowStatus(status enums.WorkflowExecutionStatus) string {
	switch status {
	case enums.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return "timed out"
	case enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return "continued as new"
	}
	return strings.ToLower(status.String())
}

func relativeOrDash(t *timestamppb.Timestamp, now time.Time) string {
	if t == nil {
		return "-"
	}
	return Relative(t.AsTime(), now)
}

// Workflow writes the state of a workflow execution, and the activities that it waits for.
func Workflow(w io.Writer, d *workflowservice.DescribeWorkflowExecutionResponse, view View) error {
	var out strings.Builder
	info := d.GetWorkflowExecutionInfo()
	rows := filled([][]string{
		{"Workflow", view.paint(Bold, oneLine(info.GetExecution().GetWorkflowId()))},
		{"Run", info.GetExecution().GetRunId()},
		{"Type", oneLine(info.GetType().GetName())},
		{"Status", WorkflowStatus(info.GetStatus())},
		{"Task queue", oneLine(info.GetTaskQueue())},
		{"Started", workflowMoment(info.GetStartTime(), view)},
		{"Ended", workflowMoment(info.GetCloseTime(), view)},
		{"Events", strconv.FormatInt(info.GetHistoryLength(), 10)},
	})
	_ = Table(&out, rows) // a strings.Builder does not fail
	if pending := d.GetPendingActivities(); len(pending) > 0 {
		activities := [][]string{{"ID", "TYPE", "STATE", "ATTEMPT", "LAST FAILURE"}}
		for _, p := range pending {
			activities = append(activities, []string{
				oneLine(p.ActivityId), oneLine(p.GetActivityType().GetName()), strings.ToLower(p.State.String()),
				strconv.Itoa(int(p.Attempt)), oneLine(p.GetLastFailure().GetMessage()),
			})
		}
		view.section(&out, "Pending activities", activities)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func workflowMoment(t *timestamppb.Timestamp, view View) string {
	if t == nil {
		return ""
	}
	return view.instant(t.AsTime(), view.Zone)
}

// HistoryRow is one event of a workflow execution.
type HistoryRow struct {
	// ID is the number of the event, from 1.
	ID int64
	// Time is when it happened.
	Time time.Time
	// Event is its type, such as "WorkflowExecutionStarted". Detail is what else is to be said, and may be empty.
	Event, Detail string
}

// History writes one line for each event.
func History(w io.Writer, events []HistoryRow, view View) error {
	rows := [][]string{{"ID", "TIME", "EVENT", "DETAIL"}}
	for _, e := range events {
		rows = append(rows, []string{strconv.FormatInt(e.ID, 10), e.Time.In(view.Zone).Format(time.DateTime), e.Event, oneLine(e.Detail)})
	}
	return view.Table(w, rows)
}
