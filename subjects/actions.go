package subjects

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Callbacks matches the completions that workers report for the runs of a shard.
func (n Names) Callbacks(shard int) string {
	return n.tasksOf(strconv.Itoa(shard), RoleCallback)
}

// Callback is the subject on which a worker reports the completion of one run. It contains the task queue for the sake of
// permissions.
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

// QueueOfAction returns the task queue of a subject made by [Names.Action] or [Names.ActionQueue].
func (n Names) QueueOfAction(subject string) (namespace, queue string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".action.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 3 {
		return "", "", fmt.Errorf("subjects: %q is not of a task queue", subject)
	}
	queue, err = Unescape(tokens[1])
	return tokens[0], queue, err
}

// QueueAcks match the acknowledgements of the workers of a task queue. Some servers put the domain and the account in front,
// others do not.
func (n Names) QueueAcks(namespace, queue string) []string {
	consumer := n.ActionStream() + "." + WorkerConsumerName(namespace, queue) + ".>"
	return []string{"$JS.ACK." + consumer, "$JS.ACK.*.*." + consumer}
}

// ActionAnyQueue matches the start requests of a workflow ID on all task queues.
func (n Names) ActionAnyQueue(namespace, workflowID string) string {
	return n.prefix + ".action." + namespace + ".*." + Escape(workflowID)
}

// Actions matches all runs of a namespace that are queued or in progress; namespace "*" matches every namespace.
func (n Names) Actions(namespace string) string { return n.prefix + ".action." + namespace + ".>" }

// ActionQueue matches the start requests of one task queue.
func (n Names) ActionQueue(namespace, queue string) string {
	return n.prefix + ".action." + namespace + "." + Escape(queue) + ".>"
}

// Anchor subjects. An anchor is the one message of a work queue that nobody takes. Without it NATS would give the stream a new
// file, with its buffer, each time its last message is gone.

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

// IsAnchor reports whether a subject is that of an anchor.
func (n Names) IsAnchor(subject string) bool { return strings.HasPrefix(subject, n.prefix+".anchor.") }

// AnchorOf returns the subject of the anchor of the stream that stores a task, a timer, a completion, a start request or a
// task of the backlog. ok is false for any other subject.
func AnchorOf(subject string) (anchor string, ok bool) {
	tokens := strings.SplitN(subject, ".", 4)
	if len(tokens) < 4 {
		return "", false
	}
	n := Names{prefix: tokens[0]}
	switch tokens[1] {
	case "action":
		return n.ActionAnchor(), true
	case "backlog":
		return n.BacklogAnchor(), true
	case "task", "timer":
		return n.taskAnchor(tokens[2]), true
	case "callback":
		return n.callbackAnchor(tokens[2]), true
	}
	return "", false
}

// IsCallback reports whether a subject is for the completion of a run, under any prefix.
func IsCallback(subject string) bool {
	_, rest, _ := strings.Cut(subject, ".")
	return strings.HasPrefix(rest, "callback.")
}

// Control is the subject of the cancels and terminates of one run.
func (n Names) Control(namespace, queue, workflowID string) string {
	return n.prefix + ".control." + namespace + "." + Escape(queue) + "." + Escape(workflowID)
}

// ControlQueue matches the controls of one task queue.
func (n Names) ControlQueue(namespace, queue string) string {
	return n.prefix + ".control." + namespace + "." + Escape(queue) + ".>"
}

// Progress is the subject of the progress that one run has recorded. The progress stream stores it.
func (n Names) Progress(namespace, queue, workflowID string) string {
	return n.prefix + ".progress." + namespace + "." + Escape(queue) + "." + Escape(workflowID)
}

// Alive is the subject for asking whether a worker has a run.
func (n Names) Alive(namespace, queue, runID string) string {
	return n.prefix + ".alive." + namespace + "." + Escape(queue) + "." + runID
}

// AliveQueue matches the questions about the runs of one task queue.
func (n Names) AliveQueue(namespace, queue string) string {
	return n.prefix + ".alive." + namespace + "." + Escape(queue) + ".*"
}

// ActionTypes is the subject for asking which action types the workers of a task queue have.
func (n Names) ActionTypes(namespace, queue string) string {
	return n.prefix + ".types." + namespace + "." + Escape(queue)
}

// WorkerConsumerRequest is the subject for asking a frontend to make the consumer of a task queue, for workers that may not do so
// themselves.
func (n Names) WorkerConsumerRequest(namespace, queue string) string {
	return n.prefix + ".consumer." + namespace + "." + Escape(queue)
}

// WorkerConsumerRequests matches such requests for all task queues.
func (n Names) WorkerConsumerRequests() string { return n.prefix + ".consumer.*.*" }

// ParseWorkerConsumerRequest returns the task queue of such a request. An error means that the subject is not such a request.
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

// Reports matches what workers report through a frontend: completions, progress and dead letters.
func (n Names) Reports() string { return n.prefix + ".report.>" }

// ParseReport returns the subject on which such a report is stored: <prefix>.report.callback.… is stored on <prefix>.callback.…,
// and so on. An error means that workers do not report on this subject.
func (n Names) ParseReport(subject string) (stored string, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".report.")
	for _, begin := range []string{"callback.", "progress.", "dlq." + deadLetterWorker + "."} {
		if ok && strings.HasPrefix(rest, begin) {
			return n.prefix + "." + rest, nil
		}
	}
	return "", fmt.Errorf("subjects: %q is no report of a worker", subject)
}

// WorkerAcks matches the acknowledgements that workers of all task queues send through a frontend. They end like the JetStream
// subject of the acknowledgement after the name of the consumer.
func (n Names) WorkerAcks() string { return n.prefix + ".ack.*.*.*.*.*.*.*" }

// WorkerAck is an acknowledgement that a worker sends through a frontend.
type WorkerAck struct {
	// Filter is the beginning of the subjects whose messages the worker may acknowledge.
	Filter string
	// Sequence is the sequence of the message in the action stream.
	Sequence uint64
	// Subject is the subject on which JetStream accepts the acknowledgement.
	Subject string
}

// ParseWorkerAck takes apart a subject that WorkerAcks matches: <prefix>.ack.<namespace>.<queue>, followed by what JetStream has
// after the name of the consumer. That begins with the number of the delivery and the sequence.
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
