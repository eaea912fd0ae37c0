package subjects

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Workflow executions. The key of an execution is its namespace and its workflow ID, and [ShardOf] says in which shard it is.

const (
	// heartbeatBytes is how many bytes of heartbeats are kept for all activities together, unless an operator has chosen otherwise. A
	// server that cannot reserve that much keeps fewer.
	heartbeatBytes = 256 << 20
	// TransferAckWait is how long a process may be silent about an entry of a journal before another process gets it.
	TransferAckWait = 6 * time.Second
	// transferConsumer is the name of the consumer of each journal stream.
	transferConsumer = "transfer"
)

// JournalStream holds the journals of the executions of one shard. An entry stays until it is purged.
func (n Names) JournalStream(shard int) string { return n.upper + "_HISTORY_" + strconv.Itoa(shard) }

// HeaderEnds is the header of the entries of a journal with which a run ends, and of those that delete the newest run. Its value means nothing. Whoever waits for the end of a run needs to
// look at no other entry.
const HeaderEnds = "Carillon-Ends"

// Journal is the subject of the journal of one workflow ID. Each message is an entry.
func (n Names) Journal(shard int, key schedule.Key) string {
	return n.journals(shard) + key.Namespace + "." + Escape(key.ID)
}

// Journals matches the journals of a namespace in one shard.
func (n Names) Journals(shard int, namespace string) string {
	return n.journals(shard) + namespace + ".*"
}

func (n Names) journals(shard int) string { return n.prefix + ".journal." + strconv.Itoa(shard) + "." }

// ParseJournal takes apart a subject made by Journal.
func (n Names) ParseJournal(subject string) (shard int, key schedule.Key, err error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".journal.")
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 3 || tokens[1] == "" {
		return 0, schedule.Key{}, fmt.Errorf("subjects: %q is not the subject of a journal", subject)
	}
	shard, err = strconv.Atoi(tokens[0])
	if err != nil || shard < 0 {
		return 0, schedule.Key{}, fmt.Errorf("subjects: %q has no shard number", subject)
	}
	id, err := Unescape(tokens[2])
	return shard, schedule.Key{Namespace: tokens[1], ID: id}, err
}

// Transfer is the consumer through which the entries of the journals of one shard reach those who carry them out.
func (n Names) Transfer(shard int) PoolConsumer {
	return PoolConsumer{n.JournalStream(shard), jetstream.ConsumerConfig{
		Durable: transferConsumer, FilterSubjects: []string{n.journals(shard) + ">"}, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: TransferAckWait, MaxAckPending: maxAckPending, MaxDeliver: -1,
	}}
}

// HeartbeatStream holds the last heartbeat of each activity.
func (n Names) HeartbeatStream() string { return n.upper + "_HEARTBEATS" }

// Heartbeat is the subject of the heartbeats of one activity: that of the run with this ID, scheduled by this event.
func (n Names) Heartbeat(key schedule.Key, runID string, event int64) string {
	return n.prefix + ".heartbeat." + key.Namespace + "." + Escape(key.ID) + "." + Escape(runID) + "." + strconv.FormatInt(event, 10)
}

// Heartbeats matches the heartbeats of all activities of a run.
func (n Names) Heartbeats(key schedule.Key, runID string) string {
	return n.prefix + ".heartbeat." + key.Namespace + "." + Escape(key.ID) + "." + Escape(runID) + ".*"
}

// EventOfHeartbeat returns the event in a subject made by Heartbeat.
func EventOfHeartbeat(subject string) (int64, error) {
	return strconv.ParseInt(subject[strings.LastIndexByte(subject, '.')+1:], 10, 64)
}

// Execution is the subject of a request about one execution, such as "signal".
func (n Names) Execution(shard int, namespace, verb string) string {
	return n.prefix + ".execution." + strconv.Itoa(shard) + "." + namespace + "." + verb
}

// Executions matches all requests about executions.
func (n Names) Executions() string { return n.prefix + ".execution.*.*.*" }

// ExecutionAt is the subject of the same request, to one process of the pool history. The ID of the process is one token, and subject is one that
// [Names.Execution] has made.
func (n Names) ExecutionAt(process, subject string) string {
	return n.prefix + ".execution-at." + process + strings.TrimPrefix(subject, n.prefix+".execution")
}

// ExecutionsAt matches all requests to one process of the pool history.
func (n Names) ExecutionsAt(process string) string {
	return n.prefix + ".execution-at." + process + ".*.*.*"
}

// HistoryProcesses is the subject on which each process of the pool history tells its ID when asked. Nothing on it is stored.
func (n Names) HistoryProcesses() string { return n.prefix + ".history-processes" }

// Request is what the subject of a request about an execution says.
type Request struct {
	Shard     int
	Namespace string
	Verb      string
}

// ParseExecution takes apart a subject made by Execution or ExecutionAt.
func (n Names) ParseExecution(subject string) (Request, error) {
	rest, ok := strings.CutPrefix(subject, n.prefix+".execution.")
	if !ok {
		if rest, ok = strings.CutPrefix(subject, n.prefix+".execution-at."); ok {
			_, rest, _ = strings.Cut(rest, ".")
		}
	}
	tokens := strings.Split(rest, ".")
	if !ok || len(tokens) != 3 || tokens[1] == "" || tokens[2] == "" {
		return Request{}, fmt.Errorf("subjects: %q is not the subject of a request about an execution", subject)
	}
	shard, err := strconv.Atoi(tokens[0])
	if err != nil || shard < 0 {
		return Request{}, fmt.Errorf("subjects: %q has no shard number", subject)
	}
	return Request{Shard: shard, Namespace: tokens[1], Verb: tokens[2]}, nil
}

// Holding is a stream, and what matches some of its subjects.
type Holding struct{ Stream, Subjects string }

// ExecutionsOf returns where all that is stored about the executions of a namespace is, in an installation with a number of shards. The journals
// come first: without them nobody stores more of the rest.
func (n Names) ExecutionsOf(namespace string, shards int) (all []Holding) {
	for shard := range shards {
		all = append(all, Holding{n.JournalStream(shard), n.Journals(shard, namespace)})
	}
	all = append(all, Holding{n.HeartbeatStream(), n.prefix + ".heartbeat." + namespace + ".>"},
		Holding{n.BacklogStream(), n.BacklogsOf(namespace)})
	for shard := range shards {
		of := strconv.Itoa(shard) + "." + string(RoleExecution) + "." + namespace + ".>"
		all = append(all, Holding{n.TaskStream(shard), n.ExecutionTimersOf(shard, namespace)}, Holding{n.TaskStream(shard), n.prefix + ".task." + of})
	}
	return all
}

// QueryAnswer is the subject on which the answer to a query is awaited. Nothing on it is stored.
func (n Names) QueryAnswer(namespace, id string) string {
	return n.prefix + ".query." + namespace + "." + Escape(id)
}

// ExecutionTimer is the delayed message of a workflow ID that comes at a time. Each time has its own, so that no message replaces another.
func (n Names) ExecutionTimer(shard int, key schedule.Key, at time.Time) string {
	return n.timer(shard, "execution", key) + "." + strconv.FormatInt(at.UnixNano(), 36)
}

// ExecutionTimers matches all delayed messages of a workflow ID.
func (n Names) ExecutionTimers(shard int, key schedule.Key) string {
	return n.timer(shard, "execution", key) + ".*"
}

// ExecutionTimersOf matches the delayed messages of all workflow IDs of a namespace in one shard. The namespace may be a wildcard.
func (n Names) ExecutionTimersOf(shard int, namespace string) string {
	return n.prefix + ".timer." + strconv.Itoa(shard) + ".execution." + namespace + ".>"
}

// ExecutionDue is the subject on which all of them deliver.
func (n Names) ExecutionDue(shard int, key schedule.Key) string {
	return n.task(shard, RoleExecution, key, WhatDue)
}

// whatRedo begins what the subject of a task says that asks history to do again what one entry makes due.
const whatRedo = "redo-"

// ExecutionRedo is the subject of a task that asks history to do what an entry of a journal makes due, as far as it is still owed.
func (n Names) ExecutionRedo(shard int, key schedule.Key, sequence uint64) string {
	return n.task(shard, RoleExecution, key, whatRedo+strconv.FormatUint(sequence, 10))
}

// EntryToRedo returns the sequence of the entry that a task of the role execution is about; 0 if it only says that something may be due. The error
// means that it says something else.
func (t Task) EntryToRedo() (sequence uint64, err error) {
	if t.What == WhatDue {
		return 0, nil
	}
	text, ok := strings.CutPrefix(t.What, whatRedo)
	if sequence, err = strconv.ParseUint(text, 10, 64); !ok || err != nil || sequence == 0 {
		return 0, fmt.Errorf("subjects: an execution has no task %q", t.What)
	}
	return sequence, nil
}

func (n Names) journalConfig(shard, replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.JournalStream(shard), Description: "Carillon: journals of the workflow executions of shard " + strconv.Itoa(shard),
		Subjects: []string{n.journals(shard) + ">"}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: PlainWindow, AllowDirect: true,
	}
}

// heartbeatConfig bounds the bytes, and not the age alone, because activities may send heartbeats as fast as they like.
func (n Names) heartbeatConfig(replicas int) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: n.HeartbeatStream(), Description: "Carillon: heartbeats of activities",
		Subjects: []string{n.prefix + ".heartbeat.>"}, Retention: jetstream.LimitsPolicy, MaxMsgsPerSubject: 1,
		MaxBytes: heartbeatBytes, Discard: jetstream.DiscardOld,
		Storage: jetstream.FileStorage, Replicas: replicas, Duplicates: PlainWindow, MaxAge: ControlAge, AllowDirect: true,
	}
}

// Committer is the subject on which a process of the pool history is asked what has become of an entry that it has committed. The ID of the
// process is one token. Nothing on the subject is stored.
func (n Names) Committer(process string) string { return n.prefix + ".committer." + process }
