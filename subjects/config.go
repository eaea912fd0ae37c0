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
	// TaskAckWait is how long a pool may be silent about a message before another gets it.
	TaskAckWait = 5 * time.Second
	// ActionAckWait is how long a worker may be silent about a run before another gets it.
	ActionAckWait = 10 * time.Second
	// DuplicateWindow is how long the streams remember message IDs.
	DuplicateWindow = 2 * time.Minute
	// EventAge is how long the event history is kept.
	EventAge = 30 * 24 * time.Hour
	// ControlAge is how long a cancel or terminate waits for its run, and how long progress is kept.
	ControlAge = 7 * 24 * time.Hour
	// ProgressBytes is how much progress is kept of all runs together, unless an operator has chosen otherwise: that of 4,000 runs with
	// all the details there can be, and of half a million with some hundred bytes. A server that cannot set as much apart keeps that of
	// the 4,000.
	ProgressBytes = 256 << 20
	// MaxProgressBytes bounds the headers and the body of one message of progress: 64 KiB of details, and what stands around them.
	MaxProgressBytes = 68 << 10
	// CallbackBytes is how many bytes of completions of one shard may wait, unless an operator has chosen otherwise or the server has less
	// room: some hundred thousand small ones. Workers that report more try again until the invoker has come as far.
	CallbackBytes = 64 << 20
	// MaxCallbackBytes bounds the headers and the body of one completion: 512 KiB of a result, or 64 KiB of details, with room for an
	// encoding that is not the shortest.
	MaxCallbackBytes = 1 << 20
	// WorkerLetterBytes is how much the dead letters of all task queues together may have, as ProgressBytes says; MaxWorkerLetters is how
	// many are kept of one subject, and MaxWorkerLetterBytes bounds the headers and the body of one.
	WorkerLetterBytes    = 512 << 20
	MaxWorkerLetters     = 128
	MaxWorkerLetterBytes = 1 << 20
	// letterParts is over how many subjects the letters about small completions of a task queue are spread: with MaxWorkerLetters of each,
	// 4,096 are kept. Of those with more than smallLetterBytes it is one subject, so that a queue cannot fill the stream with them.
	letterParts      = 32
	smallLetterBytes = 16 << 10
	// PlainWindow is how long streams remember message IDs that workers may write into and that need none. IDs are kept in memory, may
	// be long, and come as fast as a worker can send.
	PlainWindow = time.Second
	// DeadLetterAge is how long dead letters are kept.
	DeadLetterAge = 90 * 24 * time.Hour
	// TombstoneAge is how long a deleted record leaves a trace in its bucket.
	TombstoneAge = time.Hour
	// PulseEvery is how often the timers of a task stream show that they work.
	PulseEvery = 10 * time.Second
	// maxAckPending bounds what all processes of a pool hold of one shard, and all workers of one task queue.
	maxAckPending = 16384
)

// ClusterBucket holds the facts all processes must agree on.
func (n Names) ClusterBucket() string { return n.prefix + "-cluster" }

// StateBucket holds the records of one shard.
func (n Names) StateBucket(shard int) string { return n.prefix + "-state-" + strconv.Itoa(shard) }

// TaskStream holds the tasks and timers of one shard.
func (n Names) TaskStream(shard int) string { return n.upper + "_TASKS_" + strconv.Itoa(shard) }

// CallbackStream holds the completions that workers report of the runs of one shard. It is apart from the task stream since workers
// write into it: what headers may do in a task stream (replace what came before, remove a timer, set one) they may not do here.
func (n Names) CallbackStream(shard int) string { return n.upper + "_CALLBACKS_" + strconv.Itoa(shard) }

// StreamOf returns the stream that a task belongs into.
func (n Names) StreamOf(t Task) string {
	if t.Role == RoleCallback {
		return n.CallbackStream(t.Shard)
	}
	return n.TaskStream(t.Shard)
}

// ActionStream holds the start requests for workers.
func (n Names) ActionStream() string { return n.upper + "_ACTIONS" }

// ControlStream holds cancels and terminates. Only the service writes into it.
func (n Names) ControlStream() string { return n.upper + "_CONTROL" }

// ProgressStream holds how far runs have come. Workers write into it.
func (n Names) ProgressStream() string { return n.upper + "_PROGRESS" }

// EventStream holds the event history.
func (n Names) EventStream() string { return n.upper + "_EVENTS" }

// DeadLetterStream holds what the pools could not process of what they send each other. Only the service writes into it.
func (n Names) DeadLetterStream() string { return n.upper + "_DLQ" }

// WorkerDeadLetterStream holds what workers could not process, which they write into it themselves, and completions of theirs that the
// invoker could not process.
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

// StreamConfigs are the configurations of all streams.
func (n Names) StreamConfigs(shards, replicas int) []jetstream.StreamConfig {
	configs := []jetstream.StreamConfig{
		n.actionConfig(replicas), n.controlConfig(replicas), n.eventConfig(replicas), n.deadLetterConfig(replicas),
		n.progressConfig(replicas), n.workerDeadLetterConfig(replicas),
	}
	for shard := range shards {
		configs = append(configs, n.taskConfig(shard, replicas), n.callbackConfig(shard, replicas))
	}
	return configs
}

// Buckets returns the KV buckets of an installation: that of the cluster, and then those of the shards, in order.
func (n Names) Buckets(shards int) []string {
	all := []string{n.ClusterBucket()}
	for shard := range shards {
		all = append(all, n.StateBucket(shard))
	}
	return all
}

// BucketStream returns the stream behind a KV bucket, as NATS names it.
func BucketStream(bucket string) string { return "KV_" + bucket }

// BucketSubject returns the subject that NATS stores a key of a KV bucket on; of a pattern of keys that which matches theirs, and of
// an empty one what all of them begin with.
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

// callbackConfig allows nothing that a header could ask for but to be stored: whoever may report on a run must not be able to do more.
// What is too much is refused, and does not push out what others have reported.
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
		AllowRollup: true, // an anchor replaces the one before
	}
}

func (n Names) controlConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.ControlStream(), Description: "Carillon: cancels and terminates of runs",
		Subjects: []string{n.prefix + ".control.>"}, Retention: jetstream.LimitsPolicy, MaxMsgsPerSubject: 1,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: DuplicateWindow, MaxAge: ControlAge, AllowDirect: true,
	}
}

// progressConfig is apart from the control stream since workers write here: nothing that a header could ask for is allowed, and what is
// too much pushes out other progress, not cancels and terminates.
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

// workerDeadLetterConfig is apart from the letters of the pools, as progressConfig is from controls. A task queue can only push out its
// own letters, as long as those of all have room.
func (n Names) workerDeadLetterConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.WorkerDeadLetterStream(), Description: "Carillon: messages to and from workers that could not be processed",
		Subjects:          []string{n.SharedWorkerDeadLetter(), n.SharedWorkerDeadLetter() + ".*.*", n.DeadLetter(deadLetterCompletion) + ".*.*.*"},
		Retention:         jetstream.LimitsPolicy,
		MaxMsgsPerSubject: MaxWorkerLetters, MaxBytes: WorkerLetterBytes, MaxMsgSize: MaxWorkerLetterBytes, Discard: jetstream.DiscardOld,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: PlainWindow, MaxAge: DeadLetterAge, AllowDirect: true,
	}
}

// PoolConsumer is a consumer of a pool, and the stream it is of.
type PoolConsumer struct {
	Stream string
	// Config is what the consumer is made by; its durable name is that of the pool.
	Config jetstream.ConsumerConfig
}

// PoolConsumers are the consumers of one shard, of all pools: one for each on the task stream, in the order of the work, and then
// that of the invoker on the callback stream. Completions were in the task stream once: those of runs that were on their way when an
// installation got its callback streams. Their filters do not overlap, as work-queue retention demands, and leave out the
// timers, which nobody consumes.
func (n Names) PoolConsumers(shard int) []PoolConsumer {
	var all []PoolConsumer
	for _, pool := range Pools() {
		all = append(all, PoolConsumer{n.TaskStream(shard), poolConsumer(pool, n.filtersOf(strconv.Itoa(shard), pool)...)})
	}
	return append(all, PoolConsumer{n.CallbackStream(shard), poolConsumer(RoleCallback.Pool(), n.Callbacks(shard))})
}

// ConsumersOfPool are those of the consumers of one shard that one pool takes its messages from.
func (n Names) ConsumersOfPool(shard int, pool string) []PoolConsumer {
	return slices.DeleteFunc(n.PoolConsumers(shard), func(c PoolConsumer) bool { return c.Config.Durable != pool })
}

// ConsumersByStream are the consumers of all shards, by the name of their stream.
func (n Names) ConsumersByStream(shards int) map[string][]jetstream.ConsumerConfig {
	all := map[string][]jetstream.ConsumerConfig{}
	for shard := range shards {
		for _, c := range n.PoolConsumers(shard) {
			all[c.Stream] = append(all[c.Stream], c.Config)
		}
	}
	return all
}

func poolConsumer(pool string, filters ...string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: pool, FilterSubjects: filters, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: TaskAckWait, MaxAckPending: maxAckPending, MaxDeliver: -1,
	}
}

// WorkerConsumer is the consumer that all workers of one task queue share, on the action stream.
func (n Names) WorkerConsumer(namespace, queue string) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable: WorkerConsumerName(namespace, queue), FilterSubject: n.ActionQueue(namespace, queue),
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: ActionAckWait, MaxAckPending: maxAckPending, MaxDeliver: -1,
	}
}

// WorkerConsumerName is worker_<namespace>_<queue>, the queue escaped; of a queue too long for a consumer name the end
// is replaced by a hash of the whole.
func WorkerConsumerName(namespace, queue string) string {
	const longest = 180
	token := Escape(queue)
	if len(token) > longest {
		h := fnv.New128a()
		_, _ = h.Write([]byte(queue))
		token = token[:longest-33] + "=" + hex.EncodeToString(h.Sum(nil))
	}
	return "worker_" + namespace + "_" + token
}
