package execution

import (
	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// operationInput makes the input of somebody who pauses an activity with an ID, or of a type, lets it go on, resets it, or changes its options; nil
// if cmd is none of that.
func (s *story) operationInput(cmd string, arg func(string) string) Input {
	yes := func(name string) bool { return arg(name) != "" }
	jitter := duration(s.t, arg("jitter"))
	switch cmd {
	case "pause":
		request := &workflowservice.PauseActivityRequest{Identity: "somebody", Reason: arg("reason"), RequestId: arg("request")}
		if request.Activity = (&workflowservice.PauseActivityRequest_Id{Id: arg("id")}); yes("type") {
			request.Activity = &workflowservice.PauseActivityRequest_Type{Type: arg("type")}
		}
		return PauseActivity{request}
	case "unpause":
		request := &workflowservice.UnpauseActivityRequest{ResetAttempts: yes("attempts"), ResetHeartbeat: yes("heartbeat"), Jitter: jitter}
		if request.Activity = (&workflowservice.UnpauseActivityRequest_Id{Id: arg("id")}); yes("all") {
			request.Activity = &workflowservice.UnpauseActivityRequest_UnpauseAll{UnpauseAll: true}
		}
		return UnpauseActivity{request}
	case "reset-activity":
		request := &workflowservice.ResetActivityRequest{
			KeepPaused: yes("keep"), ResetHeartbeat: yes("heartbeat"), RestoreOriginalOptions: yes("original"), Jitter: jitter,
		}
		if request.Activity = (&workflowservice.ResetActivityRequest_Id{Id: arg("id")}); yes("type") {
			request.Activity = &workflowservice.ResetActivityRequest_Type{Type: arg("type")}
		}
		return ResetActivity{request}
	case "options":
		return s.optionsInput(arg)
	}
	return nil
}

func (s *story) optionsInput(arg func(string) string) Input {
	request := &workflowservice.UpdateActivityOptionsRequest{
		Activity:        &workflowservice.UpdateActivityOptionsRequest_Id{Id: arg("id")},
		ActivityOptions: &activitypb.ActivityOptions{}, UpdateMask: &fieldmaskpb.FieldMask{}, RestoreOriginal: arg("original") != "",
	}
	options, mask := request.ActivityOptions, request.UpdateMask
	if queue := arg("queue"); queue != "" {
		options.TaskQueue, mask.Paths = &taskqueuepb.TaskQueue{Name: queue}, append(mask.Paths, "task_queue.name")
	}
	if timeout := arg("start-to-close"); timeout != "" {
		options.StartToCloseTimeout, mask.Paths = duration(s.t, timeout), append(mask.Paths, "startToCloseTimeout")
	}
	if interval := arg("interval"); interval != "" {
		options.RetryPolicy = &commonpb.RetryPolicy{InitialInterval: duration(s.t, interval), MaximumInterval: durationpb.New(1e12)}
		mask.Paths = append(mask.Paths, "retry_policy.initial_interval", "retry_policy.maximum_interval")
	}
	if path := arg("path"); path != "" {
		mask.Paths = append(mask.Paths, path)
	}
	return UpdateActivityOptions{request}
}
