package systemtest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/telemetry"
	"github.com/carillon-scheduler/carillon/schedule"
)

// The names of the spans of a run.
const (
	processGenerate = "process task.generate"
	publishInvoke   = "publish task.invoke"
	processInvoke   = "process task.invoke"
	publishAction   = "publish action"
	processAction   = "process action"
	publishCallback = "publish callback"
	processCallback = "process callback"
)

// TestTraces runs every role in a process of its own, which exports its traces, and looks at the traces of runs.
func TestTraces(t *testing.T) {
	t.Parallel()
	s := newTraced(t)
	s.startAll()
	s.createTimer()
	t.Run("of an API call that waits for another run", s.ofADeferral)
	t.Run("of a timer, with a retry", s.ofATimer)
	t.Run("of a caller that is not sampled", s.ofTheUnsampled)
}

// traced is an installation whose processes export their traces.
type traced struct {
	*system
	collector *collector
	target    *target
	roles     map[string]*process
}

func newTraced(t *testing.T) *traced {
	server := natstest.Shared(t)
	conn, js := natstest.Connect(t, server)
	s := &traced{
		system:    &system{t: t, names: natstest.Names(t), conn: conn, js: js},
		collector: newCollector(t), target: newTarget(t), roles: map[string]*process{},
	}
	var err error
	s.client, err = client.New(conn, client.Config{Prefix: s.names.Prefix(), Timeout: 30 * time.Second})
	require.NoError(t, err)
	for role, flags := range map[string][]string{
		"frontend": {"--shards", "1"}, "generator": nil, "invoker": nil, "backfiller": nil,
		"worker": {"--task-queue", "q", "--http-allow-private"},
	} {
		p := newProcess(t, append([]string{role, "--nats", server.ClientURL(), "--prefix", s.names.Prefix()}, flags...)...)
		p.env = []string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + s.collector.url, "OTEL_METRICS_EXPORTER=none", "OTEL_BSP_SCHEDULE_DELAY=100",
		}
		s.roles[role] = p
	}
	return s
}

// startAll starts all roles: first the frontend, which sets the installation up.
func (s *traced) startAll() {
	s.roles["frontend"].start()
	natstest.Eventually(s.t, patience, "a frontend to answer", func() bool {
		_, err := s.client.List(s.t.Context(), schedule.ListRequest{})
		return err == nil
	})
	for role, p := range s.roles {
		if role != "frontend" {
			p.start()
		}
	}
}

// await waits for a trace in which a completion that fulfils a condition has been processed, and returns it whole.
func (s *traced) await(t *testing.T, what string, cond func(*span) bool) traceSpans {
	t.Helper()
	var trace traceSpans
	natstest.Eventually(t, patience, "the whole trace of "+what, func() bool {
		found := s.collector.find(func(s *span) bool { return s.name == processCallback && cond(s) })
		if len(found) == 0 {
			return false
		}
		trace = s.collector.trace(found[0].trace)
		return !slices.ContainsFunc(trace, func(s span) bool { return s.parent != "" && !s.isCalled() && !trace.has(s.parent) })
	})
	return trace
}

func (s traceSpans) has(id string) bool {
	return slices.ContainsFunc(s, func(s span) bool { return s.id == id })
}

// isCalled reports whether the parent is the span of a caller, which exports nothing here.
func (s *span) isCalled() bool { return s.kind == tracepb.Span_SPAN_KIND_SERVER }

// httpOf is a schedule that requests a path of the target, and is started by hand.
func (s *traced) httpOf(path string, overlap schedule.OverlapPolicy) schedule.Schedule {
	sched := triggered(overlap)
	sched.Action = schedule.Action{Type: "http", TaskQueue: "q", Input: []byte(`{"url":"` + s.target.url + path + `"}`)}
	sched.Action.RetryPolicy = &schedule.RetryPolicy{InitialInterval: schedule.Duration(10 * time.Millisecond)}
	return sched
}

// createTimer creates a schedule with one action that is due later than the generator waits for without a timer.
func (s *traced) createTimer() {
	sched := s.httpOf("/fails-once", schedule.OverlapSkip)
	sched.Spec = every(time.Second).Spec
	sched.Spec.StartTime = time.Now().Add(2500 * time.Millisecond).UTC()
	sched.State.LimitedActions, sched.State.RemainingActions = true, 1
	s.create("timer", sched)
}

// ofATimer: a run that a timer has begun, whose first attempt fails.
func (s *traced) ofATimer(t *testing.T) {
	trace := s.await(t, "the timer", func(s *span) bool { return s.attributes["carillon.schedule.id"] == "timer" })
	t.Logf("the trace of a timer:\n%s", trace)

	root := trace.fire(t)
	if root.attributes["carillon.wake.reason"] == "due" { // otherwise the schedule was created too late
		assert.Regexp(t, "^0*$", root.parent, "the timer begins the trace")
	}
	start := trace.chain(t, root.id, publishInvoke, processInvoke, publishAction)
	attempts := trace.under(start.id, processAction)
	require.Len(t, attempts, 2, "one that fails, and another one:\n%s", trace)
	ended := trace.chain(t, attempts[1].id, publishCallback, processCallback)
	for _, want := range []struct {
		span    span
		service string
		kind    tracepb.Span_SpanKind
	}{
		{root, "carillon-generator", tracepb.Span_SPAN_KIND_CONSUMER},
		{trace.chain(t, root.id, publishInvoke), "carillon-generator", tracepb.Span_SPAN_KIND_PRODUCER},
		{trace.chain(t, root.id, publishInvoke, processInvoke), "carillon-invoker", tracepb.Span_SPAN_KIND_CONSUMER},
		{start, "carillon-invoker", tracepb.Span_SPAN_KIND_PRODUCER},
		{attempts[0], "carillon-worker", tracepb.Span_SPAN_KIND_CONSUMER},
		{attempts[1], "carillon-worker", tracepb.Span_SPAN_KIND_CONSUMER},
		{trace.chain(t, attempts[1].id, "GET"), "carillon-worker", tracepb.Span_SPAN_KIND_CLIENT},
		{trace.chain(t, attempts[1].id, publishCallback), "carillon-worker", tracepb.Span_SPAN_KIND_PRODUCER},
		{ended, "carillon-invoker", tracepb.Span_SPAN_KIND_CONSUMER},
	} {
		assert.Equal(t, want.service, want.span.service, want.span.name)
		assert.Equal(t, want.kind, want.span.kind, want.span.name)
	}
	assert.True(t, attempts[0].failed)
	assert.Equal(t, "http_status", attempts[0].attributes["error.type"])
	assert.False(t, attempts[1].failed)
	s.requireAttributes(t, start, attempts[1], ended)
	forwarded := s.target.traceparents("/fails-once")
	require.Len(t, forwarded, 2)
	for i, attempt := range attempts {
		assert.Equal(t, "00-"+trace[0].trace+"-"+trace.chain(t, attempt.id, "GET").id+"-01", forwarded[i])
	}
}

// requireAttributes requires the start, the attempt and the end of a run to name the run.
func (s *traced) requireAttributes(t *testing.T, start, attempt, ended span) {
	t.Helper()
	for _, of := range []span{start, attempt, ended} {
		assert.Equal(t, "default", of.attributes["carillon.namespace"], of.name)
		assert.Equal(t, "timer", of.attributes["carillon.schedule.id"], of.name)
		assert.Equal(t, "q", of.attributes["carillon.task_queue"], of.name)
		assert.Equal(t, "nats", of.attributes["messaging.system"], of.name)
		for _, key := range []string{"carillon.run.id", "messaging.message.id"} {
			assert.NotEmpty(t, of.attributes[key], "%s of %s", key, of.name)
			assert.Equal(t, start.attributes[key], of.attributes[key], "%s of %s", key, of.name)
		}
	}
	assert.Equal(t, "publish", start.attributes["messaging.operation.name"])
	assert.Equal(t, "send", start.attributes["messaging.operation.type"])
	assert.Equal(t, "action", start.attributes["messaging.destination.template"])
	assert.Equal(t, "skip", start.attributes["carillon.overlap_policy"])
	assert.Equal(t, "2", attempt.attributes["carillon.attempt"])
	assert.Equal(t, "process", attempt.attributes["messaging.operation.type"])
	assert.Equal(t, start.attributes["carillon.nominal_time"], attempt.attributes["carillon.nominal_time"])
	assert.Equal(t, start.attributes["carillon.workflow.id"], attempt.attributes["carillon.workflow.id"])
	assert.Equal(t, "completed", ended.attributes["carillon.status"])
}

const (
	firstCaller     = "00-11111111111111111111111111111111-1111111111111111-01"
	secondCaller    = "00-22222222222222222222222222222222-2222222222222222-01"
	unsampledCaller = "00-33333333333333333333333333333333-3333333333333333-00"
)

// ofADeferral: a requested run that waits for the end of another one while the invoker is replaced.
func (s *traced) ofADeferral(t *testing.T) {
	s.create("busy", s.httpOf("/held", schedule.OverlapBufferAll))
	s.triggerIn(t, "busy", firstCaller)
	natstest.Eventually(t, patience, "the first run", func() bool { return len(s.target.traceparents("/held")) == 1 })
	s.triggerIn(t, "busy", secondCaller)
	natstest.Eventually(t, patience, "the second run to be deferred", func() bool {
		d := s.describe("busy")
		return len(d.Info.Buffer) == 1 && d.Info.Buffer[0].Phase == schedule.PhaseDeferred
	})
	invoker := s.roles["invoker"]
	invoker.replaceBy(invoker.binary)
	natstest.Eventually(t, patience, "nothing more to come to the second run before it starts", func() bool {
		return len(s.collector.find(func(s *span) bool { return s.name == processInvoke && s.trace == secondCaller[3:35] })) == 2
	})
	released := time.Now()
	s.target.release()
	first := s.await(t, "the first run", func(s *span) bool { return s.trace == firstCaller[3:35] })
	trace := s.await(t, "the second run", func(s *span) bool { return s.trace == secondCaller[3:35] })
	t.Logf("the trace of the run that has waited:\n%s", trace)

	call := trace.chain(t, secondCaller[36:52], "schedule.trigger")
	assert.Equal(t, "carillon-frontend", call.service)
	assert.Equal(t, tracepb.Span_SPAN_KIND_SERVER, call.kind)
	taken := trace.chain(t, call.id, publishInvoke, processInvoke)
	start := trace.chain(t, taken.id, publishAction)
	trace.chain(t, start.id, processAction, publishCallback, processCallback)
	assert.Contains(t, taken.events, "carillon.deferred")
	waited := trace.chain(t, taken.id, "wait")
	assert.Equal(t, "overlap", waited.attributes["carillon.wait.reason"])
	due, err := time.Parse(time.RFC3339Nano, start.attributes["carillon.due_time"])
	require.NoError(t, err)
	assert.True(t, waited.from.Equal(due), "it begins when the run was asked for: %v, %v", waited.from, due)
	assert.True(t, waited.to.After(released), "it ends when the run begins: %v, %v", waited.to, released)
	assert.True(t, first.has(start.links[first[0].trace]), "the start is linked to the end of the run before")
}

// ofTheUnsampled: a trace that is not sampled where it begins is not recorded anywhere, and says so to the end.
func (s *traced) ofTheUnsampled(t *testing.T) {
	s.create("unsampled", s.httpOf("/unsampled", schedule.OverlapSkip))
	s.triggerIn(t, "unsampled", unsampledCaller)
	natstest.Eventually(t, patience, "the run to end", func() bool {
		return len(completed(s.describe("unsampled").Info.RecentActions)) == 1
	})
	forwarded := s.target.traceparents("/unsampled")
	require.Len(t, forwarded, 1)
	assert.Equal(t, unsampledCaller[:36], forwarded[0][:36], "the trace goes on")
	assert.Equal(t, "00", forwarded[0][53:])
	for _, p := range s.roles {
		p.terminate() // which exports what is left
	}
	assert.Empty(t, s.collector.trace(unsampledCaller[3:35]))
}

// triggerIn triggers a schedule in the trace of a caller.
func (s *traced) triggerIn(t *testing.T, id, traceparent string) {
	t.Helper()
	ctx := telemetry.WithTraceparent(t.Context(), traceparent)
	_, err := s.client.Trigger(ctx, schedule.TriggerRequest{ID: id})
	require.NoError(t, err)
}

// target is what http actions request. It answers the first request for /fails-once with an error, and those for /held once
// they are released.
type target struct {
	url  string
	held context.Context
	// release lets it answer the requests for /held.
	release context.CancelFunc

	mu   sync.Mutex
	seen map[string][]string
}

func newTarget(t *testing.T) *target {
	g := &target{seen: map[string][]string{}}
	g.held, g.release = context.WithCancel(context.Background())
	server := httptest.NewServer(g)
	t.Cleanup(func() {
		g.release()
		server.Close()
	})
	g.url = server.URL
	return g
}

func (g *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	g.seen[r.URL.Path] = append(g.seen[r.URL.Path], r.Header.Get("traceparent"))
	times := len(g.seen[r.URL.Path])
	g.mu.Unlock()
	switch {
	case r.URL.Path == "/held":
		<-g.held.Done()
	case r.URL.Path == "/fails-once" && times == 1:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// traceparents returns the traceparents of the requests for a path.
func (g *target) traceparents(path string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.seen[path])
}
