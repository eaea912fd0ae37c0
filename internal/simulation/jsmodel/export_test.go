package jsmodel

import "github.com/nats-io/nats.go/jetstream"

var (
	Delay     = delay
	TTLOf     = ttlOf
	IsSubject = isSubject
)

// Codes are those of the server that the model has numbers of its own for, by what the server calls them.
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

// Pending counts what a consumer has delivered, is there and is not acknowledged.
func (s *Server) Pending(stream, name string) (count int) {
	c := s.streams[stream].consumers[name]
	for sequence := range c.pending {
		if c.stream.messages[sequence] != nil {
			count++
		}
	}
	return count
}
