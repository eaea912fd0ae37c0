package deadletter

import (
	"strconv"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// workerMark begins the numbers of the letters in the stream of the workers.
const workerMark = "w"

// Number identifies a letter. Letters about messages between pools are in one stream, and letters about messages from and to
// workers are in another. Each stream has its own sequences: as text, a number of the first is "17", one of the second "w17". The
// zero Number identifies no letter. Numbers can be compared.
type Number struct {
	// Sequence is the place in the stream.
	Sequence uint64
	// Worker is set if the stream is the one of the workers.
	Worker bool
}

// String returns the number as users write it.
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
