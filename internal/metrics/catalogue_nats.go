package metrics

// Records and timers.
var (
	StateOperation = newHistogram(GroupState, Instrument{
		Name: "carillon.kv.operation.duration", Unit: "s", By: "every role but worker", Buckets: requestBuckets,
		Description: "How long it took to read or write a record.",
		Attributes: []Attribute{
			oneOf("operation", "get", "get_leader", "put", "delete"),
			oneOf("outcome", OutcomeOK, OutcomeConflict, OutcomeNotFound, OutcomeError),
		},
	})
	StateConflicts = newCounter(GroupState, Instrument{
		Name: "carillon.kv.conflicts", Unit: "{conflict}", By: "every role but worker",
		Description: "Writes refused by compare-and-set, because another process was faster.",
		Attributes:  []Attribute{aRecord},
	})
	StateRecordSize = newHistogram(GroupState, Instrument{
		Name: "carillon.kv.record.size", Unit: "By", By: "every role but worker",
		Description: "The size of records that are written.",
		Attributes:  []Attribute{aRecord},
		Buckets:     []float64{256, 1024, 4096, 16384, 65536, 262144, 524288, 1048576, 4194304},
	})
	TimersArmed = newCounter(GroupState, Instrument{
		Name: "carillon.timer.armed", Unit: "{timer}", By: "every role but worker",
		Description: "Timers that were armed: delayed messages.",
		Attributes:  []Attribute{oneOf("kind", TimerDue, TimerGuard, TimerRetry, TimerBackfill, TimerTimeout, TimerExecution, TimerOther)},
	})
)

// NATS, as each process sees its connection, and JetStream, as a frontend sees it every 10 s.
var (
	Connected = newGauge(GroupNATS, Instrument{
		Name: "carillon.nats.connected", By: byAll,
		Description: "1 while the process is connected to NATS, 0 while it is not, or not by all of its connections.",
	})
	Reconnects = newTotal(GroupNATS, Instrument{
		Name: "carillon.nats.reconnects", Unit: "{reconnect}", By: byAll,
		Description: "How often the process has lost its connection to NATS and got another; of several, that which it has lost most often.",
	})
	Messages = newTotal(GroupNATS, Instrument{
		Name: "carillon.nats.messages", Unit: "{message}", By: byAll,
		Description: "Messages received from and sent to NATS.",
		Attributes:  []Attribute{aDirection},
	})
	Bytes = newTotal(GroupNATS, Instrument{
		Name: "carillon.nats.io", Unit: "By", By: byAll,
		Description: "Bytes received from and sent to NATS.",
		Attributes:  []Attribute{aDirection},
	})
	JetStreamUp = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.up", By: byFrontend,
		Description: "1 where JetStream has told of all streams of the installation, 0 where it has not answered, or not in time.",
	})
	StreamWritable = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.stream.writable", By: "every role but worker",
		Description: "0 where a stream is gone or takes no writes, as NATS refuses all since one has failed; else 1.",
		Attributes:  []Attribute{aStream},
	})
	StreamMessages = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.stream.messages", Unit: "{message}", By: byFrontend,
		Description: "Messages in a stream.",
		Attributes:  []Attribute{aStream},
	})
	StreamSize = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.stream.size", Unit: "By", By: byFrontend,
		Description: "The size of a stream. The streams whose names begin with KV_ are the state.",
		Attributes:  []Attribute{aStream},
	})
	StreamReplicas = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.stream.replicas", Unit: "{replica}", By: byFrontend,
		Description: "Replicas of a stream that are up to date, its leader included.",
		Attributes:  []Attribute{aStream},
	})
	StreamReplicasWanted = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.stream.replicas_wanted", Unit: "{replica}", By: byFrontend,
		Description: "Replicas that a stream is configured to have.",
		Attributes:  []Attribute{aStream},
	})
	ConsumerPending = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.consumer.pending", Unit: "{message}", By: byFrontend,
		Description: "Messages that a consumer has not handed out yet: its lag.",
		Attributes:  []Attribute{aStream, aConsumer},
	})
	ConsumerAckPending = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.consumer.ack_pending", Unit: "{message}", By: byFrontend,
		Description: "Messages that a consumer has handed out and that were not acknowledged yet.",
		Attributes:  []Attribute{aStream, aConsumer},
	})
	ConsumerRedelivered = newGauge(GroupNATS, Instrument{
		Name: "carillon.jetstream.consumer.redelivered", Unit: "{message}", By: byFrontend,
		Description: "Messages among those that were handed out more than once.",
		Attributes:  []Attribute{aStream, aConsumer},
	})
	TimersPending = newGauge(GroupState, Instrument{
		Name: "carillon.timer.pending", Unit: "{timer}", By: byFrontend,
		Description: "Timers that wait for their time: what a task stream has beyond its anchor, its pulse and the messages for its pools.",
		Attributes:  []Attribute{aStream},
	})
)
