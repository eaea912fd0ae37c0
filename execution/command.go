package execution

import (
	commandpb "go.temporal.io/api/command/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/api/serviceerror"
)

// commandContext is what a command has besides its attributes.
type commandContext struct {
	*commandpb.Command
	// completed is the ID of the event with which its workflow task completed, and identity is the worker's.
	completed int64
	identity  string
}

// commands says how each command is carried out. A function returns why the workflow task fails instead; nil if it does not.
var commands = map[enumspb.CommandType]func(*transition, commandContext) *failedCommand{
	enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK:            (*transition).scheduleActivity,
	enumspb.COMMAND_TYPE_REQUEST_CANCEL_ACTIVITY_TASK:      (*transition).requestCancelActivity,
	enumspb.COMMAND_TYPE_START_TIMER:                       (*transition).startTimer,
	enumspb.COMMAND_TYPE_CANCEL_TIMER:                      (*transition).cancelTimer,
	enumspb.COMMAND_TYPE_RECORD_MARKER:                     (*transition).recordMarker,
	enumspb.COMMAND_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: (*transition).upsertSearchAttributes,
	enumspb.COMMAND_TYPE_MODIFY_WORKFLOW_PROPERTIES:        (*transition).modifyProperties,
	enumspb.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION:       (*transition).completeWorkflow,
	enumspb.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION:           (*transition).failWorkflow,
	enumspb.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION:         (*transition).cancelWorkflow,

	enumspb.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION: (*transition).continueAsNew,
	enumspb.COMMAND_TYPE_PROTOCOL_MESSAGE:                   (*transition).followMessage,
	enumspb.COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION:     (*transition).startChild,
	enumspb.COMMAND_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION: (*transition).signalExternal,

	enumspb.COMMAND_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION: (*transition).cancelExternal,
}

// command carries out one command of a workflow task.
func (tx *transition) command(command *commandpb.Command, completed int64, identity string) *failedCommand {
	carryOut, ok := commands[command.GetCommandType()]
	if !ok {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_FEATURE_DISABLED,
			"command " + command.GetCommandType().String() + " is not implemented"}
	}
	return carryOut(tx, commandContext{command, completed, identity})
}

// failedCommand is why a workflow task fails because of one of its commands.
type failedCommand struct {
	cause   enumspb.WorkflowTaskFailedCause
	message string
}

func (f *failedCommand) text() string {
	if f.message == "" {
		return f.cause.String()
	}
	return f.cause.String() + ": " + f.message
}

// refusal is what the worker is told.
func (f *failedCommand) refusal() error { return serviceerror.NewInvalidArgument(f.text()) }

// failure is what the history says.
func (f *failedCommand) failure() *failurepb.Failure {
	return &failurepb.Failure{
		Message: f.text(), Source: "Server",
		FailureInfo: &failurepb.Failure_ServerFailureInfo{ServerFailureInfo: &failurepb.ServerFailureInfo{NonRetryable: true}},
	}
}
