package subjects

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// What a pool is woken for: the last token of the task's subject. Messages that say different things about the definition's
// version must not replace each other.
const (
	WhatWake     = "wake"
	WhatDue      = "due"
	WhatGuard    = "guard"
	WhatFinished = "finished"
	WhatDeleted  = "deleted"
)

// Generate is the subject that runs the generator for one schedule: WhatDue for its timer, WhatGuard for a repair or a restore,
// WhatFinished for a finished backfill.
func (n Names) Generate(shard int, key schedule.Key, what string) string {
	return n.task(shard, RoleGenerate, key, what)
}

// GenerateWake is the subject that runs the generator after a version of the definition has been written. It contains the
// version, because a late wake must not replace the wake of a newer version.
func (n Names) GenerateWake(shard int, key schedule.Key, version uint64) string {
	return n.task(shard, RoleGenerate, key, WhatWake+"-"+strconv.FormatUint(version, 10))
}

// GenerateGuard is the subject on which the guard of a version runs the generator. It contains the version, because a guard also
// says which incarnation it was for, and the guard of another version must not replace that.
func (n Names) GenerateGuard(shard int, key schedule.Key, version uint64) string {
	return n.task(shard, RoleGenerate, key, WhatGuard+"-"+strconv.FormatUint(version, 10))
}

// InvokeWake is the subject that makes the invoker look at one schedule.
func (n Names) InvokeWake(shard int, key schedule.Key) string {
	return n.task(shard, RoleInvoke, key, WhatWake)
}

// InvokeDeleted is the subject that makes the invoker forget a deleted schedule.
func (n Names) InvokeDeleted(shard int, key schedule.Key) string {
	return n.task(shard, RoleInvoke, key, WhatDeleted)
}

// InvokeEnqueue is the subject of one hand-off to the invoker. The source and the span make it unique, so that no hand-off
// replaces another, and a repeat replaces itself.
func (n Names) InvokeEnqueue(shard int, key schedule.Key, source string, span wire.Span) string {
	return n.task(shard, RoleInvoke, key, whatHandOff(source, span))
}

func whatHandOff(source string, span wire.Span) string {
	return source + "-" + strconv.FormatInt(span.From.UnixNano(), 36) + "-" + strconv.FormatInt(span.To.UnixNano(), 36)
}

// whatEnd begins the last token of a request to end a run. No source of hand-offs has this name.
const whatEnd = "end-"

// InvokeEnd is the subject of a request to end one run. A repeat replaces itself.
func (n Names) InvokeEnd(shard int, key schedule.Key, kind schedule.ControlKind, requestID string) string {
	return n.task(shard, RoleInvoke, key, whatEnd+string(kind)+"-"+requestID)
}

// InvokeGivenUp is the subject of the end of a run whose start was given up, and which somebody may have started all the same.
func (n Names) InvokeGivenUp(shard int, key schedule.Key, requestID string) string {
	return n.task(shard, RoleInvoke, key, whatEnd+"given-up-"+requestID)
}

// InvokerTasks matches the tasks of the role [RoleInvoke] in a shard: wakes, hand-offs and requests to end a run.
func (n Names) InvokerTasks(shard int) string {
	return n.tasksOf(strconv.Itoa(shard), RoleInvoke)
}

// Timeout is the subject of the completion of a run that no worker has reported on in time. Its TimeoutTimer delivers there.
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

// Timer subjects. Delayed messages wait on them for their time.

// Task is what the subject of a task or callback says.
type Task struct {
	Shard int
	Key   schedule.Key
	// Role is what the task is for. It may be one that this release does not know.
	Role Role
	// What is the last token: what to wake for, or which hand-off, backfill or request.
	What string
	// Queue is the task queue of a callback. Permissions can restrict it.
	Queue string
}

// IsHandOff reports whether a task has the form of a hand-off to the invoker, as InvokeEnqueue makes it. Ordinary words may have
// that form too; use IsHandOffOf if the body is known.
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

// IsHandOffOf reports whether InvokeEnqueue makes this task from a source and a span.
func (t Task) IsHandOffOf(source string, span wire.Span) bool {
	return t.Role == RoleInvoke && t.What == whatHandOff(source, span)
}

// cutTime returns the part before the time at the end of a hand-off's last token, if there is a time. A time before 1970 has a
// minus sign.
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

// IsTimeout reports whether a task completes a run that no worker has reported on in time.
func (t Task) IsTimeout() bool { return t.Role == RoleTimeout }

// IsCompletion reports whether a task completes the run whose request ID is What, by a worker's report or by the timeout that
// replaces it.
func (t Task) IsCompletion() bool { return t.Role == RoleCallback || t.IsTimeout() }

// ParseTask takes apart a subject made by Generate, InvokeWake, InvokeDeleted, InvokeEnqueue, InvokeEnd, InvokeGivenUp, Timeout, Backfill
// or Callback.
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
