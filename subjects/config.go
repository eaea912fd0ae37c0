package subjects

import (
	"encoding/hex"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits and times of the streams and consumers.
const (
	// TaskAckWait is how long a pool may be silent about a message before another process gets it.
	TaskAckWait = 5 * time.Second
	// ActionAckWait is how long a worker may be silent about a run before another worker gets it.
	ActionAckWait = 10 * time.Second
	// DuplicateWindow is how long the streams remember message IDs.
	DuplicateWindow = 2 * time.Minute
	// EventAge is how long the event history is kept.
	EventAge = 30 * 24 * time.Hour
	// ControlAge is how long a cancel or terminate waits for its run, and how long progress is kept.
	ControlAge = 7 * 24 * time.Hour
	// ProgressBytes is how many bytes of progress are kept for all runs together, unless an operator has chosen otherwise. It is
	// enough for 4,000 runs with the maximum of details, or for half a million with some hundred bytes. A server that cannot
	// reserve that much keeps enough for the 4,000.
	ProgressBytes = 256 << 20
	// MaxProgressBytes bounds the headers and the body of one progress message: 64 KiB of details and what surrounds them.
	MaxProgressBytes = 68 << 10
	// CallbackBytes is how many bytes of completions may wait in one shard, unless an operator has chosen otherwise or the server
	// has less room: some hundred thousand small ones. Workers that report more try again until the invoker has caught up.
	CallbackBytes = 64 << 20
	// MaxCallbackBytes bounds the headers and the body of one completion: a result of 512 KiB or details of 64 KiB, with room for
	// an encoding that is not the shortest.
	MaxCallbackBytes = 1 << 20
	// WorkerLetterBytes bounds the dead letters of all task queues together, under the same conditions as ProgressBytes.
	// MaxWorkerLetters is how many are kept on one subject. MaxWorkerLetterBytes bounds the headers and the body of one letter.
	WorkerLetterBytes    = 512 << 20
	MaxWorkerLetters     = 128
	MaxWorkerLetterBytes = 1 << 20
	// letterParts is the number of subjects for the letters about a task queue's small completions: with MaxWorkerLetters on
	// each, 4,096 are kept. Letters larger than smallLetterBytes share one subject, so that a queue cannot fill the stream with
	// them.
	letterParts      = 32
	smallLetterBytes = 16 << 10
	// PlainWindow is how long a stream remembers message IDs if workers may write into it and it needs none. IDs are kept in
	// memory, may be long, and arrive as fast as a worker can send.
	PlainWindow = time.Second
	// DeadLetterAge is how long dead letters are kept.
	DeadLetterAge = 90 * 24 * time.Hour
	// TombstoneAge is how long a deleted record leaves a trace in its bucket.
	TombstoneAge = time.Hour
	// PulseEvery is how often the timers of a task stream show that they work.
	PulseEvery = 10 * time.Second
	// maxAckPending bounds the unacknowledged messages of one shard in all processes of a pool, and of one task queue in all its
	// workers.
	maxAckPending = 16384
)

// ClusterBucket holds the facts that all processes must agree on.
func (n Names) ClusterBucket() string { return n.prefix + "-cluster" }

// StateBucket holds the records of one shard.
func (n Names) StateBucket(shard int) string { return n.prefix + "-state-" + strconv.Itoa(shard) }

// TaskStream holds the tasks and timers of one shard.
func (n Names) TaskStream(shard int) string { return n.upper + "_TASKS_" + strconv.Itoa(shard) }

// CallbackStream holds the completions that workers report for the runs of one shard. It is separate from the task stream because
// workers write into it: they must not use what headers can do in a task stream (replace earlier messages, remove a timer, set
// one).
func (n Names) CallbackStream(shard int) string { return n.upper + "_CALLBACKS_" + strconv.Itoa(shard) }

// StreamOf returns the stream of a task.
func (n Names) StreamOf(t Task) string {
	if t.Role == RoleCallback {
		return n.CallbackStream(t.Shard)
	}
	return n.TaskStream(t.Shard)
}

// ActionStream holds the start requests for workers.
func (n Names) ActionStream() string { return n.upper + "_ACTIONS" }

// ControlStream holds cancels and terminates. Only Carillon's own processes write into it.
func (n Names) ControlStream() string { return n.upper + "_CONTROL" }

// ProgressStream holds the progress of runs. Workers write into it.
func (n Names) ProgressStream() string { return n.upper + "_PROGRESS" }

// EventStream holds the event history.
func (n Names) EventStream() string { return n.upper + "_EVENTS" }

// DeadLetterStream holds messages between the pools that could not be processed. Only Carillon's own processes write into it.
func (n Names) DeadLetterStream() string { return n.upper + "_DLQ" }

// WorkerDeadLetterStream holds messages that workers could not process, written by the workers themselves, and workers'
// completions that the invoker could not process.
func (n Names) WorkerDeadLetterStream() string { return n.upper + "_WORKER_DLQ" }

// ServiceName is the name of the frontend among the NATS micro services.
func (n Names) ServiceName() string { return n.prefix }

// BucketConfig is the configuration of a KV bucket named by ClusterBucket or StateBucket.
func (n Names) BucketConfig(bucket string, replicas int) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket: bucket, Description: "Carillon: state", History: 1, Storage: jetstream.FileStorage,
		Replicas: replicas, LimitMarkerTTL: TombstoneAge,
	}
}

// StreamConfigs returns the configurations of all streams.
func (n Names) StreamConfigs(shards, replicas int) []jetstream.StreamConfig {
	configs := []jetstream.StreamConfig{
		n.actionConfig(replicas), n.controlConfig(replicas), n.eventConfig(replicas), n.deadLetterConfig(replicas),
		n.progressConfig(replicas), n.workerDeadLetterConfig(replicas), n.backlogConfig(replicas), n.heartbeatConfig(replicas),
	}
	for shard := range shards {
		configs = append(configs, n.taskConfig(shard, replicas), n.callbackConfig(shard, replicas), n.journalConfig(shard, replicas))
	}
	return configs
}

// Buckets returns the KV buckets of an installation: the cluster bucket, then the buckets of the shards, in order.
func (n Names) Buckets(shards int) []string {
	all := []string{n.ClusterBucket()}
	for shard := range shards {
		all = append(all, n.StateBucket(shard))
	}
	return all
}

// BucketStream returns the stream behind a KV bucket, in NATS's naming.
func BucketStream(bucket string) string { return "KV_" + bucket }

// BucketSubject returns the subject on which NATS stores a key of a KV bucket. For a pattern of keys it returns the subject that
// matches them, and for an empty key the beginning of all subjects.
func BucketSubject(bucket, key string) string { return "$KV." + bucket + "." + key }

func (n Names) taskConfig(shard, replicas int) jetstream.StreamConfig {
	s := strconv.Itoa(shard)
	return jetstream.StreamConfig{
		Name: n.TaskStream(shard), Description: "Carillon: tasks and timers of shard " + s,
		Subjects:  []string{n.prefix + ".task." + s + ".>", n.prefix + ".timer." + s + ".>", n.TaskAnchor(shard)},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: replicas,
		MaxMsgsPerSubject: 1, Discard: jetstream.DiscardOld, Duplicates: DuplicateWindow,
		AllowMsgSchedules: true, AllowMsgTTL: true, AllowRollup: true, AllowDirect: true,
	}
}

// callbackConfig lets a header ask for nothing but storage: whoever may report on a run must not be able to do more. If there is
// too much, new reports are refused, so they never push out those of others.
func (n Names) callbackConfig(shard, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.CallbackStream(shard), Description: "Carillon: completions of the runs of shard " + strconv.Itoa(shard),
		Subjects:  []string{n.Callbacks(shard), n.CallbackAnchor(shard)},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: replicas,
		MaxMsgsPerSubject: 1, MaxBytes: CallbackBytes, MaxMsgSize: MaxCallbackBytes, Discard: jetstream.DiscardNew,
		Duplicates: PlainWindow, AllowDirect: true,
	}
}

func (n Names) actionConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.ActionStream(), Description: "Carillon: runs waiting for or held by workers",
		Subjects: []string{n.prefix + ".action.>", n.ActionAnchor()}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: DuplicateWindow, AllowDirect: true,
		AllowRollup: true, // an anchor replaces the previous one
	}
}

func (n Names) controlConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.ControlStream(), Description: "Carillon: cancels and terminates of runs",
		Subjects: []string{n.prefix + ".control.>"}, Retention: jetstream.LimitsPolicy, MaxMsgsPerSubject: 1,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: DuplicateWindow, MaxAge: ControlAge, AllowDirect: true,
	}
}

// progressConfig is separate from the control stream because workers write here. It lets a header ask for nothing special, and
// too much progress pushes out other progress, not cancels and terminates.
func (n Names) progressConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.ProgressStream(), Description: "Carillon: how far runs have come",
		Subjects: []string{n.prefix + ".progress.>"}, Retention: jetstream.LimitsPolicy, MaxMsgsPerSubject: 1,
		MaxBytes: ProgressBytes, MaxMsgSize: MaxProgressBytes, Discard: jetstream.DiscardOld,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: PlainWindow, MaxAge: ControlAge, AllowDirect: true,
	}
}

func (n Names) eventConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.EventStream(), Description: "Carillon: event history",
		Subjects: []string{n.prefix + ".event.>"}, Retention: jetstream.LimitsPolicy,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: DuplicateWindow, MaxAge: EventAge, AllowDirect: true,
		AllowMsgTTL: true, // namespaces may keep their events for a shorter time
	}
}

func (n Names) deadLetterConfig(replicas int) jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name: n.DeadLetterStream(), Description: "Carillon: messages that the pools could not process", Retention: jetstream.LimitsPolicy,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: DuplicateWindow, MaxAge: DeadLetterAge,
		AllowDirect: true,
	}
	for _, pool := range Pools() {
		config.Subjects = append(config.Subjects, n.DeadLetter(pool))
	}
	return config
}

// workerDeadLetterConfig is separate from the letters of the pools, for the reasons given at progressConfig. A task queue can
// only push out its own letters, as long as the letters of all queues have room.
func (n Names) workerDeadLetterConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.WorkerDeadLetterStream(), Description: "Carillon: messages to and from workers that could not be processed",
		Subjects:          []string{n.SharedWorkerDeadLetter(), n.SharedWorkerDeadLetter() + ".*.*", n.DeadLetter(deadLetterCompletion) + ".*.*.*"},
		Retention:         jetstream.LimitsPolicy,
		MaxMsgsPerSubject: MaxWorkerLetters, MaxBytes: WorkerLetterBytes, MaxMsgSize: MaxWorkerLetterBytes, Discard: jetstream.DiscardOld,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: PlainWindow, MaxAge: DeadLetterAge, AllowDirect: true,
	}
}

// PoolConsumer is a consumer of a pool, and its stream.
type PoolConsumer struct {
	Stream string
	// Config is the configuration of the consumer. Its durable name is the name of the pool.
	Config jetstream.ConsumerConfig
}

// PoolConsumers returns the consumers of one shard for all pools: first one for each pool on the task stream, in the order of the
// work, then the invoker's consumer on the callback stream. The task stream may still hold completions, of runs that were in
// progress when an installation got its callback streams. The filters do not overlap, as work-queue retention demands, and leave
// out the timers, which nobody consumes.
func (n Names) PoolConsumers(shard int) []PoolConsumer {
	var all []PoolConsumer
	for _, pool := range Pools() {
		all = append(all, PoolConsumer{n.TaskStream(shard), poolConsumer(pool, n.filtersOf(strconv.Itoa(shard), pool)...)})
	}
	return append(all, PoolConsumer{n.CallbackStream(shard), poolConsumer(RoleCallback.Pool(), n.Callbacks(shard))})
}

// ConsumersOfPool returns those consumers of one shard from which a pool takes its messages.
func (n Names) ConsumersOfPool(shard int, pool string) []PoolConsumer {
	return slices.DeleteFunc(n.PoolConsumers(shard), func(c PoolConsumer) bool { return c.Config.Durable != pool })
}

// PoolOfConsumer returns the pool whose processes take messages from a consumer that is in ConsumersByStream.
func PoolOfConsumer(durable string) string {
	if durable == transferConsumer {
		return PoolHistory
	}
	return durable
}

// ConsumersByStream returns the consumers of all shards, by the name of their stream.
func (n Names) ConsumersByStream(shards int) map[string][]jetstream.ConsumerConfig {
	all := map[string][]jetstream.ConsumerConfig{}
	for shard := range shards {
		for _, c := range n.PoolConsumers(shard) {
			all[c.Stream] = append(all[c.Stream], c.Config)
		}
		transfer := n.Transfer(shard)
		all[transfer.Stream] = []jetstream.ConsumerConfig{transfer.Config}
	}
	return all
}

func poolConsumer(pool string, filters ...string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: pool, FilterSubjects: filters, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: TaskAckWait, MaxAckPending: maxAckPending, MaxDeliver: -1,
	}
}

// WorkerConsumer is the consumer on the action stream that all workers of one task queue share.
func (n Names) WorkerConsumer(namespace, queue string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: WorkerConsumerName(namespace, queue), FilterSubject: n.ActionQueue(namespace, queue),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ActionAckWait, MaxAckPending: maxAckPending, MaxDeliver: -1,
	}
}

// WorkerConsumerName is worker_<namespace>_<queue>, with the queue escaped. If the queue is too long for a consumer name, a hash
// of the whole replaces its end.
func WorkerConsumerName(namespace, queue string) string {
	return consumerName("worker_"+namespace+"_", queue)
}

func consumerName(begin, queue string) string {
	const longest = 180
	token := Escape(queue)
	if len(token) > longest {
		h := fnv.New128a()
		_, _ = h.Write([]byte(queue))
		token = token[:longest-33] + "=" + hex.EncodeToString(h.Sum(nil))
	}
	return begin + token
}
