package execution

import (
	"slices"

	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// maxResetPoints is how many reset points a run remembers.
const maxResetPoints = 20

// addResetPoint remembers the first workflow task that a worker with certain code has completed, so that somebody can reset the run to a point before
// bad code had a hand in it. Workers that do not say what code they have leave no point.
func (r *Run) addResetPoint(completed *historypb.HistoryEvent) {
	a := completed.GetWorkflowTaskCompletedEventAttributes()
	point := &workflowpb.ResetPointInfo{
		RunId: r.ID, FirstWorkflowTaskCompletedId: completed.GetEventId(), CreateTime: completed.GetEventTime(),
		Resettable: len(r.Children)+len(r.Outgoing) == 0,
	}
	point.BinaryChecksum = a.GetBinaryChecksum()      //lint:ignore SA1019 workers still send it
	point.BuildId = a.GetWorkerVersion().GetBuildId() //lint:ignore SA1019 workers still send it
	code := codeOf(point)
	known := slices.ContainsFunc(r.ResetPoints, func(other *workflowpb.ResetPointInfo) bool { return codeOf(other) == code })
	if known || code == (workerCode{}) {
		return
	}
	all := append(slices.Clip(r.ResetPoints), point)
	r.ResetPoints = all[max(len(all)-maxResetPoints, 0):]
}

// noteWorker remembers what the worker says about its code that has completed a workflow task.
func (r *Run) noteWorker(completed *historypb.HistoryEvent) {
	//lint:ignore SA1019 workers still send it
	if stamp := completed.GetWorkflowTaskCompletedEventAttributes().GetWorkerVersion(); stamp != nil {
		r.WorkerVersion = stamp
	}
}

// workerCode is what a worker says about its code.
type workerCode struct{ buildID, checksum string }

func codeOf(point *workflowpb.ResetPointInfo) workerCode {
	return workerCode{point.GetBuildId(), point.GetBinaryChecksum()} //lint:ignore SA1019 workers still send it
}

// resetPoints are those of the run in the form of Temporal's messages; nil if there are none.
func (r *Run) resetPoints() *workflowpb.ResetPoints {
	if len(r.ResetPoints) == 0 {
		return nil
	}
	return &workflowpb.ResetPoints{Points: r.ResetPoints}
}
