package natstest

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and fails if they leave goroutines behind. NATS leaves none: neither the server after
// its shutdown nor a closed connection, so there is no exception; options are for those of a package.
//
// It is also what the nodes of a [Cluster] run: they are started from the same test binary.
func Main(m *testing.M, options ...goleak.Option) {
	if config, ok := os.LookupEnv(nodeEnv); ok {
		os.Exit(runNode(config))
	}
	goleak.VerifyTestMain(runner{m}, options...)
}

// runner ends the shared server between the tests and the search for goroutines.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	defer shared.stop()
	return r.m.Run()
}
