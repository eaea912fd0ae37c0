package systemtest

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// span is a span that a collector has received.
type span struct {
	trace, id, parent string
	name, service     string
	kind              tracepb.Span_SpanKind
	failed            bool
	from, to          time.Time
	attributes        map[string]string
	events            []string
	// links are the span IDs that it is linked to, by trace ID.
	links map[string]string
}

// collector receives what processes export by OTLP over HTTP, and keeps the spans.
type collector struct {
	t     *testing.T
	url   string
	mu    sync.Mutex
	spans []span
}

func newCollector(t *testing.T) *collector {
	c := &collector{t: t}
	server := httptest.NewServer(http.HandlerFunc(c.receive))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) receive(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != "/v1/traces" {
		return // metrics come here as well
	}
	var exported collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(body, &exported); !assert.NoError(c.t, err) {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range exported.ResourceSpans {
		service := texts(of.Resource.Attributes)["service.name"]
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, newSpan(service, s))
			}
		}
	}
}

func newSpan(service string, s *tracepb.Span) span {
	links := map[string]string{}
	for _, link := range s.Links {
		links[hex.EncodeToString(link.TraceId)] = hex.EncodeToString(link.SpanId)
	}
	var events []string
	for _, e := range s.Events {
		events = append(events, e.Name)
	}
	return span{
		trace: hex.EncodeToString(s.TraceId), id: hex.EncodeToString(s.SpanId), parent: hex.EncodeToString(s.ParentSpanId),
		name: s.Name, service: service, kind: s.Kind, failed: s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR,
		from: time.Unix(0, int64(s.StartTimeUnixNano)), to: time.Unix(0, int64(s.EndTimeUnixNano)), //nolint:gosec // until 2262
		attributes: texts(s.Attributes), events: events, links: links,
	}
}

// texts are the attributes whose values are texts, numbers or truth values.
func texts(attributes []*commonpb.KeyValue) map[string]string {
	values := map[string]string{}
	for _, a := range attributes {
		switch v := a.Value.Value.(type) {
		case *commonpb.AnyValue_StringValue:
			values[a.Key] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			values[a.Key] = fmt.Sprint(v.IntValue)
		case *commonpb.AnyValue_BoolValue:
			values[a.Key] = fmt.Sprint(v.BoolValue)
		}
	}
	return values
}

// find returns the spans that fulfil a condition, in the order in which they began.
func (c *collector) find(cond func(*span) bool) []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []span
	for i := range c.spans {
		if cond(&c.spans[i]) {
			found = append(found, c.spans[i])
		}
	}
	slices.SortStableFunc(found, func(a, b span) int { return a.from.Compare(b.from) })
	return found
}

// trace returns the spans of a trace.
func (c *collector) trace(id string) traceSpans {
	return c.find(func(s *span) bool { return s.trace == id })
}

// traceSpans are the spans of one trace, in the order in which they began.
type traceSpans []span

// under returns the spans of a name beneath a span; "" is where the trace begins.
func (s traceSpans) under(parent, name string) []span {
	var found []span
	for i := range s {
		if s[i].parent == parent && s[i].name == name {
			found = append(found, s[i])
		}
	}
	return found
}

// chain follows names downwards from a span, by the first of each name, and returns the last. The trace must have it.
func (s traceSpans) chain(t *testing.T, from string, names ...string) span {
	t.Helper()
	var at span
	for _, name := range names {
		found := s.under(from, name)
		require.NotEmpty(t, found, "no %q beneath %q in\n%s", name, at.name, s)
		at, from = found[0], found[0].id
	}
	return at
}

// fire returns the span in which the generator has handed over due actions.
func (s traceSpans) fire(t *testing.T) span {
	t.Helper()
	for i := range s {
		if s[i].name == processGenerate && len(s.under(s[i].id, publishInvoke)) > 0 {
			return s[i]
		}
	}
	require.Fail(t, "nothing was handed over", "%s", s)
	return span{}
}

// drawn is the precision of times in a drawing.
const drawn = 100 * time.Microsecond

// String draws the trace as a tree. A span whose parent was not received, such as that of a caller, is drawn as a root.
func (s traceSpans) String() string {
	known := map[string]bool{}
	for i := range s {
		known[s[i].id] = true
	}
	var out strings.Builder
	for i := range s {
		if !known[s[i].parent] {
			s.draw(&out, &s[i], s.begin(), 0)
		}
	}
	return out.String()
}

func (s traceSpans) begin() time.Time {
	return slices.MinFunc(s, func(a, b span) int { return a.from.Compare(b.from) }).from
}

func (s traceSpans) draw(out *strings.Builder, at *span, begin time.Time, depth int) {
	var notes []string
	for _, note := range []struct{ key, as string }{
		{"carillon.wake.reason", "reason"}, {"carillon.attempt", "attempt"}, {"carillon.wait.reason", "for"},
		{"carillon.status", "status"}, {"http.response.status_code", "code"}, {"error.type", "error"},
	} {
		if value := at.attributes[note.key]; value != "" {
			notes = append(notes, note.as+"="+value)
		}
	}
	for _, event := range at.events {
		notes = append(notes, "("+strings.TrimPrefix(event, "carillon.")+")")
	}
	kind := strings.ToLower(strings.TrimPrefix(at.kind.String(), "SPAN_KIND_"))
	since, took := at.from.Sub(begin).Round(drawn), at.to.Sub(at.from).Round(drawn)
	fmt.Fprintf(out, "%11v %11v  %-10s %-8s %s%s\n", since, took,
		cmp.Or(strings.TrimPrefix(at.service, "carillon-"), "-"), kind, strings.Repeat("  ", depth),
		strings.Join(append([]string{at.name}, notes...), " "))
	for i := range s {
		if s[i].parent == at.id {
			s.draw(out, &s[i], begin, depth+1)
		}
	}
}
