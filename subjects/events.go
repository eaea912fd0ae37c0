package subjects

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Event is the subject of events of one kind about one schedule.
func (n Names) Event(key schedule.Key, kind schedule.EventKind) string {
	return n.prefix + ".event." + key.Namespace + "." + Escape(key.ID) + "." + string(kind)
}

// Events matches the events of one schedule. An empty ID matches all events of the namespace, an empty Key all events.
func (n Names) Events(key schedule.Key) string {
	switch {
	case key.Namespace == "":
		return n.prefix + ".event.>"
	case key.ID == "":
		return n.prefix + ".event." + key.Namespace + ".>"
	}
	return n.prefix + ".event." + key.Namespace + "." + Escape(key.ID) + ".>"
}

// DeadLetter is the subject of messages that a pool could not process.
func (n Names) DeadLetter(pool string) string { return n.prefix + ".dlq." + pool }

// What takes the place of the pool when workers could not process a message, or when the invoker could not process theirs.
const (
	deadLetterWorker     = "worker"
	deadLetterCompletion = "completion"
)

// WorkerDeadLetter is the subject of messages that the workers of a task queue could not process. Permissions can restrict it.
func (n Names) WorkerDeadLetter(namespace, queue string) string {
	return n.DeadLetter(deadLetterWorker) + "." + namespace + "." + Escape(queue)
}

// SharedWorkerDeadLetter is the subject on which workers of earlier releases put what they could not process, whatever their task
// queue.
func (n Names) SharedWorkerDeadLetter() string { return n.DeadLetter(deadLetterWorker) }

// CompletionDeadLetter is the subject for a message on a callback subject that the invoker could not process. size is the length
// of its headers and body, in bytes. It returns false for other subjects.
//
// Workers may send anything on a callback subject, so the new subject says who owns it, as far as permissions prove that. This
// works even if the rest of the callback subject is malformed. It ends in one of the few parts of the task queue's letters.
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

// LetterOwner is the writer of a dead letter, as far as the letter's subject proves it.
type LetterOwner struct {
	// Pool is the pool, or "worker".
	Pool string
	// Namespace and TaskQueue are those of the worker, or of the completion's worker. They are empty otherwise, and for a worker
	// of an earlier release.
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
