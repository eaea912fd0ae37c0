package systemtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// fence is a server with the configuration of deploy/nats.
type fence struct {
	t      *testing.T
	server *natsserver.Server
	ca     *natstest.Authority
}

func newFence(t *testing.T) *fence {
	t.Helper()
	ca := natstest.NewAuthority(t)
	ca.Issue("server")
	t.Setenv("CARILLON_TLS_CERT", ca.Path("server.pem"))
	t.Setenv("CARILLON_TLS_KEY", ca.Path("server.key"))
	t.Setenv("CARILLON_TLS_CA", ca.Path("ca.pem"))
	for _, user := range []string{"OPERATOR", "SERVICE", "REPLICATION", "WORKER", "BILLING", "BILLING_WORKER", "BILLING_READER", "BILLING_VIEWER", "BILLING_INVOICES", "SYS"} {
		t.Setenv("CARILLON_"+user+"_PASSWORD", passwordOf(user))
	}
	server := natstest.Server(t, func(o *natsserver.Options) { o.ConfigFile = "../../deploy/nats/carillon.conf" })
	return &fence{t: t, server: server, ca: ca}
}

func passwordOf(user string) string {
	return "secret-of-" + strings.ToLower(strings.ReplaceAll(user, "_", "-"))
}

// connect connects as a user over the network, as the file prescribes. Refusals of the server go to the channel.
func (f *fence) connect(user string) (*nats.Conn, jetstream.JetStream, <-chan error) {
	f.t.Helper()
	refused := make(chan error, 100)
	conn, err := nats.Connect(f.server.ClientURL(),
		nats.RootCAs(f.ca.Path("ca.pem")), nats.UserInfo(user, passwordOf(user)),
		nats.CustomInboxPrefix("_INBOX_"+strings.ReplaceAll(user, "-", "_")),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err }))
	require.NoError(f.t, err)
	f.t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(f.t, err)
	return conn, js, refused
}

// TestServiceMayArchive: the permissions of deploy/nats are enough for the archive of the installation, and for no other bucket.
func TestServiceMayArchive(t *testing.T) {
	f := newFence(t)
	conn, js, refused := f.connect("service")
	store := archive.Store{JS: js, Bus: natstest.Bus(t, js), Names: subjects.Default(), Replicas: 1}
	bucket, err := store.Open(t.Context(), "jetstream://")
	require.NoError(t, err)
	require.NoError(t, bucket.Put(t.Context(), "a/b.json", []byte("text")))
	read, err := bucket.Get(t.Context(), "a/b.json")
	require.NoError(t, err)
	require.Equal(t, "text", string(read))
	require.NoError(t, bucket.Close())
	require.Empty(t, refused)
	require.NoError(t, conn.Publish("$O.others.M.x", nil))
	require.ErrorContains(t, <-refused, "permissions violation")
}

// TestAccess: with the permissions of deploy/nats, everything that a client and a worker need works, and everything else is
// refused.
func TestAccess(t *testing.T) {
	f := newFence(t)
	conn, js, refusedService := f.connect("service")
	s := newSystemOf(t, subjects.Default(), conn, js, topology.Settings{Shards: 2})
	operator, _, _ := f.connect("operator")
	manager, err := client.New(operator, client.Config{})
	require.NoError(t, err)
	_, err = manager.CreateNamespace(t.Context(), "billing", schedule.CreateNamespaceRequest{})
	require.NoError(t, err)
	billing, _, refusedClient := f.connect("billing")
	api, err := client.New(billing, client.Config{Namespace: "billing"})
	require.NoError(t, err)
	described, err := api.DescribeNamespace(t.Context(), "billing")
	require.NoError(t, err)
	require.NotNil(t, described.Info.Usage)
	invoices, _, refusedWorker := f.connect("billing-invoices")
	ran := f.worker(invoices)

	_, err = api.Create(t.Context(), schedule.CreateRequest{ID: "monthly", Schedule: schedule.Schedule{
		Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}},
		Action: schedule.Action{Type: "invoice", TaskQueue: "invoices"},
	}})
	require.NoError(t, err)
	events, err := api.Watch(t.Context(), "monthly")
	require.NoError(t, err)
	_, err = api.Trigger(t.Context(), schedule.TriggerRequest{ID: "monthly"})
	require.NoError(t, err)
	for event, err := range events {
		require.NoError(t, err)
		if event.Kind == schedule.EventCompleted {
			break
		}
	}
	require.Equal(t, "monthly", (<-ran).ScheduleID)
	mistyped, err := api.Create(t.Context(), schedule.CreateRequest{ID: "mistyped", Schedule: schedule.Schedule{
		Action: schedule.Action{Type: "invoise", TaskQueue: "invoices"},
	}})
	require.NoError(t, err)
	require.Len(t, mistyped.Info.Warnings, 1, "the worker is asked which types it has, and may answer")
	assert.Contains(t, mistyped.Info.Warnings[0].Message, `did you mean "invoice"?`)
	f.seen(operator, conn)
	for who, refused := range map[string]<-chan error{"service": refusedService, "client": refusedClient, "worker": refusedWorker} {
		select {
		case err := <-refused:
			assert.Fail(t, "refused to the "+who, "%v", err)
		default:
		}
	}
	t.Run("poisoned", func(t *testing.T) { f.poisoned(t, s, invoices) })
	t.Run("forged", func(t *testing.T) { f.forged(t, s, invoices) })
	t.Run("replies", func(t *testing.T) { f.replies(t, billing) })
}

// seen: a process with the permissions of the service can be seen by an operator.
func (f *fence) seen(operator, service *nats.Conn) {
	ctx, cancel := context.WithCancel(f.t.Context())
	var announced sync.WaitGroup
	defer announced.Wait()
	defer cancel()
	self := presence.Process{Host: "h1", PID: 1, Roles: []string{"generator"}}
	announced.Go(func() {
		assert.NoError(f.t, presence.Announce(ctx, service, subjects.Default(), func() presence.Process { return self }))
	})
	natstest.Eventually(f.t, patience, "the process answers", func() bool {
		brief, end := context.WithTimeout(ctx, 200*time.Millisecond)
		defer end()
		all, err := presence.All(brief, operator, subjects.Default())
		require.NoError(f.t, err)
		return slices.ContainsFunc(all, func(p presence.Process) bool { return p.Host == self.Host })
	})
}

// worker runs a worker of the queue invoices.
func (f *fence) worker(conn *nats.Conn) <-chan worker.Run {
	w, err := worker.New(conn, worker.Config{
		Namespace: "billing", TaskQueue: "invoices", JetStreamAPIPrefix: "js.carillon.API", Logger: natstest.Logger(f.t),
	})
	require.NoError(f.t, err)
	ran := make(chan worker.Run, 10)
	w.Register("invoice", func(_ context.Context, run *worker.Run) (any, error) {
		ran <- *run
		return nil, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	f.t.Cleanup(func() {
		cancel()
		assert.NoError(f.t, <-done)
	})
	return ran
}

// poisoned lets a worker report messages that clients of NATS take for a word of the server about the consumer rather than for
// a message. They would be neither handled nor acknowledged.
func (f *fence) poisoned(t *testing.T, s *system, forger *nats.Conn) {
	js, err := jetstream.New(forger)
	require.NoError(t, err)
	key := schedule.Key{Namespace: "billing", ID: "monthly"}
	for status, description := range map[string]string{
		"100": "Idle Heartbeat", "400": "Bad Request", "404": "No Messages", "408": "Request Timeout", "409": "Consumer Deleted", "503": "",
	} {
		for _, subject := range []string{
			s.names.Callback(s.store.ShardOf(key), key, "invoices", status), s.names.WorkerDeadLetter("billing", "invoices"),
			s.names.Progress("billing", "invoices", status),
		} {
			_, err = js.PublishMsg(t.Context(), &nats.Msg{Subject: subject, Header: nats.Header{"Status": {status}, "Description": {description}}})
			require.NoError(t, err)
		}
	}
	natstest.Eventually(t, patience, "all of it is dealt with", func() bool {
		consumer, err := s.js.Consumer(t.Context(), s.names.CallbackStream(s.store.ShardOf(key)), subjects.PoolInvoker)
		require.NoError(t, err)
		return consumer.CachedInfo().NumPending == 0 && consumer.CachedInfo().NumAckPending == 0
	})
	_, operator, _ := f.connect("operator")
	letters, err := deadletter.NewReader(operator, s.names).List(t.Context(), deadletter.Filter{})
	require.NoError(t, err)
	require.NotEmpty(t, letters)
}

// forged lets the worker of one queue report, on the subjects that it may use, that a run of another queue has ended.
func (f *fence) forged(t *testing.T, s *system, forger *nats.Conn) {
	js, err := jetstream.New(forger)
	require.NoError(t, err)
	conn, _, _ := f.connect("operator")
	api, err := client.New(conn, client.Config{Namespace: "billing"})
	require.NoError(t, err)
	_, err = api.Create(t.Context(), schedule.CreateRequest{ID: "refund", Schedule: schedule.Schedule{
		Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Hour)}}},
		Action: schedule.Action{Type: "refund", TaskQueue: "refunds"},
	}})
	require.NoError(t, err)
	_, err = api.Trigger(t.Context(), schedule.TriggerRequest{ID: "refund"})
	require.NoError(t, err)
	var run schedule.Run
	key := schedule.Key{Namespace: "billing", ID: "refund"}
	natstest.Eventually(t, patience, "the run is queued", func() bool {
		d, err := api.Describe(t.Context(), "refund")
		require.NoError(t, err)
		if len(d.Info.RunningWorkflows) == 1 {
			run = d.Info.RunningWorkflows[0]
		}
		return run.RequestID != ""
	})
	body, err := json.Marshal(schedule.Completion{RequestID: run.RequestID, RunID: run.RunID, Status: schedule.StatusFailed})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), s.names.Callback(s.store.ShardOf(key), key, "invoices", run.RequestID), body)
	require.NoError(t, err, "it may use the subject")
	stream, err := s.js.Stream(t.Context(), s.names.TaskStream(s.store.ShardOf(key)))
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the forged completion is dealt with", func() bool {
		_, err := stream.GetLastMsgForSubject(t.Context(), s.names.Callback(s.store.ShardOf(key), key, "invoices", run.RequestID))
		return errors.Is(err, jetstream.ErrMsgNotFound)
	})
	d, err := api.Describe(t.Context(), "refund")
	require.NoError(t, err)
	require.Len(t, d.Info.RunningWorkflows, 1, "the run goes on")
}

// replies lets a client ask for answers on subjects where it may not send: NATS does not check the subjects for replies.
func (f *fence) replies(t *testing.T, billing *nats.Conn) {
	service, _, _ := f.connect("service")
	operator, _, _ := f.connect("operator")
	ask := func(reply string) {
		t.Helper()
		before := requestsOf(t, operator, "schedule.count")
		require.NoError(t, billing.PublishMsg(&nats.Msg{Subject: "carillon.api.billing.schedule.count", Reply: reply, Data: []byte("{}")}))
		natstest.Eventually(t, patience, "the request is dealt with", func() bool { return requestsOf(t, operator, "schedule.count") > before })
	}
	for _, reply := range []string{
		"$KV.carillon-state-0.billing.monthly.definition", "carillon.api.other.schedule.delete",
		"carillon.task.0.invoke.billing.monthly.wake", "carillon.callback.0.billing.refunds.refund.x", "carillon.event.other.x.created",
		"carillon.timer.0.due.billing.monthly", "carillon.action.billing.refunds.x", "carillon.frontend.beat", "$SRV.PING",
	} {
		heard, err := service.SubscribeSync(reply)
		require.NoError(t, err)
		require.NoError(t, service.Flush())
		ask(reply)
		require.NoError(t, service.Flush())
		count, _, err := heard.Pending()
		require.NoError(t, err)
		require.Zero(t, count, reply)
	}

	// Its own events show where the frontend wants their acknowledgements.
	events, err := billing.SubscribeSync("carillon.event.billing.>")
	require.NoError(t, err)
	require.NoError(t, billing.Flush())
	api, err := client.New(operator, client.Config{Namespace: "billing"})
	require.NoError(t, err)
	for n := range 20 {
		_, err := api.Update(t.Context(), schedule.UpdateRequest{ID: "monthly", Schedule: schedule.Schedule{
			Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(time.Duration(n+1) * time.Hour)}}},
			Action: schedule.Action{Type: "invoice", TaskQueue: "invoices"},
		}})
		require.NoError(t, err)
		event, err := events.NextMsg(patience)
		require.NoError(t, err)
		sniffed := &nats.Msg{Subject: "carillon.api.billing.schedule.count", Reply: event.Reply, Data: []byte("{}")}
		require.NoError(t, billing.PublishMsg(sniffed), "which may come before the acknowledgement")
		inbox, last := cutLast(event.Reply)
		number, err := strconv.ParseUint(last, 36, 64)
		require.NoError(t, err)
		for near := number - 20; near != number+20; near++ {
			reply := inbox + strconv.FormatUint(near, 36)
			require.NoError(t, billing.PublishMsg(&nats.Msg{Subject: "carillon.api.billing.schedule.count", Reply: reply, Data: []byte("{}")}))
		}
	}
	require.NoError(t, events.Unsubscribe())
}

// cutLast cuts a subject before its last token.
func cutLast(subject string) (before, last string) {
	at := strings.LastIndexByte(subject, '.') + 1
	return subject[:at], subject[at:]
}

// requestsOf is how many requests of a verb the frontend has handled.
func requestsOf(t *testing.T, operator *nats.Conn, verb string) (requests int) {
	t.Helper()
	answer, err := operator.Request("$SRV.STATS", nil, patience)
	require.NoError(t, err)
	var stats struct {
		Endpoints []struct {
			Subject string `json:"subject"`
			Data    struct {
				Requests int `json:"requests"`
			} `json:"data"`
		} `json:"endpoints"`
	}
	require.NoError(t, json.Unmarshal(answer.Data, &stats))
	for _, endpoint := range stats.Endpoints {
		if strings.HasSuffix(endpoint.Subject, "."+verb) {
			requests += endpoint.Data.Requests
		}
	}
	return requests
}

// TestATenantTakesSoManyConnections: one tenant does not use up the connections of the server, whatever it does with its
// credentials.
func TestATenantTakesSoManyConnections(t *testing.T) {
	f := newFence(t)
	taken := 0
	for ; taken < 200; taken++ {
		conn, err := nats.Connect(f.server.ClientURL(), nats.RootCAs(f.ca.Path("ca.pem")), nats.UserInfo("billing", passwordOf("billing")))
		if err != nil {
			require.ErrorIs(t, err, nats.ErrMaxAccountConnectionsExceeded)
			break
		}
		defer conn.Close()
	}
	require.Equal(t, 100, taken)
	f.connect("billing-invoices")
	f.connect("service")
}
