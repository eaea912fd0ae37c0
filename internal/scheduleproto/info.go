package scheduleproto

import (
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	schedulepb "go.temporal.io/api/schedule/v1"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Info returns what became of a schedule. Runs of Carillon's own protocol are among its recent actions, without a workflow.
func Info(i *schedule.Info) *schedulepb.ScheduleInfo {
	info := &schedulepb.ScheduleInfo{
		ActionCount: i.ActionCount, MissedCatchupWindow: i.MissedCatchupWindow, OverlapSkipped: i.OverlapSkipped,
		BufferDropped: i.BufferDropped, BufferSize: int64(i.BufferSize),
		RecentActions: actions(i.RecentActions), FutureActionTimes: timesProto(i.FutureActionTimes),
		CreateTime: timeProto(i.CreateTime), UpdateTime: timeProto(i.UpdateTime),
	}
	for k := range i.RunningWorkflows {
		if run := execution(&i.RunningWorkflows[k]); run != nil {
			info.RunningWorkflows = append(info.RunningWorkflows, run)
		}
	}
	return info
}

// listedActions is how many actions an entry of a list has, as in Temporal's lists.
const listedActions = 5

// Entry returns a schedule as an entry of a list.
func Entry(d *schedule.Description) (*schedulepb.ScheduleListEntry, error) {
	spec, err := specProto(&d.Spec)
	if err != nil {
		return nil, schedule.Prefix("spec", err)
	}
	memo, attributes, err := Fields(&d.Schedule)
	if err != nil {
		return nil, err
	}
	recent := d.Info.RecentActions // the newest is the last
	recent = recent[max(0, len(recent)-listedActions):]
	return &schedulepb.ScheduleListEntry{
		ScheduleId: d.ID, Memo: memo, SearchAttributes: attributes,
		Info: &schedulepb.ScheduleListInfo{
			Spec: spec, WorkflowType: typeProto(&d.Action), Notes: d.State.Notes, Paused: d.State.Paused,
			RecentActions: actions(recent), FutureActionTimes: timesProto(d.Info.FutureActionTimes),
		},
	}, nil
}

func actions(runs []schedule.Run) (all []*schedulepb.ScheduleActionResult) {
	for i := range runs {
		all = append(all, &schedulepb.ScheduleActionResult{
			ScheduleTime: timeProto(runs[i].DueTime), ActualTime: timeProto(runs[i].StartTime),
			StartWorkflowResult: execution(&runs[i]), StartWorkflowStatus: statusProto(runs[i].Status),
		})
	}
	return all
}

// execution returns the workflow execution that a run is; nil if it is none.
func execution(run *schedule.Run) *commonpb.WorkflowExecution {
	if !run.ActionKind.IsWorkflow() {
		return nil
	}
	return &commonpb.WorkflowExecution{WorkflowId: run.WorkflowID, RunId: run.RunID}
}

func statusProto(s schedule.Status) enumspb.WorkflowExecutionStatus {
	switch s {
	case schedule.StatusCompleted:
		return enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
	case schedule.StatusFailed:
		return enumspb.WORKFLOW_EXECUTION_STATUS_FAILED
	case schedule.StatusCanceled:
		return enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED
	case schedule.StatusTerminated:
		return enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	case schedule.StatusTimedOut:
		return enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT
	}
	return enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}
