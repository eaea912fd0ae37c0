package systemtest

import (
	"encoding/json"
	"fmt"
	"maps"
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
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/simulation/jsmodel"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Hindering others by the mere number or size of messages is no attempt here: accounts do not bound these.

// attempt is one message of a malicious sender. Whatever becomes of it, no stored data changes except the sender's own, and
// nothing arrives in the account of the installation on the subject that the answer was to go to.
type attempt struct {
	user, name string
	message    nats.Msg
	// refused says that the server refuses it.
	refused bool
	// alone says that the message does not leave the account of the user.
	alone bool
	// check checks the answer, nil for no answer. It is for messages without a reply subject.
	check func(t *testing.T, answer *nats.Msg)
}

// own is the stored data that each tenant may change: a part of the subject.
var own = map[string][]string{
	"billing":          {".billing."},
	"billing-invoices": {".billing.invoices."},
}

// mark is in everything that the others do, and nobody else may hear it.
const mark = "none-of-your-business"

// evilReplies are forbidden reply subjects. JetStream would store such an answer, or act on it. NATS lets the answer through
// where it checks nothing but the subject of a message.
func evilReplies(record string) map[string]string {
	return map[string]string{
		"a record of another":         record,
		"the API":                     "carillon.api.other.schedule.delete",
		"the end of the history":      "$JS.API.STREAM.PURGE.CARILLON_EVENTS",
		"the end of a stream":         "$JS.API.STREAM.DELETE.CARILLON_DLQ",
		"a consumer of all records":   "$JS.API.CONSUMER.CREATE.KV_carillon-state-0",
		"the end of a consumer":       "$JS.API.CONSUMER.DELETE.CARILLON_ACTIONS.worker_billing_refunds",
		"the consumer of another":     "carillon.consumer.billing.refunds",
		"an inbox of the service":     "_INBOX_service.guessed.1",
		"an inbox of a trusted one":   "_INBOX_worker.guessed.1",
		"a task of another":           "carillon.task.0.invoke.other.yearly.wake",
		"a timer of another":          "carillon.timer.0.due.other.yearly",
		"a completion of another":     "carillon.callback.0.billing.refunds.refund.x",
		"an order to another":         "carillon.control.billing.refunds.x",
		"a run of another":            "carillon.action.billing.refunds.x",
		"an event of another":         "carillon.event.other.yearly.deleted",
		"a dead letter of a pool":     "carillon.dlq.invoker",
		"the server":                  "$SYS.REQ.SERVER.PING.CONNZ",
		"an answer of another":        "_R_.guessed.1",
		"an answer of another region": "_GR_.guessed.guessed.1",
		"an ack of another":           "$JS.ACK.CARILLON_ACTIONS.worker_billing_refunds.1.1.1.1.0",
		"an ack of a pool":            "$JS.ACK.CARILLON_TASKS_0.invoker.1.1.1.1.0",
		"a fast batch":                "guessed.10.ok.1.2.$FI",
	}
}

// reservedReplies are the reply subjects that the server refuses to every client.
var reservedReplies = []string{"_R_.", "_GR_.", "$JS.ACK."}

// evilHeaders are the headers by which JetStream and the server do more than store a message.
func evilHeaders(record string) map[string]nats.Header {
	return map[string]nats.Header{
		"roll-up of all":             {"Nats-Rollup": {"all"}},
		"roll-up of a subject":       {"Nats-Rollup": {"sub"}},
		"a schedule for another":     {"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {"carillon.task.0.invoke.other.yearly.wake"}},
		"a schedule with a roll-up":  {"Nats-Schedule": {"@every 1s"}, "Nats-Schedule-Target": {"carillon.event.other.x.created"}, "Nats-Schedule-Rollup": {"sub"}},
		"a schedule with a source":   {"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {"carillon.callback.0.billing.invoices.x.y"}, "Nats-Schedule-Source": {record}},
		"a schedule with a lifetime": {"Nats-Schedule": {"@at 2020-01-01T00:00:00Z"}, "Nats-Schedule-Target": {"carillon.callback.0.other.q.x.y"}, "Nats-Schedule-TTL": {"never"}},
		"the end of another's timer": {"Nats-Scheduler": {"carillon.timer.0.due.other.yearly"}, "Nats-Schedule-Next": {"purge"}},
		"an early timer of another":  {"Nats-Scheduler": {"carillon.timer.0.due.other.yearly"}, "Nats-Schedule-Next": {"2020-01-01T00:00:00Z"}},
		"a lifetime":                 {"Nats-TTL": {"1s"}},
		"a lifetime without end":     {"Nats-TTL": {"never"}},
		"the ID of another message":  {"Nats-Msg-Id": {"CARILLON_ACTIONS-1"}},
		"another's last ID":          {"Nats-Expected-Last-Msg-Id": {"x"}, "Nats-Expected-Last-Sequence": {"0"}},
		"a counter":                  {"Nats-Incr": {"+1"}},
		"the sources of a counter":   {"Nats-Incr": {"+1"}, "Nats-Counter-Sources": {`{"KV_carillon-state-0":{"` + record + `":"1"}}`}},
		"the mark of a purge":        {"Nats-Marker-Reason": {"Purge"}, "KV-Operation": {"PURGE"}},
		"a batch":                    {"Nats-Batch-Id": {"b"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}},
		"another stream":             {"Nats-Expected-Stream": {"KV_carillon-state-0"}},
		"another's last sequence":    {"Nats-Expected-Last-Subject-Sequence": {"0"}, "Nats-Expected-Last-Subject-Sequence-Subject": {record}},
		"the origin of a mirror":     {"Nats-Stream-Source": {"KV_carillon-state-0:1 1 > >"}},
		"where it was stored":        {"Nats-Stream": {"KV_carillon-state-0"}, "Nats-Subject": {record}, "Nats-Sequence": {"1"}},
		"somebody else as client":    {"Nats-Request-Info": {`{"acc":"CARILLON","svc":"CARILLON","user":"operator"}`}},
		"the system as client":       {"Nats-Request-Info": {`{"acc":"SYS","rply":"` + record + `"}`}},
		"a trace into a record":      {"Nats-Trace-Dest": {record}},
		"a trace into a stream":      {"Nats-Trace-Dest": {"carillon.event.other.x.created"}, "Nats-Trace-Only": {"true"}},
		"a pin":                      {"Nats-Pin-Id": {"x"}},
		"another format":             {"Content-Type": {"application/octet-stream"}, "Status": {"404"}},
	}
}

// TestAttempts tries, with the credentials of each user of deploy/nats, what the user may not do.
func TestAttempts(t *testing.T) {
	f := newFence(t)
	conn, js, _ := f.connect("service")
	s := newSystemOf(t, subjects.Default(), conn, js, topology.Settings{Shards: 2})
	a := newAttacked(t, f, s)
	a.trusted(t)

	total := 0
	for _, all := range [][]attempt{a.repliesAndHeaders(), a.strangers(), a.bodies()} {
		for _, one := range all {
			t.Run(one.user+"/"+one.name, func(t *testing.T) { a.try(t, &one) })
			total++
		}
	}
	total += a.sniff(t)
	for user, c := range refusals {
		for _, subject := range c.publish {
			t.Run(user+"/publish "+subject, func(t *testing.T) { a.refused(t, user, subject, "") })
			total++
		}
		for _, subject := range c.subscribe {
			t.Run(user+"/subscribe to "+subject, func(t *testing.T) { a.refused(t, user, "", subject) })
			total++
		}
	}
	for _, user := range []string{"nobody", "billing"} {
		_, err := nats.Connect(f.server.ClientURL(), nats.RootCAs(f.ca.Path("ca.pem")), nats.UserInfo(user, "guessed"))
		require.ErrorIs(t, err, nats.ErrAuthorization)
		total++
	}
	assert.Empty(t, a.changes(a.first, "billing", "billing-invoices"), "after all of them")
	t.Logf("%d attempts", total)
	assert.GreaterOrEqual(t, total, 60)
}

// trusted shows that permissions alone do not help, and that the spy would notice it: the answer to a worker in the account of
// the installation goes to any subject that the worker names.
func (a *attacked) trusted(t *testing.T) {
	const anywhere = "nobody.may.send.this"
	conn := a.users["worker"].conn
	require.NoError(t, conn.PublishMsg(&nats.Msg{Subject: "carillon.progress.default.default.x", Reply: anywhere, Data: []byte("{}")}))
	natstest.Eventually(t, patience, "it is answered there", func() bool { return a.spy.on(t, anywhere) == 1 })
	require.NoError(t, conn.PublishRequest(anywhere, conn.NewInbox(), nil))
	require.NoError(t, conn.Flush())
	a.awaitRefusal(t, "worker")
	a.first = a.settled(t)
}

// attacked is an installation with data of others, and everybody who is connected to it.
type attacked struct {
	fence  *fence
	system *system
	users  map[string]*attacker
	spy    *spy
	// run belongs to another queue and waits for a worker. record belongs to another namespace.
	run    schedule.Run
	record string
	// permitted are the messages that each tenant may send.
	permitted map[string][]nats.Msg
	// first is what was stored before the first attempt.
	first map[string]string
	js    jetstream.JetStream
}

type attacker struct {
	conn    *nats.Conn
	refused <-chan error
}

func newAttacked(t *testing.T, f *fence, s *system) *attacked {
	t.Helper()
	operator, js, _ := f.connect("operator")
	a := &attacked{fence: f, system: s, js: js, users: map[string]*attacker{}}
	for _, user := range []string{"billing", "billing-invoices", "worker", "service"} {
		conn, _, refused := f.connect(user)
		a.users[user] = &attacker{conn, refused}
	}
	manager, err := client.New(operator, client.Config{})
	require.NoError(t, err)
	for _, name := range []string{"billing", "other"} {
		_, err := manager.CreateNamespace(t.Context(), name, schedule.CreateNamespaceRequest{})
		require.NoError(t, err)
	}
	a.busy(t, "yearly", "refund", "monthly")
	_, err = js.CreateConsumer(t.Context(), "CARILLON_ACTIONS", s.names.WorkerConsumer("billing", "refunds"))
	require.NoError(t, err)
	_, err = js.CreateConsumer(t.Context(), "CARILLON_ACTIONS", s.names.WorkerConsumer("billing", "invoices"))
	require.NoError(t, err)
	key := schedule.Key{Namespace: "other", ID: "yearly"}
	a.record = subjects.BucketSubject(s.names.StateBucket(s.store.ShardOf(key)), subjects.StateKey(key, subjects.KindDefinition))
	_, err = js.Publish(t.Context(), s.names.Control("billing", "refunds", "x"), []byte(mark))
	require.NoError(t, err)
	a.permitted = map[string][]nats.Msg{}
	for user := range own {
		a.permitted[user] = a.permittedTo(user)
	}
	f.runGateway(f.cluster())
	a.spy = spyOn(t, operator)
	a.first = a.settled(t)
	require.Contains(t, strings.Join(slices.Collect(maps.Keys(a.first)), "\n"), a.record)
	return a
}

// busy creates and triggers schedules of others, whose runs wait for a worker, and one of the tenant, paused.
func (a *attacked) busy(t *testing.T, yearly, refund, monthly string) {
	t.Helper()
	for _, c := range []struct{ namespace, id, queue string }{
		{"other", yearly, mark}, {"billing", refund, "refunds"}, {"billing", monthly, "invoices"},
	} {
		api := a.api(t, c.namespace)
		_, err := api.Create(t.Context(), schedule.CreateRequest{ID: c.id, Schedule: schedule.Schedule{
			Spec:   schedule.Spec{Intervals: []schedule.Interval{{Every: schedule.Duration(8760 * time.Hour)}}},
			Action: schedule.Action{Type: "pay", TaskQueue: c.queue},
			State:  schedule.State{Paused: c.id == monthly},
		}})
		require.NoError(t, err)
		if c.id == monthly {
			continue
		}
		_, err = api.Trigger(t.Context(), schedule.TriggerRequest{ID: c.id})
		require.NoError(t, err)
		natstest.Eventually(t, patience, "the run is queued", func() bool {
			d, err := api.Describe(t.Context(), c.id)
			require.NoError(t, err)
			if len(d.Info.RunningWorkflows) == 1 {
				a.run = d.Info.RunningWorkflows[0]
			}
			return len(d.Info.RunningWorkflows) == 1
		})
	}
}

func (a *attacked) api(t *testing.T, namespace string) *client.Client {
	t.Helper()
	api, err := client.New(a.js.Conn(), client.Config{Namespace: namespace})
	require.NoError(t, err)
	return api
}

// stored is every message of every stream, by stream, subject and sequence, and the configuration of all streams and durable
// consumers. The pulse, which shows that timers work, comes and goes, and is left out.
func (a *attacked) stored(t *testing.T) map[string]string {
	t.Helper()
	ctx, all := t.Context(), map[string]string{}
	streams := a.js.ListStreams(ctx)
	for info := range streams.Info() {
		config, err := json.Marshal(info.Config)
		require.NoError(t, err)
		all[info.Config.Name] = string(config)
		stream, err := a.js.Stream(ctx, info.Config.Name)
		require.NoError(t, err)
		for next := uint64(1); ; next++ {
			msg, found := a.next(t, info.Config.Name, next)
			if !found {
				break
			}
			if next = msg.Sequence; !strings.Contains(msg.Subject, ".timer.") || !strings.Contains(msg.Subject, ".pulse") {
				all[fmt.Sprintf("%s %s. %d", info.Config.Name, msg.Subject, next)] = string(msg.Header) + string(msg.Data)
			}
		}
		consumers := stream.ListConsumers(ctx)
		for info := range consumers.Info() {
			if info.Config.Durable != "" {
				config, err := json.Marshal(info.Config)
				require.NoError(t, err)
				all[info.Stream+" > "+info.Name] = string(config)
			}
		}
		require.NoError(t, consumers.Err())
	}
	require.NoError(t, streams.Err())
	return all
}

// storedMessage is a message as the leader of its stream returns it. A direct get would believe headers of the sender.
type storedMessage struct {
	Subject  string `json:"subject"`
	Sequence uint64 `json:"seq"`
	Header   []byte `json:"hdrs"`
	Data     []byte `json:"data"`
}

// next is the first message of a stream from a sequence on.
func (a *attacked) next(t *testing.T, stream string, from uint64) (message storedMessage, found bool) {
	t.Helper()
	body := fmt.Appendf(nil, `{"seq":%d,"next_by_subj":">"}`, from)
	reply, err := a.js.Conn().Request("$JS.API.STREAM.MSG.GET."+stream, body, patience)
	require.NoError(t, err)
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message storedMessage       `json:"message"`
	}
	require.NoError(t, json.Unmarshal(reply.Data, &answer))
	if answer.Error != nil {
		require.Equal(t, jetstream.JSErrCodeMessageNotFound, answer.Error.ErrorCode)
	}
	return answer.Message, answer.Error == nil
}

// settled is what is stored once nothing more is written.
func (a *attacked) settled(t *testing.T) (found map[string]string) {
	t.Helper()
	before := a.stored(t)
	natstest.Eventually(t, patience, "nothing more is written", func() bool {
		found = a.stored(t)
		same := maps.Equal(before, found)
		before = found
		return same
	})
	return found
}

// changes are the changes to stored data, except to the users' own.
func (a *attacked) changes(before map[string]string, users ...string) (changed []string) {
	after := a.stored(a.fence.t)
	for _, all := range []map[string]string{before, after} {
		for place := range all {
			if before[place] == after[place] || slices.Contains(changed, place) {
				continue
			}
			isOwn := slices.ContainsFunc(users, func(user string) bool {
				return slices.ContainsFunc(own[user], func(part string) bool { return strings.Contains(place, part) })
			})
			if !isOwn {
				changed = append(changed, place)
			}
		}
	}
	return changed
}

// spy hears everything that is sent in the account of the installation.
type spy struct {
	conn *nats.Conn

	mu    sync.Mutex
	heard map[string]int // by subject, and by subject and data
}

func spyOn(t *testing.T, operator *nats.Conn) *spy {
	t.Helper()
	s := &spy{heard: map[string]int{}, conn: operator}
	_, err := operator.Subscribe(">", func(msg *nats.Msg) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.heard[msg.Subject]++
		s.heard[said(msg.Subject, msg.Data)]++
	})
	require.NoError(t, err)
	require.NoError(t, operator.Flush())
	return s
}

func said(subject string, data []byte) string { return subject + " " + string(data) }

// saying is how many messages with this data it has heard on a subject.
func (s *spy) saying(t *testing.T, subject string, data []byte) int {
	t.Helper()
	return s.on(t, said(subject, data))
}

// on is how many messages it has heard on a subject.
func (s *spy) on(t *testing.T, subject string) int {
	t.Helper()
	require.NoError(t, s.conn.Flush())
	passed := make(chan struct{})
	require.NoError(t, s.conn.Barrier(func() { close(passed) }))
	<-passed
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heard[subject]
}

// try makes an attempt, and waits until an honest message that was sent after it has been answered.
func (a *attacked) try(t *testing.T, one *attempt) {
	who, before := a.users[one.user], a.stored(t)
	message := one.message
	var answers *nats.Subscription
	if message.Reply == "" {
		message.Reply = who.conn.NewInbox()
		var err error
		answers, err = who.conn.SubscribeSync(message.Reply)
		require.NoError(t, err)
		defer func() { _ = answers.Unsubscribe() }()
	}
	replies, same := a.spy.on(t, message.Reply), a.spy.saying(t, message.Subject, message.Data)
	require.NoError(t, who.conn.PublishMsg(&message))
	require.NoError(t, who.conn.Flush())
	if one.refused {
		a.awaitRefusal(t, one.user)
	}
	a.ask(t, one)
	var answer *nats.Msg
	if answers != nil {
		answer, _ = answers.NextMsg(time.Millisecond) // it came before the answer to the honest message, or will never come
	}
	if one.check != nil {
		one.check(t, answer)
	}
	if answers == nil {
		assert.Equal(t, replies, a.spy.on(t, message.Reply), "answered where it may send nothing")
	}
	if one.alone {
		assert.Equal(t, same, a.spy.saying(t, message.Subject, message.Data), "left the account")
	}
	assert.Empty(t, a.changes(before, one.user))
}

// ask sends an honest message to the destination of an attempt, if anybody answers there, and waits for its answer. Nobody ever answers on the
// subjects that stand for a right.
func (a *attacked) ask(t *testing.T, one *attempt) {
	t.Helper()
	permitted := a.permitted[one.user]
	honest := permitted[0]
	for _, message := range permitted {
		if message.Subject == one.message.Subject && !strings.Contains(message.Subject, ".workflow.") {
			honest = message
		}
	}
	_, err := a.users[one.user].conn.RequestMsg(&honest, patience)
	require.NoError(t, err, "it can be sent")
}

func (a *attacked) awaitRefusal(t *testing.T, user string) {
	t.Helper()
	select {
	case err := <-a.users[user].refused:
		require.ErrorIs(t, err, nats.ErrPermissionViolation)
	case <-time.After(patience):
		require.Fail(t, "not refused")
	}
}

// permittedTo are the messages that the imports of a tenant let through, each with a body that has an effect.
func (a *attacked) permittedTo(user string) (all []nats.Msg) {
	account := strings.ToUpper(strings.ReplaceAll(user, "-", "_"))
	accounts := natsConfig(a.fence.t, "nats/carillon.conf")["accounts"].(values)
	for _, each := range accounts[account].(values)["imports"].([]any) {
		imported := each.(values)
		service, ok := imported["service"].(values)
		if !ok {
			continue
		}
		subject := service["subject"].(string)
		if to, ok := imported["to"].(string); ok {
			subject = to
		}
		all = append(all, a.example(subject))
	}
	require.NotEmpty(a.fence.t, all)
	return all
}

// example is a message that an import lets through.
func (a *attacked) example(subject string) nats.Msg {
	completion, err := json.Marshal(schedule.Completion{RequestID: a.run.RequestID, RunID: a.run.RunID, Status: schedule.StatusFailed})
	require.NoError(a.fence.t, err)
	subject = strings.ReplaceAll(subject, "*", strconv.Itoa(a.system.store.ShardOf(schedule.Key{Namespace: "billing", ID: "refund"})))
	for _, c := range []struct{ part, end, body string }{
		{".workflow.", "", `0`},
		{".api.", "describe", `{"id":"monthly"}`},
		{"CONSUMER.CREATE", ">", `{}`},
		{"CONSUMER.INFO", "", ``},
		{"MSG.NEXT", "", `{"batch":1,"no_wait":true}`},
		{"$JS.ACK", "1.1.1.1.0", `+WPI`},
		{"DIRECT.GET", "x", ``},
		{".callback.", "refund." + a.run.RequestID, string(completion)},
		{".progress.", "x", `{"id":"yearly","runId":"x"}`},
		{".dlq.", "x", `{"id":"yearly"}`},
	} {
		if strings.Contains(subject, c.part) {
			return nats.Msg{Subject: strings.TrimSuffix(subject, ">") + strings.Repeat(c.end, strings.Count(subject, ">")), Data: []byte(c.body)}
		}
	}
	require.Fail(a.fence.t, "no example", subject)
	return nats.Msg{}
}

// repliesAndHeaders are all messages that a tenant may send, with every reply subject and every header.
func (a *attacked) repliesAndHeaders() (all []attempt) {
	replies, headers := evilReplies(a.record), evilHeaders(a.record)
	for user, permitted := range a.permitted {
		for _, message := range permitted {
			for _, name := range slices.Sorted(maps.Keys(replies)) {
				m := message
				m.Reply = replies[name]
				isReserved := slices.ContainsFunc(reservedReplies, func(begin string) bool { return strings.HasPrefix(m.Reply, begin) })
				all = append(all, attempt{user: user, name: m.Subject + " answered to " + name, message: m, refused: isReserved})
			}
			for _, name := range slices.Sorted(maps.Keys(headers)) {
				m := message
				m.Header = maps.Clone(headers[name])
				all = append(all, attempt{user: user, name: m.Subject + " with " + name, message: m})
			}
		}
	}
	return all
}

// strangers are messages to subjects where a tenant may send nothing. They stay in the sender's account.
func (a *attacked) strangers() (all []attempt) {
	for user, subjects := range map[string][]string{
		"billing": {
			"carillon.api.default.schedule.list", "carillon.api.other.schedule.delete", "carillon.api.*.schedule.list", "carillon.api._.namespace.list",
			"carillon.api.billing.namespace.update", "carillon.api.billing.namespace.unfreeze", "carillon.api.billing.namespace.delete",
			"carillon.api.billing.namespace.create", "carillon.api.other.namespace.describe", "carillon.api.billing.workflow.admin",
			"carillon.api.other.workflow.read", "carillon.api.other.workflow.work", "carillon.api._.workflow.read", "carillon.execution.0.billing.start",
			"carillon.visibility.billing.list", "carillon.journal.0.billing.w", "carillon.frontend.beat", "carillon.processes",
			"carillon.types.billing.invoices", "carillon.types.other.invoices", "carillon.alive.billing.refunds." + a.run.RunID,
			"carillon.consumer.billing.invoices", "carillon.progress.billing.invoices.x", "carillon.dlq.worker.billing.invoices", "carillon.dlq.invoker",
			"$JS.API.DIRECT.GET.KV_carillon-state-0." + a.record, "js.carillon.API.DIRECT.GET.KV_carillon-state-0." + a.record,
			"$JS.API.STREAM.MSG.GET.KV_carillon-state-0", "$JS.API.STREAM.INFO.CARILLON_EVENTS", "$JS.API.STREAM.NAMES", "$JS.API.INFO",
			"$JS.API.STREAM.DELETE.CARILLON_EVENTS", "$JS.API.STREAM.PURGE.CARILLON_EVENTS", "$JS.API.STREAM.CREATE.X",
			"$JS.API.CONSUMER.CREATE.CARILLON_EVENTS.x.carillon.event.>", "$JS.ACK.CARILLON_TASKS_0.invoker.1.1.1.1.0", "$JS.FC.CARILLON_EVENTS.x.x",
			a.record, "carillon.task.0.invoke.billing.refund.wake", "carillon.action.billing.refunds.x", "carillon.control.billing.refunds.x",
			"carillon.callback.0.billing.refunds.refund.x", "carillon.event.billing.monthly.completed", "carillon.timer.0.due.billing.refund",
			"$SRV.PING", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.CARILLON.CONNZ", "$SYS.REQ.ACCOUNT.CARILLON.JSZ", "$SYS.REQ.CLAIMS.UPDATE",
		},
		"billing-invoices": {
			"carillon.api.billing.schedule.list", "carillon.api.billing.workflow.work", "carillon.consumer.billing.refunds", "carillon.consumer.billing.*", "carillon.consumer.billing.>",
			"js.carillon.API.CONSUMER.CREATE.CARILLON_ACTIONS.worker_billing_invoices.carillon.action.billing.>.x",
			"js.carillon.API.CONSUMER.CREATE.CARILLON_ACTIONS.worker_billing_refunds.carillon.action.billing.refunds.>",
			"js.carillon.API.CONSUMER.CREATE.CARILLON_ACTIONS.worker_billing_invoices", "js.carillon.API.CONSUMER.CREATE.CARILLON_ACTIONS",
			"js.carillon.API.CONSUMER.DURABLE.CREATE.CARILLON_ACTIONS.worker_billing_invoices", "js.carillon.API.CONSUMER.NAMES.CARILLON_ACTIONS",
			"js.carillon.API.CONSUMER.INFO.CARILLON_ACTIONS.worker_billing_refunds", "js.carillon.API.CONSUMER.INFO.CARILLON_TASKS_0.invoker",
			"js.carillon.API.CONSUMER.MSG.NEXT.CARILLON_ACTIONS.worker_billing_refunds", "js.carillon.API.CONSUMER.MSG.NEXT.CARILLON_TASKS_0.invoker",
			"js.carillon.API.CONSUMER.DELETE.CARILLON_ACTIONS.worker_billing_invoices", "js.carillon.API.CONSUMER.PAUSE.CARILLON_ACTIONS.worker_billing_invoices",
			"js.carillon.API.CONSUMER.UNPIN.CARILLON_ACTIONS.worker_billing_invoices", "js.carillon.API.STREAM.INFO.CARILLON_CONTROL",
			"js.carillon.API.STREAM.MSG.DELETE.CARILLON_ACTIONS", "js.carillon.API.STREAM.PURGE.CARILLON_ACTIONS",
			"js.carillon.API.DIRECT.GET.CARILLON_CONTROL", "js.carillon.API.DIRECT.GET.CARILLON_CONTROL.carillon.control.billing.refunds.x",
			"js.carillon.API.DIRECT.GET.CARILLON_CONTROL.carillon.control.>", "js.carillon.API.DIRECT.GET.CARILLON_CONTROL.carillon.control.billing.*.x",
			"js.carillon.API.DIRECT.GET.CARILLON_EVENTS.carillon.event.billing.monthly.created", "js.carillon.API.DIRECT.GET.KV_carillon-state-0." + a.record,
			"$JS.API.CONSUMER.MSG.NEXT.CARILLON_ACTIONS.worker_billing_invoices", "$JS.API.STREAM.CREATE.CARILLON_ACTIONS",
			"$JS.ACK.CARILLON_ACTIONS.worker_billing_refunds.1.1.1.1.0", "$JS.ACK.hub.x.CARILLON_ACTIONS.worker_billing_refunds.1.1.1.1.0.x",
			"$JS.ACK.CARILLON_TASKS_0.invoker.1.1.1.1.0", "carillon.callback.0.billing.refunds.refund." + a.run.RequestID,
			"carillon.callback.0.other.invoices.yearly.x", "carillon.callback.0.billing.*.refund.x", "carillon.progress.billing.refunds.x",
			"carillon.progress.other.invoices.x", "carillon.control.billing.invoices.x", "carillon.control.billing.refunds.x",
			"carillon.action.billing.invoices.x", "carillon.alive.billing.invoices.x", "carillon.alive.billing.refunds." + a.run.RunID,
			"carillon.ack.billing.refunds.1.1.1.1.0", "carillon.ack.billing.invoices.1.1.1.1.0",
			"carillon.types.billing.invoices", "carillon.types.billing.refunds", "carillon.dlq.invoker", "carillon.dlq.worker", "carillon.dlq.worker.billing.refunds", "carillon.dlq.worker.other.invoices",
			"carillon.processes", "carillon.event.billing.monthly.completed", "carillon.task.0.generate.other.yearly.due",
			"carillon.task.0.invoke.billing.refund.wake", "carillon.timer.0.due.other.yearly", a.record, "$SYS.REQ.SERVER.PING",
		},
	} {
		for i, subject := range subjects {
			message := nats.Msg{Subject: subject, Data: fmt.Appendf(nil, `{"attempt":%d}`, i)}
			if strings.HasPrefix(subject, "$JS.API.CONSUMER.CREATE") {
				message.Data = nil // a message that the server cannot read is refused before the server checks its owner
			}
			all = append(all, attempt{user: user, name: "alone on " + subject, message: message, alone: true, check: unanswered})
		}
	}
	return all
}

// unanswered requires no answer, or that nobody is there, or that JetStream is for others.
func unanswered(t *testing.T, answer *nats.Msg) {
	if answer != nil && answer.Header.Get("Status") != "503" {
		assert.Contains(t, string(answer.Data), "JetStream not enabled for account")
	}
}

// bodies are permitted messages whose body asks for more.
func (a *attacked) bodies() (all []attempt) {
	create := a.find("CONSUMER.CREATE")
	wanted := a.system.names.WorkerConsumer("billing", "invoices")
	for name, body := range map[string]string{
		"delivery into a record":   `{"config":{"deliver_subject":"` + a.record + `"}}`,
		"delivery into the API":    `{"config":{"deliver_subject":"$JS.API.STREAM.PURGE.CARILLON_EVENTS","durable_name":"worker_billing_invoices"}}`,
		"all filters":              `{"config":{"filter_subjects":["carillon.action.>"],"durable_name":"worker_billing_invoices"}}`,
		"another filter":           `{"config":{"filter_subject":"carillon.action.billing.refunds.>"}}`,
		"no filter":                `{"config":{"filter_subject":"","durable_name":"worker_billing_invoices"},"action":"update"}`,
		"another name":             `{"config":{"durable_name":"worker_billing_refunds","name":"worker_billing_refunds"}}`,
		"another stream":           `{"stream_name":"KV_carillon-state-0","config":{}}`,
		"no acknowledgements":      `{"config":{"ack_policy":"none","durable_name":"worker_billing_invoices"},"action":"update"}`,
		"headers alone":            `{"config":{"headers_only":true},"action":"update"}`,
		"replay as it was":         `{"config":{"replay_policy":"original","deliver_policy":"all"}}`,
		"a short life":             `{"config":{"inactive_threshold":1000000}}`,
		"samples and metadata":     `{"config":{"sample_freq":"100%","metadata":{"a":"b"}}}`,
		"few deliveries, a pause":  `{"config":{"max_deliver":1,"pause_until":"2100-01-01T00:00:00Z"},"action":"update"}`,
		"what is no configuration": `{{{`,
	} {
		all = append(all, attempt{user: "billing-invoices", name: "consumer with " + name, message: nats.Msg{Subject: create.Subject, Data: []byte(body)},
			check: func(t *testing.T, answer *nats.Msg) {
				var made struct {
					Config jetstream.ConsumerConfig `json:"config"`
				}
				require.NotNil(t, answer)
				require.NoError(t, json.Unmarshal(answer.Data, &made))
				assert.Equal(t, wanted.FilterSubject, made.Config.FilterSubject)
				assert.Equal(t, wanted.Durable, made.Config.Durable)
				assert.Empty(t, made.Config.DeliverSubject)
			}})
	}
	discreet := func(t *testing.T, answer *nats.Msg) {
		if answer != nil {
			assert.NotContains(t, fmt.Sprint(answer.Subject, answer.Header, string(answer.Data)), mark)
			assert.NotContains(t, string(answer.Data), "refund")
		}
	}
	for part, bodies := range map[string][]string{
		"DIRECT.GET": {
			`{"seq":1}`, `{"last_by_subj":"carillon.control.billing.refunds.x"}`, `{"multi_last":[">"],"batch":100}`,
			`{"next_by_subj":">","seq":1,"batch":100}`, `{"start_time":"2020-01-01T00:00:00Z","next_by_subj":">"}`,
		},
		"CONSUMER.INFO": {`{"offset":0}`, `{"subjects_filter":">"}`},
		"MSG.NEXT": {
			`{"batch":100000,"no_wait":true}`, `{"batch":1,"no_wait":true,"group":"x"}`, `{"batch":1,"no_wait":true,"id":"x"}`, `{"batch":-1}`, `x`,
		},
		"$JS.ACK": {`+ACK`, `+TERM`, `-NAK {"delay":1}`, `+NXT {"batch":100,"no_wait":true}`, ``},
		".dlq.":   {``, mark},
	} {
		message := a.find(part)
		for _, body := range bodies {
			all = append(all, attempt{user: "billing-invoices", name: part + " saying " + body,
				message: nats.Msg{Subject: message.Subject, Data: []byte(body)}, check: discreet})
		}
	}
	// The queue of another has these sequences in the same stream.
	for sequence := range 6 {
		for _, body := range []string{"", "+TERM"} {
			subject := fmt.Sprintf("$JS.ACK.CARILLON_ACTIONS.worker_billing_invoices.1.%d.1.1.0", sequence)
			all = append(all, attempt{user: "billing-invoices", name: fmt.Sprintf("%s saying %q", subject, body),
				message: nats.Msg{Subject: subject, Data: []byte(body)}})
		}
	}
	return all
}

func (a *attacked) find(part string) nats.Msg {
	for _, message := range a.permitted["billing-invoices"] {
		if strings.Contains(message.Subject, part) {
			return message
		}
	}
	require.Fail(a.fence.t, "nothing is permitted", part)
	return nats.Msg{}
}

// sniff listens as each tenant while others work, and returns the number of attempts.
func (a *attacked) sniff(t *testing.T) int {
	// What may be heard, and where the allowed listeners hear something.
	mine := map[string][]string{
		"billing":          {"carillon.event.billing.>", "carillon.api.billing.schedule.describe", "_INBOX_billing.>"},
		"billing-invoices": {"carillon.control.billing.invoices.>", "carillon.types.billing.invoices"},
	}
	busy := []string{
		">", "*.>", "carillon.>", "carillon.event.>", "carillon.event.other.>", "carillon.control.>", "carillon.control.billing.refunds.>",
		"carillon.action.>", "carillon.task.>", "carillon.timer.>", "carillon.api.>", "carillon.api.billing.>", "carillon.frontend.>",
		"$KV.>", "$JS.>", "$JS.API.>", "$JS.ACK.>", "_INBOX_service.>", "_INBOX_service.*.*", "_R_.>",
	}
	quiet := []string{
		"carillon.processes", "carillon.types.>", "carillon.alive.>", "carillon.callback.>", "carillon.dlq.>", "carillon.progress.>",
		"carillon.consumer.>", "$SRV.>", "$SYS.>", "$JS.EVENT.ADVISORY.>", "_INBOX.>", "_INBOX_worker.>", "_GR_.>",
	}
	heard := map[string]*nats.Subscription{}
	for user := range mine {
		conn, _, _ := a.fence.connect(user)
		for _, subject := range slices.Concat(busy, quiet) {
			var err error
			heard[user+" "+subject], err = conn.SubscribeSync(subject)
			require.NoError(t, err)
			heard[user+" queue "+subject], err = conn.QueueSubscribeSync(subject, "frontend")
			require.NoError(t, err)
		}
		require.NoError(t, conn.Flush())
	}
	a.busy(t, "yearly-"+mark, "refund-2", "monthly-2")
	_, err := a.js.Publish(t.Context(), a.system.names.Control("billing", "refunds", "y"), []byte(mark))
	require.NoError(t, err)
	_, err = a.users["billing"].conn.Request("carillon.api.billing.schedule.describe", []byte(`{"id":"monthly"}`), patience)
	require.NoError(t, err)
	a.first = a.settled(t)
	a.spy.on(t, "") // everything that was sent has arrived
	for _, subject := range busy {
		assert.NotZero(t, a.spy.matching(subject), "there was nothing to hear: %s", subject)
	}
	for _, name := range slices.Sorted(maps.Keys(heard)) {
		t.Run(strings.Replace(name, " ", "/hear ", 1), func(t *testing.T) {
			user, _, _ := strings.Cut(name, " ")
			for {
				msg, err := heard[name].NextMsg(time.Millisecond)
				if err != nil {
					break
				}
				isMine := slices.ContainsFunc(mine[user], func(filter string) bool { return jsmodel.Matches(filter, msg.Subject) })
				assert.True(t, isMine, "%s: %s", msg.Subject, msg.Data)
			}
		})
	}
	return len(heard)
}

// matching is how many subjects with messages match a filter.
func (s *spy) matching(filter string) (count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for subject := range s.heard {
		if !strings.Contains(subject, " ") && jsmodel.Matches(filter, subject) {
			count++
		}
	}
	return count
}

// refusals are what permissions deny to the users in the account of the installation.
var refusals = map[string]struct{ publish, subscribe []string }{
	"worker": {
		publish: []string{
			"carillon.api.default.schedule.list", "$KV.carillon-state-0.default.x.definition",
			"$JS.API.DIRECT.GET.KV_carillon-state-0.$KV.carillon-state-0.default.x.definition",
			"$JS.API.CONSUMER.CREATE.CARILLON_ACTIONS.worker_default_default.carillon.action.default.>",
			"$JS.API.CONSUMER.CREATE.CARILLON_ACTIONS.worker_billing_refunds.carillon.action.billing.refunds.>",
			"$JS.API.CONSUMER.MSG.NEXT.CARILLON_ACTIONS.worker_billing_refunds",
			"$JS.API.CONSUMER.DURABLE.CREATE.CARILLON_ACTIONS.x", "$JS.API.CONSUMER.DELETE.CARILLON_ACTIONS.worker_default_default",
			"$JS.ACK.CARILLON_ACTIONS.worker_billing_refunds.1.1.1.1.0", "$JS.API.STREAM.MSG.DELETE.CARILLON_ACTIONS",
			"$JS.API.DIRECT.GET.CARILLON_EVENTS", "$JS.API.STREAM.INFO.CARILLON_EVENTS", "$JS.API.STREAM.INFO.CARILLON_CONTROL",
			"carillon.callback.0.billing.refunds.refund.x", "carillon.callback.0.other.default.yearly.x", "carillon.consumer.default.default",
			"carillon.ack.default.default.1.1.1.1.0", "carillon.dlq.worker", "carillon.dlq.worker.billing.invoices",
			"carillon.control.default.default.x", "carillon.action.default.default.x", "carillon.dlq.invoker",
			"carillon.progress.billing.refunds.x", "carillon.progress.other.default.x", "carillon.processes", "carillon.types.default.default",
			"$JS.API.DIRECT.GET.CARILLON_PROGRESS.carillon.progress.billing.refunds.x",
			"carillon.event.default.x.completed", "carillon.task.0.generate.default.x.due", "$JS.API.STREAM.PURGE.CARILLON_EVENTS",
		},
		subscribe: []string{
			"carillon.event.default.>", "carillon.control.billing.refunds.>", "carillon.control.>", "carillon.alive.billing.refunds.>",
			"carillon.action.default.default.>", "carillon.callback.>", "_INBOX.>", "_INBOX_service.>", "_R_.>", "carillon.processes",
			"carillon.types.billing.refunds", "carillon.types.>", "$KV.>", ">",
		},
	},
	"service": {
		publish: []string{
			"$JS.API.STREAM.DELETE.CARILLON_EVENTS", "$JS.API.STREAM.RESTORE.X", "$JS.API.STREAM.SNAPSHOT.CARILLON_EVENTS",
			"$JS.API.ACCOUNT.PURGE.CARILLON", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.SERVER.REMOVE", "$SYS.REQ.SERVER.PING", "anything",
		},
		subscribe: []string{"_INBOX.>", "_INBOX_worker.>", "_R_.>", "$SYS.>", ">"},
	},
}

// refused publishes on a subject, or subscribes to one, and requires the server to refuse it.
func (a *attacked) refused(t *testing.T, user, publish, subscribe string) {
	conn := a.users[user].conn
	if publish != "" {
		require.NoError(t, conn.PublishRequest(publish, conn.NewInbox(), nil))
	} else {
		_, err := conn.Subscribe(subscribe, func(*nats.Msg) {})
		require.NoError(t, err)
	}
	require.NoError(t, conn.Flush())
	a.awaitRefusal(t, user)
}
