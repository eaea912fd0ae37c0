package gateway_test

//lint:file-ignore SA1019 clients still use what Temporal has marked as deprecated

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/activity/v1"
	"go.temporal.io/api/batch/v1"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/matching"
)

// withActivities runs history and matching, and begins workflows w0, w1, … whose activities "charge" and "mail" no worker has.
func withActivities(t *testing.T, many int) batches {
	t.Helper()
	in := withHistory(t)
	conn, js := natstest.Connect(t, in.server)
	m, err := matching.New(matching.Config{
		JS: js, Names: in.names, Starter: matching.NewStarter(owners.Anybody(conn), in.names, shards), Logger: in.logger(),
	})
	require.NoError(t, err)
	in.run(m.Run)
	in.beginMany(many)
	for range many {
		in.schedule("charge", "mail")
	}
	return in
}

// schedule completes the next workflow task with one activity for each type.
func (in batches) schedule(types ...string) {
	in.t.Helper()
	var task *workflowservice.PollWorkflowTaskQueueResponse
	natstest.Eventually(in.t, patience, "there is a workflow task", func() (there bool) {
		var err error
		task, err = in.PollWorkflowTaskQueue(in.t.Context(), &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}, Identity: "worker",
		})
		return err == nil && len(task.TaskToken) > 0
	})
	var commands []*command.Command
	for _, name := range types {
		commands = append(commands, &command.Command{
			CommandType: enums.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
			Attributes: &command.Command_ScheduleActivityTaskCommandAttributes{
				ScheduleActivityTaskCommandAttributes: &command.ScheduleActivityTaskCommandAttributes{
					ActivityId: name, ActivityType: &common.ActivityType{Name: name}, TaskQueue: &taskqueue.TaskQueue{Name: "activities"},
					StartToCloseTimeout: durationpb.New(time.Minute),
				},
			},
		})
	}
	_, err := in.RespondWorkflowTaskCompleted(in.t.Context(), &workflowservice.RespondWorkflowTaskCompletedRequest{
		Namespace: "default", TaskToken: task.TaskToken, Commands: commands,
	})
	require.NoError(in.t, err)
}

// pause pauses the activities of workflows w0, w1, … that have a type.
func (in batches) pause(many int, name string) {
	in.t.Helper()
	for i := range many {
		_, err := in.PauseActivity(in.t.Context(), &workflowservice.PauseActivityRequest{
			Namespace: "default", Execution: &common.WorkflowExecution{WorkflowId: fmt.Sprint("w", i)},
			Activity: &workflowservice.PauseActivityRequest_Type{Type: name},
		})
		require.NoError(in.t, err)
	}
}

// pendingOf returns the activity of a workflow that has a type.
func (in batches) pendingOf(id, name string) *workflow.PendingActivityInfo {
	in.t.Helper()
	d, err := in.DescribeWorkflowExecution(in.t.Context(), &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &common.WorkflowExecution{WorkflowId: id},
	})
	require.NoError(in.t, err)
	for _, info := range d.PendingActivities {
		if info.ActivityType.Name == name {
			return info
		}
	}
	require.Fail(in.t, "the workflow has no such activity", "%s: %s", id, name)
	return nil
}

// paused returns how many of the workflows w0, w1, … have a paused activity of a type.
func (in batches) paused(many int, name string) (n int) {
	for i := range many {
		if in.pendingOf(fmt.Sprint("w", i), name).Paused {
			n++
		}
	}
	return n
}

// onActivities is a request that does something to activities of what a query finds.
func onActivities(job, query string, operation any) *workflowservice.StartBatchOperationRequest {
	r := &workflowservice.StartBatchOperationRequest{Namespace: "default", JobId: job, VisibilityQuery: query, Reason: "it is mended"}
	switch of := operation.(type) {
	case *batch.BatchOperationUnpauseActivities:
		r.Operation = &workflowservice.StartBatchOperationRequest_UnpauseActivitiesOperation{UnpauseActivitiesOperation: of}
	case *batch.BatchOperationResetActivities:
		r.Operation = &workflowservice.StartBatchOperationRequest_ResetActivitiesOperation{ResetActivitiesOperation: of}
	case *batch.BatchOperationUpdateActivityOptions:
		r.Operation = &workflowservice.StartBatchOperationRequest_UpdateActivityOptionsOperation{UpdateActivityOptionsOperation: of}
	}
	return r
}

const ofReports = "WorkflowType = 'report'"

// TestBatchUnpausesActivities: those of a type go on, or all; a workflow without such an activity needs nothing; what runs is described and listed.
func TestBatchUnpausesActivities(t *testing.T) {
	t.Parallel()
	const many = 3
	in := withActivities(t, many)
	in.frontend(0)
	in.pause(many, "charge")
	in.pause(many, "mail")
	in.start(terminating("end", "WorkflowId = 'w2'", 0))
	in.await("end")
	unpause := &batch.BatchOperationUnpauseActivities{Identity: "anna", Activity: &batch.BatchOperationUnpauseActivities_Type{Type: "mail"}}
	r := onActivities("mail", ofReports, unpause)
	in.start(r)
	d := in.await("mail")
	in.start(r) // a repeat
	assert.EqualValues(t, [3]int64{2, 2, 0}, [3]int64{d.TotalOperationCount, d.CompleteOperationCount, d.FailureOperationCount})
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_UNPAUSE_ACTIVITY, d.OperationType)
	assert.Equal(t, []string{"anna", "it is mended"}, []string{d.Identity, d.Reason})
	assert.Equal(t, [2]int{0, 2}, [2]int{in.paused(2, "mail"), in.paused(2, "charge")})

	unknown := &batch.BatchOperationUnpauseActivities{Activity: &batch.BatchOperationUnpauseActivities_Type{Type: "unknown"}}
	in.start(onActivities("unknown", ofReports, unknown))
	d = in.await("unknown")
	assert.EqualValues(t, [2]int64{2, 0}, [2]int64{d.CompleteOperationCount, d.FailureOperationCount})
	all := &batch.BatchOperationUnpauseActivities{Activity: &batch.BatchOperationUnpauseActivities_MatchAll{MatchAll: true}}
	r = onActivities("all", "", all)
	r.Executions = []*common.WorkflowExecution{{WorkflowId: "w0"}}
	in.start(r)
	in.await("all")
	assert.Equal(t, 1, in.paused(2, "charge"))

	page, err := in.ListBatchOperations(t.Context(), &workflowservice.ListBatchOperationsRequest{Namespace: "default", PageSize: 1})
	require.NoError(t, err)
	require.Len(t, page.OperationInfo, 1)
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_UNPAUSE_ACTIVITY, page.OperationInfo[0].OperationType)
}

// TestBatchChangesActivities: options change as the mask says, come back on request, and a reset keeps a pause if it is to.
func TestBatchChangesActivities(t *testing.T) {
	t.Parallel()
	const many = 2
	in := withActivities(t, many)
	in.frontend(0)
	in.pause(many, "mail")
	update := &batch.BatchOperationUpdateActivityOptions{
		Identity: "anna", Activity: &batch.BatchOperationUpdateActivityOptions_Type{Type: "mail"},
		ActivityOptions: &activity.ActivityOptions{StartToCloseTimeout: durationpb.New(time.Hour)},
		UpdateMask:      &fieldmaskpb.FieldMask{Paths: []string{"start_to_close_timeout"}},
	}
	in.start(onActivities("options", ofReports, update))
	d := in.await("options")
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_UPDATE_ACTIVITY_OPTIONS, d.OperationType)
	assert.EqualValues(t, [2]int64{many, 0}, [2]int64{d.CompleteOperationCount, d.FailureOperationCount})
	timeout := func(name string) time.Duration {
		return in.pendingOf("w1", name).ActivityOptions.StartToCloseTimeout.AsDuration()
	}
	assert.Equal(t, [2]time.Duration{time.Hour, time.Minute}, [2]time.Duration{timeout("mail"), timeout("charge")})

	reset := &batch.BatchOperationResetActivities{
		Identity: "anna", Activity: &batch.BatchOperationResetActivities_MatchAll{MatchAll: true}, KeepPaused: true, RestoreOriginalOptions: true,
	}
	in.start(onActivities("reset", ofReports, reset))
	d = in.await("reset")
	assert.Equal(t, enums.BATCH_OPERATION_TYPE_RESET_ACTIVITY, d.OperationType)
	assert.EqualValues(t, [2]int64{many, 0}, [2]int64{d.CompleteOperationCount, d.FailureOperationCount})
	assert.Equal(t, time.Minute, timeout("mail"))
	assert.Equal(t, many, in.paused(many, "mail"))
	reset.KeepPaused = false
	in.start(onActivities("again", ofReports, reset))
	in.await("again")
	assert.Zero(t, in.paused(many, "mail"))

	update.UpdateMask.Paths = []string{"nonsense"}
	in.start(onActivities("nonsense", ofReports, update))
	assert.EqualValues(t, many, in.await("nonsense").FailureOperationCount)
	in.start(onActivities("original", ofReports, &batch.BatchOperationUpdateActivityOptions{
		Activity: &batch.BatchOperationUpdateActivityOptions_MatchAll{MatchAll: true}, RestoreOriginal: true,
		ActivityOptions: &activity.ActivityOptions{}, // as the command line sends it
	}))
	assert.EqualValues(t, many, in.await("original").CompleteOperationCount)
}

// TestBatchOnActivitiesSurvivesItsProcess: another process goes on with the operation, and ends it.
func TestBatchOnActivitiesSurvivesItsProcess(t *testing.T) {
	t.Parallel()
	const many = 40
	in := withActivities(t, many)
	kill := in.frontend(0)
	in.pause(many, "mail")
	unpause := &batch.BatchOperationUnpauseActivities{Activity: &batch.BatchOperationUnpauseActivities_Type{Type: "mail"}}
	r := onActivities("survives", ofReports, unpause)
	r.MaxOperationsPerSecond = 5
	in.start(r)
	natstest.Eventually(t, patience, "some are done", func() bool { return in.describe("survives").CompleteOperationCount > 0 })
	kill()
	require.Positive(t, in.paused(many, "mail"))
	const ahead = time.Minute // longer than a lease
	in.frontend(ahead)
	d := in.await("survives")
	assert.Equal(t, enums.BATCH_OPERATION_STATE_COMPLETED, d.State)
	assert.EqualValues(t, [3]int64{many, many, 0}, [3]int64{d.TotalOperationCount, d.CompleteOperationCount, d.FailureOperationCount})
	assert.Zero(t, in.paused(many, "mail"))
}

// TestBatchOnActivitiesRefuses: an operation that names no activities, or no change, is refused at once.
func TestBatchOnActivitiesRefuses(t *testing.T) {
	t.Parallel()
	in := install(t)
	all := &batch.BatchOperationUpdateActivityOptions_MatchAll{MatchAll: true}
	for want, operation := range map[string]any{
		"Either activity type must be set": &batch.BatchOperationUnpauseActivities{},
		"match all should be set to true":  &batch.BatchOperationResetActivities{Activity: &batch.BatchOperationResetActivities_Type{}},
		"Jitter is negative": &batch.BatchOperationResetActivities{
			Activity: &batch.BatchOperationResetActivities_MatchAll{MatchAll: true}, Jitter: durationpb.New(-time.Second),
		},
		"Both UpdateMask and RestoreOriginal are provided": &batch.BatchOperationUpdateActivityOptions{
			Activity: all, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"priority"}}, RestoreOriginal: true,
		},
		"ActivityOptions are not provided": &batch.BatchOperationUpdateActivityOptions{Activity: all},
		"UpdateMask is not provided":       &batch.BatchOperationUpdateActivityOptions{Activity: all, ActivityOptions: someOptions()},
	} {
		_, err := in.StartBatchOperation(t.Context(), onActivities("refused", ofReports, operation))
		var invalid *serviceerror.InvalidArgument
		assert.ErrorAs(t, err, &invalid, want)
		assert.ErrorContains(t, err, want)
	}
}
