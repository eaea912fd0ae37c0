package frontend_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestServiceAnswersPingInfoAndStats(t *testing.T) {
	t.Parallel()
	in := installed(t, func(c *frontend.Config) { c.Version = "1.2.3" })
	in.create("nightly", "")
	_, err := answer[schedule.Description](in, "describe", `{"id":"x"}`)
	require.Error(t, err)

	var ping micro.Ping
	in.control(micro.PingVerb, &ping)
	assert.Equal(t, in.names.ServiceName(), ping.Name)
	assert.Equal(t, "1.2.3", ping.Version)

	var info micro.Info
	in.control(micro.InfoVerb, &info)
	verbs := map[string]micro.EndpointInfo{}
	for _, e := range info.Endpoints {
		verbs[e.Name] = e
		thing, verb, other := strings.Cut(e.Name, "-")
		if !other {
			thing, verb = subjects.ThingSchedule, e.Name
		}
		assert.Equal(t, in.names.API("*", thing, verb), e.Subject)
		for _, field := range []string{"description", "request", "reply", "errors", "request_schema", "response_schema"} {
			assert.NotEmpty(t, e.Metadata[field], "%s of %s", field, e.Name)
		}
	}
	for _, verb := range []string{
		"create", "describe", "list", "update", "patch", "delete", "pause", "unpause", "trigger", "backfill",
		"cancelBackfill", "skip", "unskip",
	} {
		assert.Contains(t, verbs, verb)
	}

	counts := func(verb string) (c struct {
		Requests, Errors int
		LastError        string `json:"last_error"`
	}) {
		var stats micro.Stats
		in.control(micro.StatsVerb, &stats)
		for _, e := range stats.Endpoints {
			if e.Name == verb {
				require.NoError(t, json.Unmarshal(e.Data, &c))
			}
		}
		return c
	}
	// Requests are counted after the reply.
	natstest.Eventually(t, patience, "the requests are counted", func() bool {
		return counts("create").Requests == 1 && counts("describe").Requests == 1
	})
	assert.Equal(t, 0, counts("create").Errors)
	assert.Equal(t, 1, counts("describe").Errors)
	assert.Contains(t, counts("describe").LastError, "not_found: ")
}

// control asks the service about itself.
func (in *installation) control(verb micro.Verb, into any) {
	in.t.Helper()
	subject, err := micro.ControlSubject(verb, in.names.ServiceName(), "")
	require.NoError(in.t, err)
	reply, err := in.conn.Request(subject, nil, patience)
	require.NoError(in.t, err)
	require.NoError(in.t, json.Unmarshal(reply.Data, into))
}

func TestFrontendsShareTheRequests(t *testing.T) {
	t.Parallel()
	in := install(t)
	var first, second atomic.Int64
	count := func(n *atomic.Int64) func(*frontend.Config) {
		return func(c *frontend.Config) {
			c.Now = func() time.Time { n.Add(1); return time.Now() }
		}
	}
	in.run(count(&first))
	in.run(count(&second))
	natstest.Eventually(t, patience, "both have answered", func() bool {
		_, err := answer[schedule.ListReply](in, "list", "{}")
		require.NoError(t, err)
		return first.Load() > 0 && second.Load() > 0
	})
}

func TestStopFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	in := install(t)
	const requests = 8
	var arrived sync.WaitGroup
	arrived.Add(requests)
	release := make(chan struct{})
	stop := in.run(hook(func(_ context.Context, m *nats.Msg) error {
		if strings.Contains(m.Subject, ".timer.") {
			arrived.Done()
			<-release
		}
		return nil
	}))
	var running sync.WaitGroup
	for i := range requests {
		running.Go(func() {
			_, err := answer[schedule.Description](in, "create", createBody(fmt.Sprint(i), ""))
			assert.NoError(t, err)
		})
	}
	arrived.Wait()
	var stopped sync.WaitGroup
	stopped.Go(stop)
	natstest.Eventually(t, patience, "no new request is taken", func() bool {
		_, err := in.conn.Request(in.names.API("default", subjects.ThingSchedule, "list"), nil, patience)
		return err != nil
	})
	close(release)
	running.Wait()
	stopped.Wait()
}

// Requests are sent while one of two frontends stops. None may be lost or refused.
func TestStopLosesNoRequest(t *testing.T) {
	t.Parallel()
	in := installed(t)
	stop := in.run()
	done := make(chan struct{})
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				_, err := answer[schedule.ListReply](in, "list", "{}")
				assert.NoError(t, err)
			}
		})
	}
	stop()
	close(done)
	running.Wait()
}

func TestStopAbortsWhatTakesTooLong(t *testing.T) {
	t.Parallel()
	in := install(t)
	arrived := make(chan struct{})
	stop := in.run(
		func(c *frontend.Config) { c.DrainTimeout = time.Millisecond },
		hook(func(ctx context.Context, _ *nats.Msg) error {
			close(arrived)
			<-ctx.Done()
			return ctx.Err()
		}))
	var running sync.WaitGroup
	running.Go(func() {
		_, err := answer[schedule.Description](in, "create", createBody("nightly", ""))
		assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
	})
	<-arrived
	stop()
	running.Wait()
}

func TestRequestsHaveATimeLimit(t *testing.T) {
	t.Parallel()
	in := installed(t,
		func(c *frontend.Config) { c.RequestTimeout = 20 * time.Millisecond },
		hook(func(ctx context.Context, _ *nats.Msg) error {
			<-ctx.Done()
			return ctx.Err()
		}))
	_, err := answer[schedule.Description](in, "create", createBody("nightly", ""))
	assert.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
}

func TestOverloadIsRefused(t *testing.T) {
	t.Parallel()
	in := install(t)
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	in.run(
		func(c *frontend.Config) { c.Concurrency, c.Backlog = 1, 1 },
		hook(func(_ context.Context, m *nats.Msg) error {
			if strings.Contains(m.Subject, ".timer.") {
				arrived <- struct{}{}
				<-release
			}
			return nil
		}))
	ask := func(verb, body string) <-chan schedule.Code {
		code := make(chan schedule.Code, 1)
		go func() {
			_, err := answer[schedule.Empty](in, verb, body)
			code <- schedule.CodeOf(err)
		}()
		return code
	}
	works := ask("create", createBody("works", ""))
	<-arrived
	// Of two more requests one waits for its turn and the other is refused.
	one, other := ask("list", ""), ask("list", "")
	var waits <-chan schedule.Code
	select {
	case code := <-one:
		assert.Equal(t, schedule.CodeResourceExhausted, code)
		waits = other
	case code := <-other:
		assert.Equal(t, schedule.CodeResourceExhausted, code)
		waits = one
	}
	close(release)
	assert.Empty(t, <-works)
	assert.Empty(t, <-waits)
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	in := installed(t, func(c *frontend.Config) { c.NewID = func() string { panic("secret") } })
	reply := in.ask("default", "create", createBody("nightly", ""))
	assert.Equal(t, string(schedule.CodeInternal), reply.Header.Get(micro.ErrorCodeHeader))
	assert.NotContains(t, string(reply.Data), "secret")
	assert.NotContains(t, string(reply.Data), "goroutine")
	_, err := answer[schedule.ListReply](in, "list", "{}")
	assert.NoError(t, err, "the frontend goes on")
}

func TestRequestWithoutReplySubjectIsCarriedOut(t *testing.T) {
	t.Parallel()
	in := installed(t)
	require.NoError(t, in.conn.Publish(in.names.API("default", subjects.ThingSchedule, "create"), []byte(createBody("nightly", ""))))
	natstest.Eventually(t, patience, "the schedule is there", func() bool {
		_, err := answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
		return err == nil
	})
}

func TestRunEndsWithTheConnection(t *testing.T) {
	t.Parallel()
	in := install(t)
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	f, err := frontend.New(frontend.Config{Conn: conn, Store: in.store, Names: in.names, Logger: natstest.Logger(t)})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- f.Run(context.Background()) }()
	<-f.Ready()
	conn.Close()
	assert.ErrorIs(t, <-ended, &schedule.Error{Code: schedule.CodeUnavailable})
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	in := install(t)
	valid := frontend.Config{Conn: in.conn, Store: in.store}
	_, err := frontend.New(valid)
	require.NoError(t, err)
	for field, change := range map[string]func(*frontend.Config){
		"conn":           func(c *frontend.Config) { c.Conn = nil },
		"store":          func(c *frontend.Config) { c.Store = nil },
		"concurrency":    func(c *frontend.Config) { c.Concurrency = -1 },
		"backlog":        func(c *frontend.Config) { c.Backlog = -1 },
		"requestTimeout": func(c *frontend.Config) { c.RequestTimeout = -1 },
		"drainTimeout":   func(c *frontend.Config) { c.DrainTimeout = -1 },
		"guardDelay":     func(c *frontend.Config) { c.GuardDelay = frontend.DefaultRequestTimeout },
	} {
		config := valid
		change(&config)
		_, err := frontend.New(config)
		var e *schedule.Error
		require.ErrorAs(t, err, &e, field)
		assert.Equal(t, "frontend."+field, e.Field)
	}
}

// TestAnswersNobodyInItsOwnName: a request is refused, and nothing is done, if its reply would go to a subject of the
// installation or of the frontend itself. Whoever receives events knows such subjects: those for the acknowledgements.
func TestAnswersNobodyInItsOwnName(t *testing.T) {
	t.Parallel()
	in := install(t)
	own, err := natstest.Shared(t).Connect(nats.CustomInboxPrefix("_INBOX_service"))
	require.NoError(t, err)
	defer own.Close()
	js, err := jetstream.New(own)
	require.NoError(t, err)
	in.run(func(c *frontend.Config) { c.Conn, c.JS = own, js })
	ask := func(reply, id string) *nats.Msg {
		t.Helper()
		heard, err := in.conn.SubscribeSync(reply)
		require.NoError(t, err)
		defer func() { require.NoError(t, heard.Unsubscribe()) }()
		require.NoError(t, in.conn.PublishRequest(in.names.API("default", subjects.ThingSchedule, "create"), reply, []byte(createBody(id, ""))))
		in.create("after-"+id, "") // the frontend received it after the other
		answer, err := heard.NextMsg(100 * time.Millisecond)
		if !errors.Is(err, nats.ErrTimeout) {
			require.NoError(t, err)
			return answer
		}
		return nil
	}
	sniffed := own.NewInbox() + ".1a2b"
	for id, reply := range map[string]string{
		"ack": sniffed, "prefix": "_INBOX_service.x", "record": "$KV.x.y", "api": in.names.API("other", subjects.ThingSchedule, "delete"),
	} {
		assert.Nil(t, ask(reply, id), reply)
		_, err := answer[schedule.Description](in, "describe", fmt.Sprintf(`{"id":%q}`, id))
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err), "nothing was done")
	}
	for id, reply := range map[string]string{"caller": in.conn.NewInbox(), "similar": "_INBOX_services.x"} {
		assert.NotNil(t, ask(reply, id), reply)
		_, err := answer[schedule.Description](in, "describe", fmt.Sprintf(`{"id":%q}`, id))
		assert.NoError(t, err)
	}
}
