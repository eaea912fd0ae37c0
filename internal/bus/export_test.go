package bus

import "github.com/nats-io/nats.go"

// The parsers are tested from outside, since the NATS of the tests imports this package.
var (
	ParseLeader = parseLeader
	ParseHeader = parseHeader
)

// Result is what a reader makes of the parts of an answer.
func Result(parts ...*nats.Msg) ([]Message, bool, error) {
	a := directAnswer{done: make(chan struct{})}
	for _, part := range parts {
		a.add(part)
	}
	return a.result()
}

// SingleAge is how long an answer about the replicas of a stream counts.
const SingleAge = singleAge
