package schedule

import (
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// idSpace is the UUID namespace of everything Carillon derives. It must never change: the identity of a start, and with
// it the protection against starting twice, depends on it.
var idSpace = uuid.MustParse("5f0c9a3e-6d0b-4e57-9a8e-2f6b1c7d4e93")

// WorkflowID returns the workflow ID of the action due at nominal: base, "-" and the time in RFC 3339, UTC; or base alone
// if keepOriginal (SEMANTICS §3). Times of a spec are whole seconds. A trigger has milliseconds as well, so that two of
// the same second do not take each other for a run in progress.
func WorkflowID(base string, nominal time.Time, keepOriginal bool) string {
	if keepOriginal {
		return base
	}
	return base + "-" + nominal.UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// RequestID returns the identity of one start: "sched-", the source ("auto" or the ID of a backfill), "-" and the
// version 5 UUID of the other arguments; the times count in milliseconds (SEMANTICS §3). The same arguments give the
// same ID in every process and release, different ones different IDs.
func RequestID(
	source, namespace, scheduleID, incarnation string, version uint64, nominal, actual time.Time,
) string {
	var name []byte
	for _, part := range []string{namespace, scheduleID, incarnation} {
		// A length in front keeps ("ab", "c") and ("a", "bc") apart, whatever the parts contain.
		name = binary.AppendUvarint(name, uint64(len(part)))
		name = append(name, part...)
	}
	name = binary.BigEndian.AppendUint64(name, version)
	name = binary.BigEndian.AppendUint64(name, uint64(nominal.UnixMilli()))
	name = binary.BigEndian.AppendUint64(name, uint64(actual.UnixMilli()))
	return "sched-" + source + "-" + uuid.NewSHA1(idSpace, name).String()
}

// RunID returns the ID of the run that a start leads to: the version 5 UUID of its request ID, so that every retry of a
// start names the same run.
func RunID(requestID string) string {
	return uuid.NewSHA1(idSpace, []byte(requestID)).String()
}
