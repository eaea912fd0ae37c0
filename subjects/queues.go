package subjects

import (
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
)

// QueueKind says what the tasks of a queue are. It is a token of the queue's subjects.
type QueueKind string

// The kinds of queues.
const (
	QueueWorkflow QueueKind = "workflow"
	QueueActivity QueueKind = "activity"
)

// Queue is a queue of tasks of workflow executions, for which workers poll. A sticky queue is a workflow queue.
type Queue struct {
	Namespace string    `json:"namespace,omitempty"`
	Kind      QueueKind `json:"kind,omitempty"`
	Name      string    `json:"name,omitempty"`
}

// maxQueueName bounds the name of a queue, in bytes: three times as many, escaped, must fit into a subject.
const maxQueueName = 1000

// Validate checks that the queue can have subjects: a namespace, a kind that there is, and a name of 1 to 1,000 bytes.
func (q Queue) Validate() error {
	if err := schedule.ValidateNamespace(q.Namespace); err != nil {
		return err
	}
	if q.Kind != QueueWorkflow && q.Kind != QueueActivity {
		return schedule.Invalid("kind", "there is no kind %q of queues", q.Kind)
	}
	if q.Name == "" || len(q.Name) > maxQueueName {
		return schedule.Invalid("taskQueue", "has %d bytes: use 1 to %d", len(q.Name), maxQueueName)
	}
	return nil
}

func (q Queue) tokens() string { return q.Namespace + "." + string(q.Kind) + "." + Escape(q.Name) }

// The subjects of a queue. Only Carillon's own processes use them.

// Poll is the subject of an offer to one of the gateways where polls wait on a queue.
func (n Names) Poll(q Queue) string { return n.prefix + ".poll." + q.tokens() }

// StandingOffer is the subject of an offer to all gateways that have, or have just had, a poll on a queue.
func (n Names) StandingOffer(q Queue) string { return n.prefix + ".standing-offer." + q.tokens() }

// PollInbox is what the subjects begin with on which the polls of one gateway wait for their tasks. gateway is one token, different for
// each gateway. It is not an inbox of NATS: history hands a task over without having been asked by the gateway, and permissions may
// forbid it to publish on the inbox of another process.
func (n Names) PollInbox(gateway string) string { return n.pollInboxes() + gateway + "." }

// IsPollInbox reports whether a subject begins like those of polls.
func (n Names) IsPollInbox(subject string) bool { return strings.HasPrefix(subject, n.pollInboxes()) }

func (n Names) pollInboxes() string { return n.prefix + ".poll-inbox." }

// Pollers is the subject for asking who polls a queue.
func (n Names) Pollers(q Queue) string { return n.prefix + ".pollers." + q.tokens() }

// AllPollers matches such questions about all queues.
func (n Names) AllPollers() string { return n.prefix + ".pollers.*.*.*" }

// TaskRates is the subject for asking how fast the tasks of a queue come and go.
func (n Names) TaskRates(q Queue) string { return n.prefix + ".task-rates." + q.tokens() }

// AllTaskRates matches such questions about all queues.
func (n Names) AllTaskRates() string { return n.prefix + ".task-rates.*.*.*" }

// WorkerBeats is the subject on which a gateway tells the others what a worker has said about itself. Nothing on it is stored.
func (n Names) WorkerBeats() string { return n.prefix + ".worker-beats" }

// WorkerRoster is the subject on which a gateway that has just begun asks another one to tell of all workers that it knows.
func (n Names) WorkerRoster() string { return n.prefix + ".worker-roster" }

// WorkerStops is the subject on which a gateway tells the others that a worker stops, whose polls are to end.
func (n Names) WorkerStops() string { return n.prefix + ".worker-stops" }

// Backlog is the subject on which the tasks of a queue are stored that no poll waited for, and that have the usual priority.
func (n Names) Backlog(q Queue) string { return n.prefix + ".backlog." + q.tokens() }

// Backlogs matches the tasks of all queues.
func (n Names) Backlogs() string { return n.prefix + ".backlog.>" }

// BacklogsOf matches the tasks of all queues of a namespace.
func (n Names) BacklogsOf(namespace string) string { return n.prefix + ".backlog." + namespace + ".>" }

// BacklogHint is the subject of the hint that polls wait on a queue, or tasks in its backlog.
func (n Names) BacklogHint(q Queue) string { return n.prefix + ".backlog-hint." + q.tokens() }

// BacklogHints matches the hints about all queues.
func (n Names) BacklogHints() string { return n.prefix + ".backlog-hint.*.*.*" }

// ParseQueue returns the queue of a subject made by [Names.Poll], [Names.StandingOffer], [Names.Pollers], [Names.TaskRates],
// [Names.Backlog] or [Names.BacklogHint]. An error means that the subject is none of these.
func (n Names) ParseQueue(subject string) (Queue, error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 4 {
		return Queue{}, fmt.Errorf("subjects: %q is not of a queue", subject)
	}
	switch tokens[0] {
	case "poll", "standing-offer", "pollers", "task-rates", "backlog", "backlog-hint":
	default:
		return Queue{}, fmt.Errorf("subjects: %q is not of a queue", subject)
	}
	name, err := Unescape(tokens[3])
	if err != nil {
		return Queue{}, err
	}
	q := Queue{Namespace: tokens[1], Kind: QueueKind(tokens[2]), Name: name}
	return q, q.Validate()
}

const (
	// backlogBytes is how many bytes of tasks may wait in all queues together, unless an operator has chosen otherwise or the server
	// has less room: some millions of tasks.
	backlogBytes = 1 << 30
	// maxBacklog is how many tasks may wait in one queue, so that it leaves room for the others.
	maxBacklog = 1_000_000
	// maxBacklogTaskBytes bounds the headers and the body of one task, which only names an execution and an event.
	maxBacklogTaskBytes = 16 << 10
	// backlogAckWait is how long a process may be silent about a task of the backlog before another process gets it.
	backlogAckWait = 10 * time.Second
	// backlogIdle is how long nobody may ask for the tasks of a queue before its consumer is removed. The tasks stay.
	backlogIdle = 10 * time.Minute
)

// BacklogStream holds the tasks of workflow executions that no poll waited for.
func (n Names) BacklogStream() string { return n.upper + "_BACKLOG" }

// BacklogAnchor is the subject of the anchor of the backlog stream.
func (n Names) BacklogAnchor() string { return n.prefix + ".anchor.backlog" }

// backlogConfig refuses what is too much: whoever stores a task still owes it, and tries again.
func (n Names) backlogConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.BacklogStream(), Description: "Carillon: tasks of workflow executions that wait for a worker",
		Subjects: []string{n.Backlogs(), n.BacklogAnchor()}, Retention: jetstream.WorkQueuePolicy,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: PlainWindow, AllowDirect: true,
		MaxBytes: backlogBytes, MaxMsgSize: maxBacklogTaskBytes, Discard: jetstream.DiscardNew,
		MaxMsgsPerSubject: maxBacklog, DiscardNewPerSubject: true,
		AllowRollup: true, // an anchor replaces the previous one
		AllowMsgTTL: true, // a task that has timed out is of no use
	}
}

// BacklogConsumer is the consumer that all processes share which take tasks of one queue and the usual priority from the backlog. It is made when it is
// needed, and NATS removes it when nobody has asked for a while.
func (n Names) BacklogConsumer(q Queue) jetstream.ConsumerConfig {
	return jetstream.ConsumerConfig{
		Durable:       consumerName("backlog_"+q.Namespace+"_"+string(q.Kind)+"_", q.Name),
		FilterSubject: n.Backlog(q), AckPolicy: jetstream.AckExplicitPolicy, AckWait: backlogAckWait, MaxDeliver: -1,
		MaxAckPending: maxAckPending, InactiveThreshold: backlogIdle,
	}
}
