package frontend

import (
	"context"

	"github.com/carillon-scheduler/carillon/internal/bus"
)

// mirrors is the bus of a standby, where requests only read. The stream of start requests is not there, which counts as an empty one.
type mirrors struct {
	bus.Bus
	// missing is the name of that stream.
	missing string
}

// Last implements [bus.Bus].
func (m mirrors) Last(ctx context.Context, stream, subject string) (bus.Message, error) {
	if stream == m.missing {
		return bus.Message{}, bus.ErrNone
	}
	return m.Bus.Last(ctx, stream, subject)
}

// Subjects implements [bus.Bus].
func (m mirrors) Subjects(ctx context.Context, stream, filter string) (int, error) {
	if stream == m.missing {
		return 0, nil
	}
	return m.Bus.Subjects(ctx, stream, filter)
}
