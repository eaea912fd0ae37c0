package telemetry

import "github.com/nats-io/nats.go"

// headerCarrier makes NATS headers readable and writable for a propagator.
type headerCarrier nats.Header

// Get returns the first value of a header. It also understands clients that canonicalise header names, as HTTP libraries do.
func (c headerCarrier) Get(key string) string {
	header := nats.Header(c)
	if value := header.Get(key); value != "" {
		return value
	}
	switch key { // by hand: http.CanonicalHeaderKey computes them every time, and most messages have no tracestate
	case HeaderTraceparent:
		return header.Get("Traceparent")
	case HeaderTracestate:
		return header.Get("Tracestate")
	}
	return ""
}

// Set replaces a header.
func (c headerCarrier) Set(key, value string) { nats.Header(c).Set(key, value) }

// Keys returns the names of the headers.
func (c headerCarrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}

// loneCarrier carries only a traceparent.
type loneCarrier struct{ traceparent string }

// Get returns the traceparent.
func (c *loneCarrier) Get(key string) string {
	if key == HeaderTraceparent {
		return c.traceparent
	}
	return ""
}

// Set keeps the traceparent, and drops anything else.
func (c *loneCarrier) Set(key, value string) {
	if key == HeaderTraceparent {
		c.traceparent = value
	}
}

// Keys returns the only name.
func (*loneCarrier) Keys() []string { return []string{HeaderTraceparent} }
