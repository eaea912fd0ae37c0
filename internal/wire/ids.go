package wire

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/google/uuid"
)

// idSpace is the UUID namespace of all derived IDs. It must never change: the identity of a start depends on it, and so does the protection
// against double starts.
var idSpace = uuid.MustParse("5f0c9a3e-6d0b-4e57-9a8e-2f6b1c7d4e93")

// WorkflowID returns the workflow ID of the action due at nominal: base, "-" and the time in RFC 3339, UTC; or base alone if keepOriginal
// (docs/semantics.md §3). Times of a spec are whole seconds. Times of triggers have fractions down to the nanosecond, so that two triggers
// in the same second do not have the workflow ID of the same run; [NewStart] leaves the fractions out for a workflow.
func WorkflowID(base string, nominal time.Time, keepOriginal bool) string {
	if keepOriginal {
		return base
	}
	id := make([]byte, 0, smallID)
	id = append(append(id, base...), '-')
	return string(nominal.UTC().AppendFormat(id, time.RFC3339Nano))
}

// RequestID returns the identity of one start: "sched-", the source ("auto" or the ID of a backfill), "-" and the version 5 UUID of the
// other arguments; times count in milliseconds (docs/semantics.md §3). The same arguments give the same ID in every process and release;
// different arguments give different IDs.
func RequestID(
	source, namespace, scheduleID, incarnation string, version uint64, nominal, actual time.Time,
) string {
	name := make([]byte, 0, smallName)
	name = append(name, idSpace[:]...)
	for _, part := range [...]string{namespace, scheduleID, incarnation} {
		// The length in front distinguishes ("ab", "c") from ("a", "bc"), whatever the parts contain.
		name = binary.AppendUvarint(name, uint64(len(part)))
		name = append(name, part...)
	}
	name = binary.BigEndian.AppendUint64(name, version)
	name = binary.BigEndian.AppendUint64(name, uint64(nominal.UnixMilli()))
	name = binary.BigEndian.AppendUint64(name, uint64(actual.UnixMilli()))

	id := make([]byte, 0, smallID)
	id = append(id, "sched-"...)
	id = append(append(id, source...), '-')
	return string(appendDerived(id, name))
}

// RunID returns the ID of a start's run: the version 5 UUID of its request ID. So every retry of a start names the same run.
func RunID(requestID string) string {
	name := make([]byte, 0, smallName)
	name = append(append(name, idSpace[:]...), requestID...)
	return string(appendDerived(make([]byte, 0, smallID), name))
}

// Up to this length, IDs and their inputs are built on the stack. Nearly all are shorter, and some are made for every action.
const (
	smallName = 256
	smallID   = 128
)

// appendDerived appends the version 5 UUID of a name that follows its space. The result is the same as that of uuid.NewSHA1, which takes
// five allocations.
func appendDerived(id, spaceAndName []byte) []byte {
	sum := sha1.Sum(spaceAndName)
	sum[6] = sum[6]&0x0f | 5<<4
	sum[8] = sum[8]&0x3f | 0x80
	for i, part := range [...][]byte{sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]} {
		if i > 0 {
			id = append(id, '-')
		}
		id = hex.AppendEncode(id, part)
	}
	return id
}
