package pages

import (
	"encoding/json"
	"strings"

	"go.temporal.io/api/common/v1"
)

// TraceID is what [Config.TraceURL] has where the ID of a trace belongs.
const TraceID = "{trace}"

// traceLink is the trace that something is part of. The zero value means that it is traced nowhere.
type traceLink struct {
	ID string
	// Address is where a tracing backend shows it; empty if nobody has said where that is.
	Address string
}

// trace returns the trace of a W3C traceparent.
func (p *Pages) trace(parent string) traceLink {
	id := traceOf(parent)
	if id == "" || p.config.TraceURL == "" {
		return traceLink{ID: id}
	}
	return traceLink{id, strings.ReplaceAll(p.config.TraceURL, TraceID, id)}
}

// traceOf returns the trace ID of a traceparent: 32 hexadecimal digits, so that it is safe in any address. It is empty if the traceparent has none.
func traceOf(parent string) string {
	parts := strings.Split(parent, "-")
	const digits, none = "0123456789abcdef", "00000000000000000000000000000000"
	if len(parts) < 4 || len(parts[1]) != len(none) || parts[1] == none || strings.Trim(parts[1], digits) != "" {
		return ""
	}
	return parts[1]
}

// headerTracer is the header of a workflow in which the tracing of Temporal's SDKs keeps the context of a trace.
const headerTracer = "_tracer-data"

// parentOf returns the traceparent with which a program of Temporal's SDKs has started an execution; empty if it has traced nothing.
func parentOf(header *common.Header) string {
	var context struct {
		Traceparent string `json:"traceparent"`
	}
	if json.Unmarshal(header.GetFields()[headerTracer].GetData(), &context) != nil {
		return ""
	}
	return context.Traceparent
}
