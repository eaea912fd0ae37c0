package subjects

// The verbs of requests to the owner of an execution: see [Names.Execution]. Request and answer are the messages of the RPC of Temporal that
// has nearly the same name.
const (
	VerbStart           = "start"
	VerbSignal          = "signal"
	VerbSignalWithStart = "signal-with-start"
	VerbRequestCancel   = "request-cancel"
	VerbTerminate       = "terminate"
	VerbReset           = "reset"
	VerbDelete          = "delete"
	VerbDescribe        = "describe"
	VerbQuery           = "query"
	// VerbUpdate, VerbPollUpdate and VerbUpdateWithStart do not wait: the owner answers how far an update has come. The last one is
	// ExecuteMultiOperation, with a start and an update.
	VerbUpdate          = "update"
	VerbPollUpdate      = "poll-update"
	VerbUpdateWithStart = "update-with-start"
	// VerbStartScheduled starts an execution for a schedule: a wire.StartWorkflow in the codec's form. The answer is that of VerbStart.
	VerbStartScheduled = "start-scheduled"
	// VerbHistory is GetWorkflowExecutionHistory. The owner does not wait for a new event: it answers with what there is.
	VerbHistory        = "history"
	VerbHistoryReverse = "history-reverse"

	// VerbStartTask starts a task of the backlog for a poll that is reserved: an offer.Start, to an empty answer.
	VerbStartTask = "start-task"

	VerbCompleteWorkflowTask = "complete-workflow-task"
	VerbFailWorkflowTask     = "fail-workflow-task"
	VerbResetSticky          = "reset-sticky"

	VerbCompleteActivity  = "complete-activity"
	VerbFailActivity      = "fail-activity"
	VerbCancelActivity    = "cancel-activity"
	VerbHeartbeatActivity = "heartbeat-activity"

	VerbCompleteActivityByID  = "complete-activity-by-id"
	VerbFailActivityByID      = "fail-activity-by-id"
	VerbCancelActivityByID    = "cancel-activity-by-id"
	VerbHeartbeatActivityByID = "heartbeat-activity-by-id"

	VerbPauseActivity         = "pause-activity"
	VerbUnpauseActivity       = "unpause-activity"
	VerbResetActivity         = "reset-activity"
	VerbUpdateActivityOptions = "update-activity-options"
)

// OnlyReads reports whether a request with a verb, to the owner of an execution or about all executions of a namespace, needs nothing but what is
// stored. A query needs a worker.
func OnlyReads(verb string) bool {
	switch verb {
	case VerbDescribe, VerbHistory, VerbHistoryReverse, VerbPollUpdate,
		VerbListExecutions, VerbCountExecutions, VerbDescribeBatch, VerbListBatches:
		return true
	}
	return false
}
