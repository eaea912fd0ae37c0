package metrics

// Workflow executions: their journals, and the requests about them.
var (
	HistoryRequests = newHistogram(GroupExecutions, Instrument{
		Name: "carillon.history.request.duration", Unit: "s", By: byHistory, Buckets: requestBuckets,
		Description: "From a request about a workflow execution until its answer.",
		Attributes: []Attribute{
			{Name: "verb", Means: "the verbs of requests about executions, such as start and complete-workflow-task"},
			oneOf("outcome", HistoryOK, HistoryRefused, OutcomeError),
		},
	})
	HistoryEntries = newCounter(GroupExecutions, Instrument{
		Name: "carillon.history.entries", Unit: "{entry}", By: byHistory,
		Description: "Entries that were appended to journals.",
		Attributes:  []Attribute{aNamespace},
	})
	HistoryConflicts = newCounter(GroupExecutions, Instrument{
		Name: "carillon.history.conflicts", Unit: "{entry}", By: byHistory,
		Description: "Entries that were decided anew, because another process had appended one in between.",
		Attributes:  []Attribute{aNamespace},
	})
	HistoryLoads = newCounter(GroupExecutions, Instrument{
		Name: "carillon.history.loads", Unit: "{execution}", By: byHistory,
		Description: "How an execution was found for a request or a message: in the memory of the process, with entries that others had added, or in its " +
			"journal. A start that finds no execution does not count.",
		Attributes: []Attribute{oneOf("from", HistoryCached, HistoryTail, HistoryJournal)},
	})
	HistoryTurnWait = newHistogram(GroupExecutions, Instrument{
		Name: "carillon.history.turn.wait", Unit: "s", By: byHistory, Buckets: requestBuckets,
		Description: "How long a request or a message waited for its turn: until nothing else worked on its execution, and the process had room for it.",
	})
	HistoryAppend = newHistogram(GroupExecutions, Instrument{
		Name: "carillon.history.append.duration", Unit: "s", By: byHistory, Buckets: requestBuckets,
		Description: "How long it took to append an entry to a journal. Each stream has the journals of one shard.",
		Attributes:  []Attribute{aStream, oneOf("outcome", OutcomeOK, OutcomeConflict, OutcomeError)},
	})
	HistoryUsed = newGauge(GroupExecutions, Instrument{
		Name: "carillon.history.limit.used", Unit: "1", By: byHistory,
		Description: "Which share is in use of what a process may do at once, from 0 to 1: of the executions that are worked on, of the entries whose work " +
			"is not done, of the tasks that are offered, and of the memory for executions.",
		Attributes: []Attribute{oneOf("limit", UsedTurns, UsedEffects, UsedOffers, UsedMemory)},
	})
	HistoryRouted = newCounter(GroupExecutions, Instrument{
		Name: "carillon.history.routed", Unit: "{request}", By: "gateway, matching, invoker",
		Description: "Requests about workflow executions by where they were sent: to the owner of the execution; to any process, because the owner " +
			"was gone; or to any process, because none was known yet.",
		Attributes: []Attribute{oneOf("to", RoutedOwner, RoutedGone, RoutedAnybody)},
	})
	HistoryTransfer = newHistogram(GroupExecutions, Instrument{
		Name: "carillon.history.transfer.duration", Unit: "s", By: byHistory, Buckets: rpcBuckets,
		Description: "From the append of an entry until what it makes due has been done: its tasks are with workers or in the backlog.",
	})
	HistoryRecovered = newCounter(GroupExecutions, Instrument{
		Name: "carillon.history.recovered", Unit: "{entry}", By: byHistory,
		Description: "Entries whose work was done by another process than the one that appended them, or later.",
	})
	HistoryRemoved = newCounter(GroupExecutions, Instrument{
		Name: "carillon.history.removed", Unit: "{run}", By: byHistory,
		Description: "Runs that were removed because their namespace had kept them for its retention.",
		Attributes:  []Attribute{aNamespace},
	})
	HistoryRetentionLag = newGauge(GroupExecutions, Instrument{
		Name: "carillon.history.retention.lag", Unit: "s", By: byHistory,
		Description: "For how long the oldest run has been there that should have been removed, in the shards whose runs the process removes; 0 if all " +
			"of them have gone.",
	})
)

// What the archive gets of workflow executions.
var (
	ArchiveRuns = newCounter(GroupExecutions, Instrument{
		Name: "carillon.archive.runs", Unit: "{run}", By: byArchival,
		Description: "Runs that were archived: written to the bucket of their namespace, and read back.",
		Attributes:  []Attribute{aNamespace},
	})
	ArchiveBytes = newCounter(GroupExecutions, Instrument{
		Name: "carillon.archive.size", Unit: "By", By: byArchival,
		Description: "What was written to the buckets of namespaces.",
		Attributes:  []Attribute{aNamespace},
	})
	ArchiveFailures = newCounter(GroupExecutions, Instrument{
		Name: "carillon.archive.failures", Unit: "{attempt}", By: byArchival,
		Description: "Attempts to archive a run that failed. The run is kept, and tried again.",
		Attributes:  []Attribute{aNamespace},
	})
	ArchiveLost = newCounter(GroupExecutions, Instrument{
		Name: "carillon.archive.lost", Unit: "{run}", By: byArchival,
		Description: "Runs whose entries had gone from the journal before they were archived, although nobody deleted them.",
		Attributes:  []Attribute{aNamespace},
	})
	ArchiveFailing = newGauge(GroupExecutions, Instrument{
		Name: "carillon.archive.failing", Unit: "s", By: byArchival,
		Description: "For how long a namespace that asks for an archive could not be archived, because its bucket cannot be opened or refuses objects, or " +
			"because history does not answer; 0 if the last attempt worked. Only the process that archives shows it.",
		Attributes: []Attribute{aNamespace},
	})
	ArchiveWanted = newGauge(GroupExecutions, Instrument{
		Name: "carillon.archive.wanted", By: byHistory,
		Description: "1 for each namespace that asks for an archive, as the process of history knows.",
		Attributes:  []Attribute{aNamespace},
	})
	ArchiveLag = newGauge(GroupExecutions, Instrument{
		Name: "carillon.archive.lag", Unit: "s", By: byArchival,
		Description: "For how long the oldest run has waited that has ended and is not archived; 0 if none waits. Only the process that archives shows it.",
		Attributes:  []Attribute{aNamespace},
	})
)
