package subjects

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// DueTimer is the only timer of the generator.
func (n Names) DueTimer(shard int, key schedule.Key) string { return n.timer(shard, "due", key) }

// GuardTimer is the delayed wake-up that is armed before a version of a definition is written. The subject contains the version,
// so the wake that follows one write removes its own guard and no other.
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

// TimeoutTimers matches the timers of all runs of a shard.
func (n Names) TimeoutTimers(shard int) string {
	return n.prefix + ".timer." + strconv.Itoa(shard) + ".timeout.>"
}

// PulseTimer is a timer of one task stream that fires again and again and belongs to no schedule.
func (n Names) PulseTimer(shard int) string {
	return n.prefix + ".timer." + strconv.Itoa(shard) + ".pulse"
}

// Pulse is the subject to which PulseTimer delivers. Nobody takes its messages: the time of the only one says when the timers of
// the stream last worked.
func (n Names) Pulse(shard int) string { return n.prefix + ".timer." + strconv.Itoa(shard) + ".pulsed" }

func (n Names) timer(shard int, kind string, key schedule.Key) string {
	return n.prefix + ".timer." + strconv.Itoa(shard) + "." + kind + "." + key.Namespace + "." + Escape(key.ID)
}

// Timer is what the subject of a timer says.
type Timer struct {
	// Kind is "due", "guard", "retry", "backfill", "timeout" or "execution".
	Kind string
	Key  schedule.Key
	// What is the version that a guard guards, the ID of a backfill, the request ID of a run, or the time of an execution's timer; empty for
	// others.
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

// KindOfTimer returns the kind of a timer's subject, as [Timer] has it, for any installation and schedule; empty if it is no
// timer.
func KindOfTimer(subject string) string {
	_, rest, _ := strings.Cut(subject, ".timer.")
	_, rest, _ = strings.Cut(rest, ".")
	kind, _, _ := strings.Cut(rest, ".")
	return kind
}
