package natstest

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and fails if they leave goroutines behind. NATS leaves none, neither a server after its
// shutdown nor a closed connection, so it needs no exception. options are the exceptions of the package.
//
// The nodes of a [Cluster] run Main too: they are started from the same test binary.
func Main(m *testing.M, options ...goleak.Option) {
	if config, ok := os.LookupEnv(nodeEnv); ok {
		os.Exit(runNode(config))
	}
	runMore()
	goleak.VerifyTestMain(runner{m}, options...)
}

// runMore runs twice as many parallel tests as there are processors, unless a number was given: these tests mostly wait, for
// NATS and for times that come due.
func runMore() {
	const parallel = "test.parallel"
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == parallel })
	if !chosen {
		_ = flag.Set(parallel, strconv.Itoa(2*runtime.GOMAXPROCS(0))) // the flag exists, and accepts any number
	}
}

// runner ends the shared server between the tests and the search for goroutines.
type runner struct{ m *testing.M }

func (r runner) Run() int {
	defer shared.stop()
	return r.m.Run()
}

// Patience is how long a test waits for something that must happen. It normally happens within milliseconds, and only a failing
// test waits longer. So Patience can be long enough for a machine that is busy with many other tests.
const Patience = 4 * time.Minute

// Eventually waits for a condition to become true and fails the test when it does not within the limit. what names the
// condition: "the timer is gone".
func Eventually(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	const poll = 5 * time.Millisecond
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %s, still waiting until %s", limit, what)
		}
	}
}
