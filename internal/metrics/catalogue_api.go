package metrics

import "github.com/carillon-scheduler/carillon/schedule"

// The API, and the limits of namespaces.
var (
	APIRequests = newCounter(GroupAPI, Instrument{
		Name: "carillon.api.requests", Unit: "{request}", By: byFrontend,
		Description: "Requests that were answered.",
		Attributes: []Attribute{
			{Name: "method", Means: "the thing and the verb, such as schedule.create"},
			oneOf("code", CodeOK, string(schedule.CodeInvalidArgument), string(schedule.CodeNotFound),
				string(schedule.CodeAlreadyExists), string(schedule.CodeFailedPrecondition), string(schedule.CodeResourceExhausted),
				string(schedule.CodeUnavailable), string(schedule.CodePermissionDenied), string(schedule.CodeInternal)),
		},
	})
	APIDuration = newHistogram(GroupAPI, Instrument{
		Name: "carillon.api.request.duration", Unit: "s", By: byFrontend, Buckets: requestBuckets,
		Description: "From the arrival of a request until its reply was sent.",
		Attributes:  []Attribute{{Name: "method", Means: "as above"}},
	})
	APIActive = newUpDown(GroupAPI, Instrument{
		Name: "carillon.api.active_requests", Unit: "{request}", By: byFrontend,
		Description: "Requests that are being answered or wait for their turn.",
	})
	NamespaceRequests = newCounter(GroupAPI, Instrument{
		Name: "carillon.namespace.requests", Unit: "{request}", By: byFrontend,
		Description: "Requests that the limits of their namespace let through.",
		Attributes:  []Attribute{aNamespace},
	})
	NamespaceRefused = newCounter(GroupAPI, Instrument{
		Name: "carillon.namespace.refused", Unit: "{request}", By: byFrontend,
		Description: "Requests that a limit of their namespace has refused: hits of its rate limit, or of its number of schedules.",
		Attributes:  []Attribute{aNamespace, oneOf("limit", LimitRequests, LimitSchedules)},
	})
)

// The gateway, which serves Temporal's clients.
var (
	GatewayRequests = newCounter(GroupAPI, Instrument{
		Name: "carillon.gateway.requests", Unit: "{request}", By: byGateway,
		Description: "Requests of Temporal's clients that were answered.",
		Attributes: []Attribute{
			{Name: "method", Means: "the methods of Temporal's services, such as StartWorkflowExecution"},
			{Name: "code", Means: "the names of gRPC's codes, such as OK and NotFound"},
		},
	})
	GatewayDuration = newHistogram(GroupAPI, Instrument{
		Name: "carillon.gateway.request.duration", Unit: "s", By: byGateway, Buckets: rpcBuckets,
		Description: "From the arrival of a request of one of Temporal's clients until its answer. A poll takes up to a minute.",
		Attributes:  []Attribute{{Name: "method", Means: "as above"}},
	})
	GatewayAdmissions = newTotal(GroupAPI, Instrument{
		Name: "carillon.gateway.admissions", Unit: "{request}", By: byGateway,
		Description: "Requests of Temporal's clients that a limit of their namespace let through or refused: a limit of requests or lists in a second, or " +
			"of polls and other requests that wait at once.",
		Attributes: []Attribute{aNamespace, oneOf("limit", LimitRequests, LimitLists, LimitPolls), oneOf("outcome", AdmittedYes, AdmittedNo)},
	})
	GatewayLimit = newGauge(GroupAPI, Instrument{
		Name: "carillon.gateway.limit", Unit: "{request}", By: byGateway,
		Description: "How many requests, or lists, of a namespace a gateway lets through in a second. It is there from the first one on.",
		Attributes:  []Attribute{aNamespace, oneOf("limit", LimitRequests, LimitLists)},
	})
	GatewayActive = newUpDown(GroupAPI, Instrument{
		Name: "carillon.gateway.active_requests", Unit: "{request}", By: byGateway,
		Description: "Requests of Temporal's clients that are being answered, polls that wait among them.",
	})
)

// Search, consistency, jobs and the event history.
var (
	SearchStaleness = newGauge(GroupUpkeep, Instrument{
		Name: "carillon.search.staleness", Unit: "s", By: byFrontend,
		Description: "How long ago the search index had everything. It is not there while the index is built.",
	})
	SearchReady = newGauge(GroupUpkeep, Instrument{
		Name: "carillon.search.ready", By: byFrontend,
		Description: "1 where the search index answers queries, 0 while it is built.",
	})
	SearchRead = newGauge(GroupUpkeep, Instrument{
		Name: "carillon.search.build.read", Unit: "{message}", By: byFrontend,
		Description: "Messages that the search index has read while it is built. It is not there otherwise.",
	})
	SearchExpected = newGauge(GroupUpkeep, Instrument{
		Name: "carillon.search.build.expected", Unit: "{message}", By: byFrontend,
		Description: "Messages that there were to read when the building of the search index began. It is not there otherwise.",
	})
	SearchRebuilt = newCounter(GroupUpkeep, Instrument{
		Name: "carillon.search.rebuilds", Unit: "{rebuild}", By: byFrontend,
		Description: "How often the search index turned out to be of no use and was built anew.",
	})
	ConsistencyChecked = newCounter(GroupUpkeep, Instrument{
		Name: "carillon.consistency.checked", Unit: "{schedule}", By: byGenerator,
		Description: "Schedules and workflows that were looked at.",
	})
	ConsistencyFindings = newCounter(GroupUpkeep, Instrument{
		Name: "carillon.consistency.findings", Unit: "{finding}", By: byGenerator,
		Description: "What was found to be inconsistent, and whether it was mended, left to a person, or could not be mended.",
		Attributes: []Attribute{
			{Name: "kind", Means: "the kinds of docs/consistency.md"}, oneOf("outcome", FindingMended, FindingLeft, FindingFailed),
		},
	})
	JobsRunning = newUpDown(GroupUpkeep, Instrument{
		Name: "carillon.jobs.running", Unit: "{job}", By: byFrontend,
		Description: "Background jobs that a process works on.",
		Attributes:  []Attribute{aJob},
	})
	JobItems = newCounter(GroupUpkeep, Instrument{
		Name: "carillon.jobs.items", Unit: "{item}", By: byFrontend,
		Description: "Items of background jobs that were settled.",
		Attributes:  []Attribute{aJob, oneOf("outcome", "done", "skipped", "failed")},
	})
	EventsCorrupt = newCounter(GroupUpkeep, Instrument{
		Name: "carillon.events.corrupt", Unit: "{event}", By: "frontend, client commands",
		Description: "Entries of the event history that could not be read, each time one was met.",
	})
)
