package natstest

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// Bus returns the bus of a connection, closed when the test ends.
func Bus(t testing.TB, js jetstream.JetStream) *bus.NATS {
	t.Helper()
	b := bus.New(js)
	t.Cleanup(b.Close)
	return b
}
