package metrics

// The processes that record the metrics of workflow executions.
const (
	byHistory  = "history"
	byMatching = "matching"
	byGateway  = "gateway"
	byArchival = "archival"
)

// How tasks of workflow executions find workers.
var (
	Polls = newCounter(GroupTasks, Instrument{
		Name: "carillon.task.polls", Unit: "{poll}", By: byGateway,
		Description: "Polls of workers that have ended, with a task or without.",
		Attributes:  []Attribute{aNamespace, aTaskKind, oneOf("outcome", PollTask, PollEmpty)},
	})
	Offers = newCounter(GroupTasks, Instrument{
		Name: "carillon.task.offers", Unit: "{offer}", By: byHistory + ", " + byMatching,
		Description: "Offers of tasks to the polls that wait: of new tasks (history), or of tasks in the backlog (matching). A new task that " +
			"is not taken goes to the backlog, or from a sticky queue to the ordinary one.",
		Attributes: []Attribute{
			aNamespace, aTaskKind, oneOf("source", OfferedNew, OfferedBacklog),
			oneOf("outcome", OfferTaken, OfferBusy, OfferNobody, OutcomeError),
		},
	})
	StickyOffers = newCounter(GroupTasks, Instrument{
		Name: "carillon.task.sticky", Unit: "{offer}", By: byHistory,
		Description: "Workflow tasks that were offered to the one worker that has the execution in its cache. One that this worker does not " +
			"take goes to the ordinary queue, and another worker has to read the whole history.",
		Attributes: []Attribute{aNamespace, oneOf("outcome", StickyTaken, StickyMissed)},
	})
	BacklogStored = newCounter(GroupTasks, Instrument{
		Name: "carillon.backlog.stored", Unit: "{task}", By: byHistory,
		Description: "New tasks that no poll took, and that were put into the backlog.",
		Attributes:  []Attribute{aNamespace, aTaskKind},
	})
	BacklogSettled = newCounter(GroupTasks, Instrument{
		Name: "carillon.backlog.settled", Unit: "{task}", By: byMatching,
		Description: "Tasks taken from the backlog: started, forgotten because nobody wants them any more, returned because no poll was free, " +
			"failed, which are tried again, or dead, which are dead letters.",
		Attributes: []Attribute{aNamespace, aTaskKind, oneOf("outcome", BacklogStarted, BacklogForgotten, BacklogReturned, BacklogFailed, BacklogDead)},
	})
	BacklogTasks = newGauge(GroupTasks, Instrument{
		Name: "carillon.backlog.tasks", Unit: "{task}", By: byMatching,
		Description: "Tasks in the backlog of a queue, as a process sees them every 5 s.",
		Attributes:  []Attribute{aNamespace, aTaskKind, aQueue},
	})
	BacklogPolled = newGauge(GroupTasks, Instrument{
		Name: "carillon.backlog.polled", By: byMatching,
		Description: "Whether any worker polls a queue that has tasks in the backlog: 1 or 0. Looked at every 15 s.",
		Attributes:  []Attribute{aNamespace, aTaskKind, aQueue},
	})
	BacklogAge = newGauge(GroupTasks, Instrument{
		Name: "carillon.backlog.age", Unit: "s", By: byMatching,
		Description: "How long the oldest task in the backlog of a queue has been there.",
		Attributes:  []Attribute{aNamespace, aTaskKind, aQueue},
	})
	TasksLost = newCounter(GroupTasks, Instrument{
		Name: "carillon.task.lost", Unit: "{task}", By: byGateway,
		Description: "Started tasks whose poll had ended when they came, and for which no other poll came soon. Their timeouts bring them back.",
	})
)
