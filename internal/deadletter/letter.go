package deadletter

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/offer"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Worker is the pool of the letters that workers write.
const Worker = "worker"

// Letter is everything about a dead letter except its contents.
type Letter struct {
	// Number identifies it, Sequence is its place in its stream.
	Number   Number `json:"number"`
	Sequence uint64 `json:"sequence"`
	// Time is when it was stored.
	Time time.Time `json:"time"`
	// Pool is who gave up on the message: a pool, or [Worker].
	Pool   string `json:"pool"`
	Reason string `json:"reason"`
	// Deliveries is how often the message had been delivered.
	Deliveries uint64 `json:"deliveries"`
	// Namespace and ScheduleID are empty if the message does not say which schedule it is about. In a letter of a worker they are
	// never others than those that the worker may write about. WorkflowID is set instead if the message is about a workflow.
	Namespace  string `json:"namespace,omitempty"`
	ScheduleID string `json:"scheduleId,omitempty"`
	WorkflowID string `json:"workflowId,omitempty"`
	// TaskQueue is the queue in Namespace of the worker that wrote the letter, or whose completion it is about.
	TaskQueue string `json:"taskQueue,omitempty"`
	// Origin is where the message was, according to the letter. Foreign is set if the message cannot have been there, because the
	// writer of the letter has nothing to do with that subject. Unproven is set if any worker may have written the letter: it is
	// of an earlier release.
	Origin   Origin `json:"origin"`
	Foreign  bool   `json:"foreign,omitempty"`
	Unproven bool   `json:"unproven,omitempty"`
	// Size is the size of the whole body, in bytes. Cut is set if the letter has only its beginning.
	Size int  `json:"size"`
	Cut  bool `json:"cut,omitempty"`
}

// Origin is where a message was before it became a letter. It is empty if the letter does not say.
type Origin struct {
	Subject  string `json:"subject"`
	Stream   string `json:"stream"`
	Sequence uint64 `json:"sequence"`
}

// Message is a letter with its contents.
type Message struct {
	Letter
	// Headers are the headers of the message, without those that mean something to NATS.
	Headers map[string][]string `json:"headers,omitempty"`
	Body    Body                `json:"body"`
	// Data is the unchanged body.
	Data []byte `json:"-"`

	about meaning
}

// Filter selects letters. The zero Filter selects all.
type Filter struct {
	// Pool is who gave up on the message.
	Pool string
	// Namespace, ScheduleID and WorkflowID select the letters that are known to be about one namespace, schedule or workflow.
	Namespace, ScheduleID, WorkflowID string
	// Limit keeps only the newest of those, at most so many; 0 means all.
	Limit int
}

func (f *Filter) matches(l *Letter) bool {
	return (f.Pool == "" || f.Pool == l.Pool) && (f.Namespace == "" || f.Namespace == l.Namespace) &&
		(f.ScheduleID == "" || f.ScheduleID == l.ScheduleID) && (f.WorkflowID == "" || f.WorkflowID == l.WorkflowID)
}

// newest drops the letters beyond the limit. The letters are in the order of their time.
func (f *Filter) newest(letters []Letter) []Letter {
	if f.Limit > 0 && len(letters) > f.Limit {
		return letters[len(letters)-f.Limit:]
	}
	return letters
}

// stored is a message of one of the dead letter streams, whichever way it was read.
type stored struct {
	worker   bool // of the stream of the workers
	sequence uint64
	time     time.Time
	subject  string
	header   nats.Header
	data     []byte
}

// letter returns what a stored letter says about itself. What it does not say stays empty: workers in any language write letters.
func (s *stored) letter(names subjects.Names) Letter {
	l, _ := s.read(names)
	return l
}

// read returns a letter and the meaning of its message. The meaning is empty if the message cannot have been where the letter
// says.
func (s *stored) read(names subjects.Names) (Letter, meaning) {
	owner, err := names.ParseDeadLetter(s.subject)
	if err != nil {
		owner = subjects.LetterOwner{Pool: strings.TrimPrefix(s.subject, names.DeadLetter(""))} // it belongs to nobody here
	}
	l := Letter{
		Number: Number{s.sequence, s.worker}, Sequence: s.sequence, Time: s.time.UTC(), Pool: owner.Pool,
		Reason: oneLine(s.header.Get(HeaderReason)), Deliveries: number(s.header.Get(HeaderDeliveries)),
		Origin: originOf(s.header), Size: len(s.data), TaskQueue: owner.TaskQueue,
		Unproven: owner.IsWorker() && owner.TaskQueue == "",
	}
	if size := s.header.Get(HeaderSize); size != "" {
		l.Size, l.Cut = int(number(size)), true
	}
	about := meaningOf(names, l.Origin.Subject, s.data)
	if l.Foreign = isForeign(names, owner, l.Origin.Subject); l.Foreign {
		about = meaning{}
	}
	l.Namespace, l.ScheduleID = about.key.Namespace, about.key.ID
	if about.ofWorkflow() {
		l.ScheduleID, l.WorkflowID = "", about.key.ID
	}
	if owner.Namespace != "" {
		l.Namespace = owner.Namespace
	}
	return l, about
}

// isForeign reports whether the writer of a letter has nothing to do with a subject. An empty subject is not foreign.
func isForeign(names subjects.Names, owner subjects.LetterOwner, subject string) bool {
	if owner.IsWorker() {
		namespace, queue, _, err := names.ParseAction(subject)
		switch {
		case subject == "":
			return false
		case err != nil:
			return true
		}
		return owner.TaskQueue != "" && (namespace != owner.Namespace || queue != owner.TaskQueue)
	}
	task, err := names.ParseTask(subject)
	if err != nil {
		_, _, _, err := names.ParseAction(subject)
		return err == nil || owner.Pool != subjects.PoolHistory && meaningOfHistory(names, subject, nil).kind != kindUnknown
	}
	return task.Role.Pool() != owner.Pool || owner.TaskQueue != "" && (task.Key.Namespace != owner.Namespace || task.Queue != owner.TaskQueue)
}

func (s *stored) message(names subjects.Names) Message {
	l, about := s.read(names)
	return Message{Letter: l, Headers: ownHeaders(s.header), Data: s.data, Body: readBody(about.kind, s.data), about: about}
}

func originOf(header nats.Header) Origin {
	return Origin{
		Subject: header.Get(HeaderSubject), Stream: header.Get(HeaderStream), Sequence: number(header.Get(HeaderSequence)),
	}
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 63) // ignore a text that is no number
	return n
}

// kind is what sort of message a letter is about.
type kind string

const (
	kindUnknown    kind = ""
	kindWake       kind = "wake"
	kindEnqueue    kind = "enqueue"
	kindEnd        kind = "end"
	kindCompletion kind = "completion"
	kindRequest    kind = "request"
	// kindDue says that something may be due in a workflow execution, kindEntry is an entry of its journal, and kindTask a task that waits in
	// the backlog. Their key is that of the execution.
	kindDue   kind = "due"
	kindEntry kind = "entry"
	kindTask  kind = "task"
)

// meaning is what the subject and the body say about a message. The parts that they do not say are empty.
type meaning struct {
	kind      kind
	key       schedule.Key
	stream    string // where such a message belongs
	former    string // where it belonged in an earlier release, if that was another stream
	requestID string
}

// ofWorkflow reports whether the message is about a workflow, and not about a schedule.
func (m *meaning) ofWorkflow() bool {
	return m.kind == kindDue || m.kind == kindEntry || m.kind == kindTask
}

func meaningOf(names subjects.Names, subject string, body []byte) meaning {
	task, err := names.ParseTask(subject)
	if err != nil {
		if m := meaningOfHistory(names, subject, body); m.kind != kindUnknown {
			return m
		}
		return meaningOfRequest(names, subject, body)
	}
	m := meaning{key: task.Key, stream: names.StreamOf(task)}
	switch {
	case task.IsWake() || task.Role == subjects.RoleGenerate || task.Role == subjects.RoleBackfill:
		m.kind = kindWake
	case task.IsCompletion():
		m.kind, m.requestID = kindCompletion, task.What
		if task.Role == subjects.RoleCallback {
			m.former = names.TaskStream(task.Shard)
		}
	case task.IsHandOff():
		m.kind = kindEnqueue
	case task.IsEnd():
		m.kind = kindEnd
	case task.Role == subjects.RoleExecution:
		m.kind = kindDue
	}
	return m
}

// meaningOfHistory returns the meaning of an entry of a journal, or of a task in the backlog. What is left of an unreadable task is its namespace.
func meaningOfHistory(names subjects.Names, subject string, body []byte) meaning {
	if shard, key, err := names.ParseJournal(subject); err == nil {
		return meaning{kind: kindEntry, key: key, stream: names.JournalStream(shard)}
	}
	queue, _, err := names.ParseBacklog(subject)
	if err != nil {
		return meaning{}
	}
	m := meaning{kind: kindTask, key: schedule.Key{Namespace: queue.Namespace}, stream: names.BacklogStream()}
	if task, err := offer.ParseTask(body); err == nil && task.Namespace == queue.Namespace {
		m.key.ID = task.WorkflowID
	}
	return m
}

// meaningOfRequest returns the meaning of a start request. It believes the request only if it is on the subject where it belongs.
func meaningOfRequest(names subjects.Names, subject string, body []byte) meaning {
	var request struct {
		Namespace  string `json:"namespace"`
		ScheduleID string `json:"scheduleId"`
		WorkflowID string `json:"workflowId"`
		RequestID  string `json:"requestId"`
		TaskQueue  string `json:"taskQueue"`
		Callback   string `json:"callback"`
	}
	if json.Unmarshal(body, &request) != nil || request.RequestID == "" ||
		subject != names.Action(request.Namespace, request.TaskQueue, request.WorkflowID) {
		return meaning{}
	}
	m := meaning{
		kind: kindRequest, key: schedule.Key{Namespace: request.Namespace, ID: request.ScheduleID},
		stream: names.ActionStream(), requestID: request.RequestID,
	}
	// A worker answers on the subject that the request names. If it cannot, the request is useless and becomes a letter again.
	if request.Callback != "" {
		task, err := names.ParseTask(request.Callback)
		if err != nil || task.Role != subjects.RoleCallback || task.Key != m.key || task.Queue != request.TaskQueue || task.What != m.requestID {
			return meaning{}
		}
	}
	return m
}
