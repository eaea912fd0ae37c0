package execution

import (
	"cmp"
	"slices"
	"strings"
	"time"

	activitypb "go.temporal.io/api/activity/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
)

// UpdateActivityOptions changes options of activities, or takes all changes back. The timeouts of an attempt that a worker has change at once. The
// reply is a *workflowservice.UpdateActivityOptionsResponse with the options of the last of the activities.
type UpdateActivityOptions struct {
	Request *workflowservice.UpdateActivityOptionsRequest
}

func (UpdateActivityOptions) cause() string { return "update-activity-options" }

func (in UpdateActivityOptions) decide(tx *transition) (proto.Message, error) {
	request := in.Request
	switch restore, paths := request.GetRestoreOriginal(), request.GetUpdateMask().GetPaths(); {
	case restore && len(paths) > 0:
		return nil, serviceerror.NewInvalidArgument("Both UpdateMask and RestoreOriginal are provided.")
	case !restore && request.GetActivityOptions() == nil:
		return nil, serviceerror.NewInvalidArgument("ActivityOptions are not provided.")
	case !restore && request.GetUpdateMask() == nil:
		return nil, serviceerror.NewInvalidArgument("UpdateMask is not provided.")
	}
	found, err := tx.choose(chosen{request.GetExecution().GetRunId(), request.GetId(), request.GetType(), request.GetMatchAll()})
	if err != nil {
		return nil, err
	}
	response := &workflowservice.UpdateActivityOptionsResponse{}
	for _, activity := range found {
		options, err := tx.changedOptions(&activity, request)
		if err != nil {
			return nil, err
		}
		if err := tx.setOptions(activity, options, request.GetRestoreOriginal()); err != nil {
			return nil, err
		}
		response.ActivityOptions = options
	}
	return response, nil
}

// changedOptions returns the options that an activity is to have, with the defaults filled in.
func (tx *transition) changedOptions(
	activity *Activity, request *workflowservice.UpdateActivityOptionsRequest,
) (*activitypb.ActivityOptions, error) {
	if request.GetRestoreOriginal() {
		return optionsOf(activity.Original), nil
	}
	options := proto.CloneOf(optionsOf(activity.Attributes))
	for _, path := range request.GetUpdateMask().GetPaths() {
		if err := mergeOption(options, request.GetActivityOptions(), path); err != nil {
			return nil, err
		}
	}
	times, message := activityTimeouts(options, tx.run.Attributes.GetWorkflowRunTimeout().AsDuration())
	if message == "" {
		options.RetryPolicy, message = retryPolicy(options.GetRetryPolicy())
	}
	if options.GetTaskQueue().GetName() == "" {
		message = "TaskQueue.Name is empty"
	}
	message = cmp.Or(message, checkPriority(options.GetPriority()))
	if message != "" {
		return nil, serviceerror.NewInvalidArgument("ActivityOptions: " + message)
	}
	options.TaskQueue.NormalName = options.TaskQueue.Name
	options.ScheduleToCloseTimeout, options.ScheduleToStartTimeout = durationpb.New(times.scheduleToClose), durationpb.New(times.scheduleToStart)
	options.StartToCloseTimeout, options.HeartbeatTimeout = durationpb.New(times.startToClose), durationpb.New(times.heartbeat)
	return options, nil
}

// setOptions gives an activity other options. If it waits, it is offered again, perhaps on another queue; if it waits for another attempt, the new
// retry policy says how long.
func (tx *transition) setOptions(activity Activity, options *activitypb.ActivityOptions, original bool) (err error) {
	record := activity.ActivityRecord
	if record.Options = nil; !original {
		if record.Options, err = proto.Marshal(options); err != nil {
			return serviceerror.NewInvalidArgument("ActivityOptions: " + err.Error())
		}
	}
	if record.Started.IsZero() {
		record.Stamp++
		policy := options.GetRetryPolicy()
		if record.Waiting && record.Attempt > 1 && !proto.Equal(policy, activity.Attributes.GetRetryPolicy()) {
			record.Due = latest(record.LastEnd.Add(pauseAfter(policy, record.Attempt-1)), tx.now)
			record.Waiting = record.Due.After(tx.now)
		}
	}
	tx.setActivity(record)
	return nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// optionFields are the options of an activity of a workflow that can be changed.
var optionFields = []string{
	"task_queue", "schedule_to_close_timeout", "schedule_to_start_timeout", "start_to_close_timeout", "heartbeat_timeout", "retry_policy", "priority",
}

// mergeOption sets the option that a path of a field mask names, in snake case or camel case, to what it is in others.
func mergeOption(options, others *activitypb.ActivityOptions, path string) error {
	into, from := options.ProtoReflect(), others.ProtoReflect()
	names := strings.Split(path, ".")
	for i, name := range names {
		field := into.Descriptor().Fields().ByName(protoreflect.Name(name))
		if field == nil {
			field = into.Descriptor().Fields().ByJSONName(name)
		}
		last := i == len(names)-1
		if field == nil || i == 0 && !slices.Contains(optionFields, string(field.Name())) || !last && field.Message() == nil {
			return serviceerror.NewInvalidArgumentf("UpdateMask has %q: it must name %s, or a part of one.", path, strings.Join(optionFields, ", "))
		}
		switch {
		case !last && !from.Has(field):
			return serviceerror.NewInvalidArgumentf("UpdateMask has %q, but ActivityOptions have no %s.", path, field.Name())
		case !last:
			into, from = into.Mutable(field).Message(), from.Get(field).Message()
		case from.Has(field):
			into.Set(field, from.Get(field))
		default:
			into.Clear(field)
		}
	}
	return nil
}
