package subjects

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// DefaultPrefix is the prefix of an installation that does not choose another.
const DefaultPrefix = "carillon"

// Names builds and parses the names of one installation. The zero Names is not usable; a Names is immutable and safe
// for concurrent use.
type Names struct {
	prefix string // subjects and buckets
	upper  string // streams
}

// New returns the names under a prefix of 1 to 32 lower-case letters, digits and '-'.
func New(prefix string) (Names, error) {
	if prefix == "" || len(prefix) > 32 {
		return Names{}, schedule.Invalid("prefix", "%q must be 1 to 32 of a-z, 0-9 and '-'", prefix)
	}
	for _, c := range prefix {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return Names{}, schedule.Invalid("prefix", "%q must be 1 to 32 of a-z, 0-9 and '-'", prefix)
		}
	}
	return Names{prefix: prefix, upper: strings.ToUpper(prefix)}, nil
}

// Default returns the names under [DefaultPrefix].
func Default() Names { return Names{prefix: DefaultPrefix, upper: strings.ToUpper(DefaultPrefix)} }

// Prefix returns the prefix.
func (n Names) Prefix() string { return n.prefix }

// ShardOf returns the shard of a schedule, in [0, shards): a stable hash of namespace and ID. It may never change,
// since records and messages lie where it points.
func ShardOf(key schedule.Key, shards int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key.Namespace))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(key.ID))
	return int(mix(h.Sum64()) % uint64(shards))
}

// mix spreads what FNV leaves in the high bits, since the shard is taken from the low ones.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}

// Task subjects, one for each thing to do: a second message for the same thing replaces the first.

// What a pool is woken for, as the last token of its subject. Messages that say different things of the definition's
// version must not replace each other.
const (
	WhatWake     = "wake"
	WhatDue      = "due"
	WhatGuard    = "guard"
	WhatFinished = "finished"
	WhatDeleted  = "deleted"
)

// Generate is the subject that runs the generator for one schedule: WhatDue for its timer, WhatGuard for a repair or a restore,
// WhatFinished for a backfill that is over.
func (n Names) Generate(shard int, key schedule.Key, what string) string {
	return n.task(shard, RoleGenerate, key, what)
}

// GenerateWake is the subject that runs the generator after a version of the definition has been written. The version is
// in the subject: a wake that comes late must not replace that of a newer version.
func (n Names) GenerateWake(shard int, key schedule.Key, version uint64) string {
	return n.task(shard, RoleGenerate, key, WhatWake+"-"+strconv.FormatUint(version, 10))
}

// GenerateGuard is the subject that the guard of a version runs the generator on. The version is in the subject: what a guard says,
// of which incarnation it was, must not be replaced by what the guard of another version says.
func (n Names) GenerateGuard(shard int, key schedule.Key, version uint64) string {
	return n.task(shard, RoleGenerate, key, WhatGuard+"-"+strconv.FormatUint(version, 10))
}

// InvokeWake is the subject that makes the invoker look at one schedule.
func (n Names) InvokeWake(shard int, key schedule.Key) string {
	return n.task(shard, RoleInvoke, key, WhatWake)
}

// InvokeDeleted is the subject that makes the invoker forget a schedule that is gone.
func (n Names) InvokeDeleted(shard int, key schedule.Key) string {
	return n.task(shard, RoleInvoke, key, WhatDeleted)
}

// InvokeEnqueue is the subject of one hand-off to the invoker. The source and the end of the range make it unique, so
// that no hand-off replaces another, and a repeat replaces itself.
func (n Names) InvokeEnqueue(shard int, key schedule.Key, source string, span wire.Span) string {
	return n.task(shard, RoleInvoke, key, whatHandOff(source, span))
}

func whatHandOff(source string, span wire.Span) string {
	return source + "-" + strconv.FormatInt(span.From.UnixNano(), 36) + "-" + strconv.FormatInt(span.To.UnixNano(), 36)
}

// whatEnd begins the last token of a request to end a run. No source of hand-offs is called so.
const whatEnd = "end-"

// InvokeEnd is the subject of a request to end one run: a repeat replaces itself.
func (n Names) InvokeEnd(shard int, key schedule.Key, kind schedule.ControlKind, requestID string) string {
	return n.task(shard, RoleInvoke, key, whatEnd+string(kind)+"-"+requestID)
}

// InvokerTasks matches the wakes and hand-offs for the invokers of a shard.
func (n Names) InvokerTasks(shard int) string {
	return n.tasksOf(strconv.Itoa(shard), RoleInvoke)
}

// Timeout is the subject of the completion of a run of which no worker has reported in time: its TimeoutTimer delivers it there.
func (n Names) Timeout(shard int, key schedule.Key, requestID string) string {
	return n.task(shard, RoleTimeout, key, requestID)
}

// Timeouts matches the timeouts of the runs of a shard.
func (n Names) Timeouts(shard int) string {
	return n.tasksOf(strconv.Itoa(shard), RoleTimeout)
}

// Backfill is the subject that runs one backfiller.
func (n Names) Backfill(shard int, key schedule.Key, id string) string {
	return n.task(shard, RoleBackfill, key, id)
}

func (n Names) task(shard int, role Role, key schedule.Key, what string) string {
	return n.prefix + ".task." + strconv.Itoa(shard) + "." + string(role) + "." + key.Namespace + "." + Escape(key.ID) + "." + what
}

// Timer subjects: delayed messages wait there for their time.

// DueTimer is the generator's one timer.
func (n Names) DueTimer(shard int, key schedule.Key) string { return n.timer(shard, "due", key) }

// GuardTimer is the delayed wake-up armed before a version of a definition is written. The version is in the subject: the
// wake that follows one write removes its own guard and no other's.
func (n Names) GuardTimer(shard int, key schedule.Key, version uint64) string {
	return n.timer(shard, "guard", key) + "." + strconv.FormatUint(version, 10)
}

// GuardTimers matches the guards of all versions.
func (n Names) GuardTimers(shard int, key schedule.Key) string {
	return n.timer(shard, "guard", key) + ".*"
}

// RetryTimer is the invoker's timer for the next attempt to start.
func (n Names) RetryTimer(shard int, key schedule.Key) string { return n.timer(shard, "retry", key) }

// BackfillTimer is the timer of one backfiller.
func (n Names) BackfillTimer(shard int, key schedule.Key, id string) string {
	return n.timer(shard, "backfill", key) + "." + id
}

// TimeoutTimer is the timer of one run.
func (n Names) TimeoutTimer(shard int, key schedule.Key, requestID string) string {
	return n.timer(shard, "timeout", key) + "." + requestID
}

// TimeoutTimers matches the timers of the runs of a shard.
func (n Names) TimeoutTimers(shard int) string {
	return n.prefix + ".timer." + strconv.Itoa(shard) + ".timeout.>"
}

// PulseTimer is the timer of one task stream that fires again and again, and belongs to no schedule.
func (n Names) PulseTimer(shard int) string {
	return n.prefix + ".timer." + strconv.Itoa(shard) + ".pulse"
}

// Pulse is the subject of what PulseTimer delivers. Nobody takes it: the time of the one message there is says when the timers
// of the stream have worked last.
func (n Names) Pulse(shard int) string { return n.prefix + ".timer." + strconv.Itoa(shard) + ".pulsed" }

func (n Names) timer(shard int, kind string, key schedule.Key) string {
	return n.prefix + ".timer." + strconv.Itoa(shard) + "." + kind + "." + key.Namespace + "." + Escape(key.ID)
}

// Timer is what the subject of a timer says.
type Timer struct {
	// Kind is "due", "guard", "retry", "backfill" or "timeout".
	Kind string
	Key  schedule.Key
	// What is the version that a guard guards, the ID of a backfill, or that of the request of a run; empty for others.
	What string
}

// ParseTimer takes apart the subject of a timer of a schedule.
func (n Names) ParseTimer(subject string) (Timer, error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".timer.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) < 4 || len(tokens) > 5 {
		return Timer{}, fmt.Errorf("subjects: %q is not the subject of a timer of a schedule", subject)
	}
	id, err := Unescape(tokens[3])
	if err != nil {
		return Timer{}, err
	}
	timer := Timer{Kind: tokens[1], Key: schedule.Key{Namespace: tokens[2], ID: id}}
	if len(tokens) == 5 {
		timer.What = tokens[4]
	}
	return timer, nil
}

// KindOfTimer returns the kind of timer that a subject of any installation and schedule is for, as [Timer] has it; empty if it is none.
func KindOfTimer(subject string) string {
	_, rest, _ := strings.Cut(subject, ".timer.")
	_, rest, _ = strings.Cut(rest, ".")
	kind, _, _ := strings.Cut(rest, ".")
	return kind
}

// Callbacks matches the completions that workers report of the runs of a shard.
func (n Names) Callbacks(shard int) string {
	return n.tasksOf(strconv.Itoa(shard), RoleCallback)
}

// Callback is the subject on which a worker reports the completion of one run. The task queue is there for permissions.
func (n Names) Callback(shard int, key schedule.Key, queue, requestID string) string {
	return n.prefix + ".callback." + strconv.Itoa(shard) + "." + key.Namespace + "." + Escape(queue) + "." +
		Escape(key.ID) + "." + requestID
}

// Action is the subject of one start request: one at a time for a workflow ID on a task queue.
func (n Names) Action(namespace, queue, workflowID string) string {
	return n.prefix + ".action." + namespace + "." + Escape(queue) + "." + Escape(workflowID)
}

// ParseAction takes apart a subject made by Action.
func (n Names) ParseAction(subject string) (namespace, queue, workflowID string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".action.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 3 || tokens[0] == "" {
		return "", "", "", fmt.Errorf("subjects: %q is not the subject of a start request", subject)
	}
	if queue, err = Unescape(tokens[1]); err == nil {
		workflowID, err = Unescape(tokens[2])
	}
	if err != nil {
		return "", "", "", err
	}
	return tokens[0], queue, workflowID, nil
}

// QueueOfAction returns the task queue that a subject made by [Names.Action] or [Names.ActionQueue] is for.
func (n Names) QueueOfAction(subject string) (namespace, queue string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".action.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 3 {
		return "", "", fmt.Errorf("subjects: %q is not of a task queue", subject)
	}
	queue, err = Unescape(tokens[1])
	return tokens[0], queue, err
}

// QueueAcks match the acknowledgements of the workers of a task queue. Servers name the domain and the account in front, or do not.
func (n Names) QueueAcks(namespace, queue string) []string {
	consumer := n.ActionStream() + "." + WorkerConsumerName(namespace, queue) + ".>"
	return []string{"$JS.ACK." + consumer, "$JS.ACK.*.*." + consumer}
}

// ActionAnyQueue matches the start requests of a workflow ID on all task queues.
func (n Names) ActionAnyQueue(namespace, workflowID string) string {
	return n.prefix + ".action." + namespace + ".*." + Escape(workflowID)
}

// Actions matches all runs of a namespace that are queued or in progress; namespace "*" matches those of every namespace.
func (n Names) Actions(namespace string) string { return n.prefix + ".action." + namespace + ".>" }

// ActionQueue matches the start requests of one task queue.
func (n Names) ActionQueue(namespace, queue string) string {
	return n.prefix + ".action." + namespace + "." + Escape(queue) + ".>"
}

// Anchor subjects. An anchor is the one message of a work queue that nobody takes: NATS gives a stream a new file, with its
// buffer, whenever the last one has no message left.

// ActionAnchor is the subject of the anchor of the action stream.
func (n Names) ActionAnchor() string { return n.prefix + ".anchor.action" }

// TaskAnchor is the subject of the anchor of one task stream.
func (n Names) TaskAnchor(shard int) string { return n.taskAnchor(strconv.Itoa(shard)) }

func (n Names) taskAnchor(shard string) string { return n.prefix + ".anchor.task." + shard }

// CallbackAnchor is the subject of the anchor of one callback stream.
func (n Names) CallbackAnchor(shard int) string { return n.callbackAnchor(strconv.Itoa(shard)) }

func (n Names) callbackAnchor(shard string) string { return n.prefix + ".anchor.callback." + shard }

// Anchors matches all anchors.
func (n Names) Anchors() string { return n.prefix + ".anchor.>" }

// AnchorOf returns the subject of the anchor of the stream that a task, a timer, a completion or a start request is stored in, and
// whether the subject is that of one of these.
func AnchorOf(subject string) (anchor string, ok bool) {
	tokens := strings.SplitN(subject, ".", 4)
	if len(tokens) < 4 {
		return "", false
	}
	n := Names{prefix: tokens[0]}
	switch tokens[1] {
	case "action":
		return n.ActionAnchor(), true
	case "task", "timer":
		return n.taskAnchor(tokens[2]), true
	case "callback":
		return n.callbackAnchor(tokens[2]), true
	}
	return "", false
}

// IsCallback reports whether a subject is that of the completion of a run, under whatever prefix.
func IsCallback(subject string) bool {
	_, rest, _ := strings.Cut(subject, ".")
	return strings.HasPrefix(rest, "callback.")
}

// Control is the subject of cancels and terminates of one run.
func (n Names) Control(namespace, queue, workflowID string) string {
	return n.prefix + ".control." + namespace + "." + Escape(queue) + "." + Escape(workflowID)
}

// ControlQueue matches the controls of one task queue.
func (n Names) ControlQueue(namespace, queue string) string {
	return n.prefix + ".control." + namespace + "." + Escape(queue) + ".>"
}

// Progress is the subject of what one run has recorded about how far it has come. It is in the control stream.
func (n Names) Progress(namespace, queue, workflowID string) string {
	return n.prefix + ".progress." + namespace + "." + Escape(queue) + "." + Escape(workflowID)
}

// Alive is where it is asked whether a worker has a run.
func (n Names) Alive(namespace, queue, runID string) string {
	return n.prefix + ".alive." + namespace + "." + Escape(queue) + "." + runID
}

// AliveQueue matches the questions about the runs of one task queue.
func (n Names) AliveQueue(namespace, queue string) string {
	return n.prefix + ".alive." + namespace + "." + Escape(queue) + ".*"
}

// ActionTypes is where it is asked which action types the workers of a task queue have.
func (n Names) ActionTypes(namespace, queue string) string {
	return n.prefix + ".types." + namespace + "." + Escape(queue)
}

// WorkerConsumerRequest is where a frontend is asked to make the consumer of a task queue, for workers that may not do so themselves.
func (n Names) WorkerConsumerRequest(namespace, queue string) string {
	return n.prefix + ".consumer." + namespace + "." + Escape(queue)
}

// WorkerConsumerRequests matches such requests for all task queues.
func (n Names) WorkerConsumerRequests() string { return n.prefix + ".consumer.*.*" }

// ParseWorkerConsumerRequest returns which task queue such a request is about. An error says that it is about none.
func (n Names) ParseWorkerConsumerRequest(subject string) (namespace, queue string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".consumer.")
	namespace, token, found := strings.Cut(rest, ".")
	if !ok || !found {
		return "", "", fmt.Errorf("subjects: %q asks for no consumer", subject)
	}
	if queue, err = Unescape(token); err != nil {
		return "", "", err
	}
	return namespace, queue, cmp.Or(schedule.ValidateNamespace(namespace), schedule.ValidateID("taskQueue", queue))
}

// Reports matches what workers report by a frontend: completions, progress and dead letters.
func (n Names) Reports() string { return n.prefix + ".report.>" }

// ParseReport returns where something is stored that is reported by a frontend: <prefix>.report.callback.… is stored on
// <prefix>.callback.…, and so on. An error says that the subject is of nothing that workers report.
func (n Names) ParseReport(subject string) (stored string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".report.")
	for _, begin := range []string{"callback.", "progress.", "dlq." + deadLetterWorker + "."} {
		if ok && strings.HasPrefix(rest, begin) {
			return n.prefix + "." + rest, nil
		}
	}
	return "", fmt.Errorf("subjects: %q is no report of a worker", subject)
}

// WorkerAcks matches what workers of all task queues acknowledge by a frontend: where JetStream would take it, behind the name of the
// consumer.
func (n Names) WorkerAcks() string { return n.prefix + ".ack.*.*.*.*.*.*.*" }

// WorkerAck is an acknowledgement of a worker that comes by a frontend.
type WorkerAck struct {
	// Filter begins the subjects of the messages that the worker may acknowledge.
	Filter string
	// Sequence is that of the message in the stream of actions.
	Sequence uint64
	// Subject is where JetStream takes the acknowledgement.
	Subject string
}

// ParseWorkerAck takes apart a subject that WorkerAcks matches: <prefix>.ack.<namespace>.<queue>, and what JetStream has behind the
// name of the consumer. That begins with the number of the delivery and the sequence.
func (n Names) ParseWorkerAck(subject string) (WorkerAck, error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".ack.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 7 {
		return WorkerAck{}, fmt.Errorf("subjects: %q is no acknowledgement", subject)
	}
	namespace, place := tokens[0], tokens[2:]
	queue, err := Unescape(tokens[1])
	if err != nil {
		return WorkerAck{}, err
	}
	for _, number := range place {
		if _, err := strconv.ParseUint(number, 10, 63); err != nil {
			return WorkerAck{}, fmt.Errorf("subjects: %q is no acknowledgement: %w", subject, err)
		}
	}
	sequence, _ := strconv.ParseUint(place[1], 10, 63)
	return WorkerAck{
		Filter: strings.TrimSuffix(n.ActionQueue(namespace, queue), ">"), Sequence: sequence,
		Subject: "$JS.ACK." + n.ActionStream() + "." + WorkerConsumerName(namespace, queue) + "." + strings.Join(place, "."),
	}, cmp.Or(schedule.ValidateNamespace(namespace), schedule.ValidateID("taskQueue", queue))
}

// Event is the subject of what happened to one schedule.
func (n Names) Event(key schedule.Key, kind schedule.EventKind) string {
	return n.prefix + ".event." + key.Namespace + "." + Escape(key.ID) + "." + string(kind)
}

// Events matches the events of one schedule; an empty ID matches all of the namespace, an empty Key all there are.
func (n Names) Events(key schedule.Key) string {
	switch {
	case key.Namespace == "":
		return n.prefix + ".event.>"
	case key.ID == "":
		return n.prefix + ".event." + key.Namespace + ".>"
	}
	return n.prefix + ".event." + key.Namespace + "." + Escape(key.ID) + ".>"
}

// DeadLetter is the subject of messages a pool could not process.
func (n Names) DeadLetter(pool string) string { return n.prefix + ".dlq." + pool }

// What stands in the place of a pool where workers could not process a message, or the invoker could not process theirs.
const (
	deadLetterWorker     = "worker"
	deadLetterCompletion = "completion"
)

// WorkerDeadLetter is the subject of messages that the workers of a task queue could not process. Permissions can fence it.
func (n Names) WorkerDeadLetter(namespace, queue string) string {
	return n.DeadLetter(deadLetterWorker) + "." + namespace + "." + Escape(queue)
}

// SharedWorkerDeadLetter is where the workers of earlier releases put what they could not process, whatever their task queue.
func (n Names) SharedWorkerDeadLetter() string { return n.DeadLetter(deadLetterWorker) }

// CompletionDeadLetter is the subject for a message on a callback subject that the invoker could not process; size is that of its headers
// and its body, in bytes. Workers send what they like there, so it says whose it is, as far as permissions fence that: even where the rest of the
// callback subject is none. It is false for other subjects. The subject has one of a few parts of the task queue's letters at its end.
func (n Names) CompletionDeadLetter(callback string, size int) (string, bool) {
	rest, ok := strings.CutPrefix(callback, n.prefix+".callback.")
	tokens := strings.SplitN(rest, ".", 4)
	if !ok || len(tokens) < 4 || tokens[1] == "" || tokens[2] == "" {
		return "", false
	}
	part := "large"
	if size <= smallLetterBytes {
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(callback))
		part = strconv.FormatUint(uint64(hash.Sum32()%letterParts), 10)
	}
	return n.DeadLetter(deadLetterCompletion) + "." + tokens[1] + "." + tokens[2] + "." + part, true
}

// LetterOwner is who has written a dead letter, as far as its subject proves it.
type LetterOwner struct {
	// Pool is the pool, or "worker".
	Pool string
	// Namespace and TaskQueue are those of the worker, or of whose completion it is; else empty, as for a worker of an earlier release.
	Namespace, TaskQueue string
}

// IsWorker reports whether a worker has written the letter.
func (o LetterOwner) IsWorker() bool { return o.Pool == deadLetterWorker }

// ParseDeadLetter takes apart a subject made by DeadLetter, WorkerDeadLetter, SharedWorkerDeadLetter or CompletionDeadLetter.
func (n Names) ParseDeadLetter(subject string) (LetterOwner, error) {
	rest, ok := strings.CutPrefix(subject, n.DeadLetter(""))
	tokens := strings.Split(rest, ".")
	owner := LetterOwner{Pool: tokens[0]}
	switch {
	case ok && len(tokens) == 1 && tokens[0] != "":
		return owner, nil
	case ok && len(tokens) == 3 && owner.IsWorker() && tokens[1] != "":
		queue, err := Unescape(tokens[2])
		owner.Namespace, owner.TaskQueue = tokens[1], queue
		return owner, err
	case ok && len(tokens) == 4 && tokens[0] == deadLetterCompletion && tokens[1] != "":
		queue, err := Unescape(tokens[2])
		return LetterOwner{Pool: PoolInvoker, Namespace: tokens[1], TaskQueue: queue}, err
	}
	return LetterOwner{}, fmt.Errorf("subjects: %q is not the subject of a dead letter", subject)
}

// The things that the API is about; each has verbs of its own.
const (
	ThingSchedule  = "schedule"
	ThingNamespace = "namespace"
	ThingCalendar  = "calendar"
	ThingBulk      = "bulk"
)

// NoNamespace stands in an API subject where a request is about no namespace, as that for all of them. No namespace has
// this name.
const NoNamespace = "_"

// API is the subject of one request to the frontend about a thing, such as "create" about [ThingSchedule]; namespace "*"
// matches every namespace.
func (n Names) API(namespace, thing, verb string) string {
	return n.prefix + ".api." + namespace + "." + thing + "." + verb
}

// IsOwn reports whether a subject is one of the installation, or of the NATS server.
func (n Names) IsOwn(subject string) bool {
	return strings.HasPrefix(subject, n.prefix+".") || strings.HasPrefix(subject, "$")
}

// NamespaceOfAPI returns the namespace token of an API subject.
func (n Names) NamespaceOfAPI(subject string) (string, error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".api.")
	namespace, _, found := strings.Cut(rest, ".")
	if !ok || !found {
		return "", fmt.Errorf("subjects: %q is not an API subject", subject)
	}
	return namespace, nil
}

// Task is what a task or callback subject says.
type Task struct {
	Shard int
	Key   schedule.Key
	// Role is what the task is for. It may be one that this release does not know.
	Role Role
	// What is the last token: what to wake for, which hand-off, backfill or request.
	What string
	// Queue is the task queue of a callback, which permissions can fence.
	Queue string
}

// IsHandOff reports whether a task has the form of a hand-off to the invoker, as InvokeEnqueue makes it. Words may have that form too:
// IsHandOffOf tells, where the body is known.
func (t Task) IsHandOff() bool {
	if t.Role != RoleInvoke || t.IsEnd() {
		return false
	}
	rest, ok := cutTime(t.What)
	if ok {
		rest, ok = cutTime(rest)
	}
	return ok && rest != ""
}

// IsHandOffOf reports whether InvokeEnqueue gives a task for a source and a span.
func (t Task) IsHandOffOf(source string, span wire.Span) bool {
	return t.Role == RoleInvoke && t.What == whatHandOff(source, span)
}

// cutTime returns what stands before the time at the end of a hand-off's last token, if there is a time. A time before 1970 has a minus
// sign.
func cutTime(what string) (rest string, ok bool) {
	at := strings.LastIndexByte(what, '-')
	if at < 1 {
		return "", false
	}
	if _, err := strconv.ParseUint(what[at+1:], 36, 64); err != nil {
		return "", false
	}
	return cmp.Or(strings.TrimSuffix(what[:at], "-"), what[:at]), true
}

// IsWake reports whether a task wakes the invoker.
func (t Task) IsWake() bool {
	return t.Role == RoleInvoke && (t.What == WhatWake || t.What == WhatDeleted)
}

// IsEnd reports whether a task is a request to the invoker to end a run.
func (t Task) IsEnd() bool { return t.Role == RoleInvoke && strings.HasPrefix(t.What, whatEnd) }

// IsTimeout reports whether a task is the completion of a run of which no worker has reported in time.
func (t Task) IsTimeout() bool { return t.Role == RoleTimeout }

// IsCompletion reports whether a task completes the run whose request ID is What: by the report of a worker, or the timeout in its
// place.
func (t Task) IsCompletion() bool { return t.Role == RoleCallback || t.IsTimeout() }

// ParseTask takes apart a subject made by Generate, InvokeWake, InvokeDeleted, InvokeEnqueue, InvokeEnd, Timeout, Backfill or Callback.
func (n Names) ParseTask(subject string) (Task, error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".")
	tokens := strings.Split(rest, ".")
	var ns, queue, id, what string
	var role Role
	switch {
	case !ok:
	case len(tokens) == 6 && tokens[0] == "task":
		role, ns, id, what = Role(tokens[2]), tokens[3], tokens[4], tokens[5]
	case len(tokens) == 6 && tokens[0] == "callback":
		role, ns, queue, id, what = RoleCallback, tokens[2], tokens[3], tokens[4], tokens[5]
	}
	if role == "" || ns == "" || what == "" {
		return Task{}, fmt.Errorf("subjects: %q is not a task subject", subject)
	}
	shard, err := strconv.Atoi(tokens[1])
	if err != nil || shard < 0 {
		return Task{}, fmt.Errorf("subjects: %q has no shard number", subject)
	}
	plain, err := Unescape(id)
	if err == nil && role == RoleCallback {
		queue, err = Unescape(queue)
	}
	if err != nil {
		return Task{}, err
	}
	return Task{Shard: shard, Key: schedule.Key{Namespace: ns, ID: plain}, Role: role, What: what, Queue: queue}, nil
}

// Keys of the state buckets: <namespace>.<id>.<kind>.

// The kinds of record.
const (
	KindDefinition = "definition"
	KindGenerator  = "generator"
	KindInvoker    = "invoker"
	KindResult     = "result"
	kindBackfill   = "backfill"
)

// StateKey is the KV key of one record of a schedule.
func StateKey(key schedule.Key, kind string) string {
	return key.Namespace + "." + Escape(key.ID) + "." + kind
}

// BackfillKey is the KV key of one backfill record.
func BackfillKey(key schedule.Key, id string) string { return StateKey(key, kindBackfill) + "." + id }

// BackfillKeys matches the KV keys of all backfill records of a schedule.
func BackfillKeys(key schedule.Key) string { return StateKey(key, kindBackfill) + ".*" }

// DefinitionKeys matches the KV keys of all definitions of a namespace.
func DefinitionKeys(namespace string) string { return namespace + ".*." + KindDefinition }

// ParseStateKey returns the schedule a KV key belongs to.
func ParseStateKey(stateKey string) (schedule.Key, error) {
	tokens := strings.Split(stateKey, ".")
	if len(tokens) < 3 {
		return schedule.Key{}, fmt.Errorf("subjects: %q is not a state key", stateKey)
	}
	id, err := Unescape(tokens[1])
	if err != nil {
		return schedule.Key{}, err
	}
	return schedule.Key{Namespace: tokens[0], ID: id}, nil
}
