package deadletter

import (
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// workerMark is what the numbers of the letters begin with that are in the stream of the workers.
const workerMark = "w"

// Number names a letter. Letters about what the pools send each other and those about what workers get and send are in streams of their own,
// and each counts for itself: in text a number of the former is "17", one of the latter "w17". The zero Number names none. It can be compared.
type Number struct {
	// Sequence is the place in the stream.
	Sequence uint64
	// Worker says that the stream is that of the workers.
	Worker bool
}

// String returns the number as people write it.
func (n Number) String() string {
	text := strconv.FormatUint(n.Sequence, 10)
	if n.Worker {
		return workerMark + text
	}
	return text
}

// ParseNumber reads what String writes. The error has schedule.CodeInvalidArgument.
func ParseNumber(text string) (Number, error) {
	digits, worker := strings.CutPrefix(text, workerMark)
	sequence, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || sequence == 0 {
		return Number{}, schedule.Errorf(schedule.CodeInvalidArgument, "%q is not the number of a dead letter", text)
	}
	return Number{Sequence: sequence, Worker: worker}, nil
}

// MarshalText implements encoding.TextMarshaler.
func (n Number) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Number) UnmarshalText(text []byte) (err error) {
	*n, err = ParseNumber(string(text))
	return err
}
