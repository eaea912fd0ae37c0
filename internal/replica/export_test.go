package replica

import "github.com/nats-io/nats.go"

// Result is what is made of the parts of an answer. The parser is tested from outside, since the NATS of the tests imports
// this package.
func Result(parts ...*nats.Msg) ([]Message, bool, error) {
	a := answer{done: make(chan struct{})}
	for _, part := range parts {
		a.add(part)
	}
	return a.result()
}
