package deadletter

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Worker is the pool of the letters that workers write.
const Worker = "worker"

// Letter is what there is to say about a dead letter, apart from its contents.
type Letter struct {
	// Number names it, Sequence is its place in the stream that it is in.
	Number   Number `json:"number"`
	Sequence uint64 `json:"sequence"`
	// Time is when it was stored.
	Time time.Time `json:"time"`
	// Pool is who gave the message up: a pool, or [Worker].
	Pool   string `json:"pool"`
	Reason string `json:"reason"`
	// Deliveries is how often the message had been delivered.
	Deliveries uint64 `json:"deliveries"`
	// Namespace and ScheduleID are empty when the message does not say which schedule it is about. Those of a letter of a worker are never
	// others than what the worker may write about.
	Namespace  string `json:"namespace,omitempty"`
	ScheduleID string `json:"scheduleId,omitempty"`
	// TaskQueue is that of the worker which has written it, or whose completion it is, in Namespace.
	TaskQueue string `json:"taskQueue,omitempty"`
	// Origin is what it says of where the message was. Foreign says that the message cannot have been there: who has written the letter has
	// nothing to do with that subject. Unproven says that all workers may have written it: it is of an earlier release.
	Origin   Origin `json:"origin"`
	Foreign  bool   `json:"foreign,omitempty"`
	Unproven bool   `json:"unproven,omitempty"`
	// Size is that of the whole body, in bytes. Cut says that the letter has only the beginning of it.
	Size int  `json:"size"`
	Cut  bool `json:"cut,omitempty"`
}

// Origin is where a message was before it became a letter. All of it is empty in a letter that does not say.
type Origin struct {
	Subject  string `json:"subject"`
	Stream   string `json:"stream"`
	Sequence uint64 `json:"sequence"`
}

// Message is a letter with its contents.
type Message struct {
	Letter
	// Headers are those of the message, without the ones that mean something to NATS.
	Headers map[string][]string `json:"headers,omitempty"`
	Body    Body                `json:"body"`
	// Data is the body as it is.
	Data []byte `json:"-"`

	about meaning
}

// Filter chooses letters. The zero Filter chooses all.
type Filter struct {
	// Pool is who gave the message up.
	Pool string
	// Namespace and ScheduleID choose what is known to be about one namespace or schedule.
	Namespace, ScheduleID string
	// Limit chooses the newest of those, at most so many; 0 means all.
	Limit int
}

func (f *Filter) matches(l *Letter) bool {
	return (f.Pool == "" || f.Pool == l.Pool) && (f.Namespace == "" || f.Namespace == l.Namespace) &&
		(f.ScheduleID == "" || f.ScheduleID == l.ScheduleID)
}

// newest drops what is beyond the limit. The letters are in the order of their time.
func (f *Filter) newest(letters []Letter) []Letter {
	if f.Limit > 0 && len(letters) > f.Limit {
		return letters[len(letters)-f.Limit:]
	}
	return letters
}

// stored is a message of one of the dead letter streams, however it was read.
type stored struct {
	worker   bool // of the stream of the workers
	sequence uint64
	time     time.Time
	subject  string
	header   nats.Header
	data     []byte
}

// letter reads what a stored letter says about itself. What it does not say stays empty: workers in any language write
// letters.
func (s *stored) letter(names subjects.Names) Letter {
	l, _ := s.read(names)
	return l
}

// read reads a letter, and what its message means: nothing, where the message cannot have been where the letter says.
func (s *stored) read(names subjects.Names) (Letter, meaning) {
	owner, err := names.ParseDeadLetter(s.subject)
	if err != nil {
		owner = subjects.LetterOwner{Pool: strings.TrimPrefix(s.subject, names.DeadLetter(""))} // of nobody here
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
	if owner.Namespace != "" {
		l.Namespace = owner.Namespace
	}
	return l, about
}

// isForeign reports whether whoever has written a letter has nothing to do with a subject. A subject that says nothing is not foreign.
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
		return err == nil
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
	n, _ := strconv.ParseUint(text, 10, 63) // what is no number says nothing
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
)

// meaning is what subject and body say about a message. The parts that they do not say are empty.
type meaning struct {
	kind      kind
	key       schedule.Key
	stream    string // where such a message belongs
	former    string // where it belonged in an earlier release, if that was another stream
	requestID string
}

func meaningOf(names subjects.Names, subject string, body []byte) meaning {
	task, err := names.ParseTask(subject)
	if err != nil {
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
	}
	return m
}

// meaningOfRequest believes a start request what it says if it is on the subject where it belongs.
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
	// A worker answers where the request says. Without an answer it is of no use, and becomes a letter again.
	if request.Callback != "" {
		task, err := names.ParseTask(request.Callback)
		if err != nil || task.Role != subjects.RoleCallback || task.Key != m.key || task.Queue != request.TaskQueue || task.What != m.requestID {
			return meaning{}
		}
	}
	return m
}
