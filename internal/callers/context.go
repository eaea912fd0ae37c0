package callers

import "context"

type contextKey struct{}

// Asker is in whose name this process calls a method of the gateway.
type Asker struct {
	// Client is a user of NATS. It does not count if IsProcess is set.
	Client Client
	// IsProcess says that the process asks for itself, and may do everything.
	IsProcess bool
}

// NewContext returns a context for calls of the gateway within this process. No request over the network has such a context: whoever makes it has
// found out who asks.
func NewContext(ctx context.Context, asker Asker) context.Context {
	return context.WithValue(ctx, contextKey{}, asker)
}

// FromContext returns who asks by a context from NewContext, and whether it is one.
func FromContext(ctx context.Context) (asker Asker, found bool) {
	asker, found = ctx.Value(contextKey{}).(Asker)
	return asker, found
}
