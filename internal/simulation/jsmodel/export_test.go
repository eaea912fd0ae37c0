package jsmodel

import "github.com/nats-io/nats.go/jetstream"

var (
	Delay     = delay
	TTLOf     = ttlOf
	IsSubject = isSubject
)

// Codes are the server's error codes that the model defines itself, by the server's names.
var Codes = map[string]jetstream.ErrorCode{
	"wrong last sequence": codeWrongLastSequence,
	"rollup failed":       codeRollupFailed,
	"TTL invalid":         codeTTLInvalid,
	"TTL disabled":        codeTTLDisabled,
	"schedules disabled":  codeSchedulesDisabled,
	"schedule invalid":    codeScheduleInvalid,
	"target invalid":      codeTargetInvalid,
	"schedule rollup":     codeScheduleRollup,
	"scheduler invalid":   codeSchedulerInvalid,
}

// Pending counts the messages that a consumer has delivered, that still exist and are unacknowledged.
func (s *Server) Pending(stream, name string) (count int) {
	c := s.streams[stream].consumers[name]
	for sequence := range c.pending {
		if c.stream.messages[sequence] != nil {
			count++
		}
	}
	return count
}
