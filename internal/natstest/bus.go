package natstest

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// Bus returns the bus of a connection, closed when the test ends.
func Bus(t testing.TB, js jetstream.JetStream) *bus.NATS {
	t.Helper()
	b, err := bus.New(js)
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}
