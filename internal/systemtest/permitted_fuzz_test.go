package systemtest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// permittedMessages is how many messages each tenant sends for one input of FuzzPermitted.
const permittedMessages = 300

// FuzzPermitted lets each tenant of deploy/nats send messages where it may, drawn from a seed: random ends of the subjects,
// replies, headers and bodies. An input also has its own reply, header and body, which are in some of them. Whatever they are,
// no stored data changes except the tenant's own: no record, timer, event, message, stream or consumer of another; and the
// others continue.
//
// Each input has a server of its own, so that a finding can be repeated. The first command repeats one, the second tries new
// ones:
//
//	go test ./internal/systemtest -run 'FuzzPermitted/seed#1'
//	go test ./internal/systemtest -run xxx -fuzz FuzzPermitted -fuzztime 5m -parallel 1
func FuzzPermitted(f *testing.F) {
	f.Add(uint64(1), "$KV.carillon-state-0.other.yearly.definition", "Nats-Rollup", "all", []byte(`{}`))
	f.Add(uint64(2), "carillon.api.other.schedule.delete", "Nats-Schedule", "@every 1s", []byte(`{"id":"yearly"}`))
	if !testing.Short() {
		f.Add(uint64(3), "$JS.API.STREAM.PURGE.CARILLON_EVENTS", "Nats-Scheduler", "carillon.timer.0.due.other.yearly", []byte("\x00\xff"))
		f.Add(uint64(4), "_INBOX_service.x.y", "Nats-Msg-Id", "x", []byte(`{"stream":"CARILLON_EVENTS","seq":1}`))
	}
	f.Fuzz(func(t *testing.T, seed uint64, reply, header, value string, body []byte) {
		fence := newFence(t)
		conn, js, _ := fence.connect("service")
		a := newAttacked(t, fence, newSystemOf(t, subjects.Default(), conn, js, topology.Settings{Shards: 2}))
		d := &draw{Rand: rand.New(rand.NewPCG(seed, 0)), reply: reply, header: header, value: value, body: body}
		d.replies = append(slices.Sorted(maps.Values(evilReplies(a.record))), "", "", "")
		d.values = append(d.values, "", "all", "sub", "0", "1", "-1", "+1", "1s", "never", "true", "99999999999999999999", "@at 2020-01-01T00:00:00Z",
			"@every 1s", "* * * * * *", "purge", "CARILLON_EVENTS", "KV_carillon-state-0", a.record, "carillon.timer.0.due.other.yearly",
			"carillon.timer.1.due.other.yearly", "carillon.task.0.invoke.other.yearly.wake", "carillon.event.other.yearly.deleted",
			`{"acc":"CARILLON","svc":"CARILLON","rply":"x"}`)
		for _, headers := range evilHeaders(a.record) {
			d.names = append(d.names, slices.Collect(maps.Keys(headers))...)
		}
		d.names = append(d.names, moreHeaders...)
		slices.Sort(d.names)
		var before map[string]string
		for _, user := range []string{"billing-invoices", "billing"} {
			before = a.settled(t)
			a.send(t, user, d)
			after := a.settled(t)
			assert.Empty(t, foreign(before, after, user), user)
			assert.False(t, user == "billing-invoices" && maps.Equal(before, after), "nothing that a worker has sent was stored")
		}
		a.goesOn(t)
	})
}

// moreHeaders are the headers that JetStream, the server or Carillon look at, besides those of evilHeaders.
var moreHeaders = []string{
	"Nats-Msg-Id", "Nats-Expected-Last-Sequence", "Nats-Expected-Last-Msg-Id", "Nats-Msg-Size", "Nats-Last-Consumer", "Nats-Last-Stream",
	"Nats-Consumer-Stalled", "Nats-Num-Pending", "Nats-Required-Api-Level", "Nats-Batch-Id", "Nats-Batch-Sequence", "Nats-Batch-Commit",
	"Nats-Fast-Batch-Id", "Nats-Schedule-Time-Zone", "Nats-Schedule-Next", "Nats-Schedule-Source", "Nats-Time-Stamp", "Nats-Service-Error",
	"Carillon-Identity", "Carillon-Timeout", "Carillon-Request", "Content-Type", "Accept", "traceparent", "tracestate", "Description", "Status",
}

// requestVerbs are some verbs that a client may use, and requestBodies are bodies for any of them.
var (
	requestVerbs  = []string{"create", "update", "trigger", "pause", "delete", "start", "history", "none"}
	requestBodies = []string{
		`{"id":"monthly"}`, `{"id":"refund"}`, `{"id":"yearly"}`, `{"namespace":"other","id":"yearly"}`, `{"id":"*"}`,
		`{"id":"made","schedule":{"spec":{"intervals":[{"every":"1h"}]},"action":{"type":"pay","taskQueue":"none-of-your-business"}}}`,
		`{"id":"made-2","schedule":{"action":{"type":"pay","taskQueue":"refunds"}},"triggerImmediately":true}`,
		`{"id":"days","calendar":{"dates":["2027-01-01"]}}`, `{"action":"delete","query":"paused = true"}`,
	}
)

// draw makes up messages.
type draw struct {
	*rand.Rand
	reply, header, value   string
	body                   []byte
	replies, names, values []string
}

func (d *draw) of(all []string) string { return all[d.IntN(len(all))] }

// message is a message whose subject begins like that of a permitted message, and may end in another way where an import allows
// that.
func (d *draw) message(permitted nats.Msg, open bool) *nats.Msg {
	message := &nats.Msg{Subject: permitted.Subject, Data: permitted.Data}
	switch begin, _ := cutLast(permitted.Subject); {
	case strings.Contains(permitted.Subject, ".api.") && d.IntN(4) > 0:
		message.Subject = begin + d.of(requestVerbs)
		message.Data = []byte(d.of(requestBodies))
	case open && d.IntN(2) == 0:
		message.Subject = begin + d.of([]string{"x", "yearly", "refund", "monthly", "a.b", "refund.x", "yearly.definition", "$KV", "*", ">", "1.2.3.4.5"})
	}
	message.Subject = strings.Replace(message.Subject, ".callback.0.", fmt.Sprintf(".callback.%d.", d.IntN(3)), 1)
	switch d.IntN(8) {
	case 0, 1, 2, 3:
		message.Reply = d.of(d.replies)
	case 4:
		message.Reply = plain(d.reply)
	}
	for range d.IntN(4) {
		d.set(message, d.of(d.names), d.of(d.values))
	}
	if d.IntN(4) == 0 {
		d.set(message, d.header, d.value)
	}
	switch d.IntN(8) {
	case 0:
		message.Data = d.body
	case 1:
		message.Data = []byte(d.of(d.values))
	case 2:
		message.Data = make([]byte, d.IntN(100_000))
	case 3:
		message.Data = slices.Clone(permitted.Data)
		for range min(3, len(message.Data)) {
			message.Data[d.IntN(len(message.Data))] = byte(d.IntN(256))
		}
	}
	return message
}

func (d *draw) set(message *nats.Msg, name, value string) {
	name = strings.Map(func(r rune) rune {
		if r <= ' ' || r == ':' || r > '~' {
			return -1
		}
		return r
	}, name)
	if name == "" {
		return
	}
	if message.Header == nil {
		message.Header = nats.Header{}
	}
	message.Header[name] = append(message.Header[name], value)
}

// plain is text as a subject, or nothing.
func plain(text string) string {
	subject := strings.Map(func(r rune) rune {
		if r <= ' ' || r == 0x7F {
			return -1
		}
		return r
	}, text)
	if strings.Contains(subject, "..") || strings.HasPrefix(subject, ".") || strings.HasSuffix(subject, ".") {
		return ""
	}
	return subject
}

// send sends messages as a tenant, until the server has received all of them. A refusal of the server is no finding.
func (a *attacked) send(t *testing.T, user string, d *draw) {
	t.Helper()
	conn, err := nats.Connect(a.fence.server.ClientURL(), nats.RootCAs(a.fence.ca.Path("ca.pem")), nats.UserInfo(user, passwordOf(user)),
		nats.MaxReconnects(-1), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	defer conn.Close()
	permitted := a.permitted[user]
	for range permittedMessages {
		one := permitted[d.IntN(len(permitted))]
		if strings.Contains(one.Subject, ".api.") && d.IntN(2) == 0 {
			one = permitted[0] // messages about schedules have the most effect
		}
		open := !strings.Contains(one.Subject, ".CONSUMER.") && !strings.Contains(one.Subject, ".types.")
		if err := conn.PublishMsg(d.message(one, open)); err != nil {
			require.ErrorIs(t, err, nats.ErrBadSubject)
		}
	}
	require.NoError(t, conn.FlushTimeout(patience))
}

// foreign are the places that have changed and do not belong to a tenant.
func foreign(before, after map[string]string, user string) (changed []string) {
	for _, all := range []map[string]string{before, after} {
		for place := range all {
			if before[place] == after[place] || slices.Contains(changed, place) {
				continue
			}
			isOwn := slices.ContainsFunc(own[user], func(part string) bool { return strings.Contains(place, part) })
			// An unreadable completion may name any schedule of the namespace. The schedule's history tells of it, a bounded
			// number of times.
			isOwn = isOwn || strings.HasPrefix(place, "CARILLON_EVENTS carillon.event.billing.") && strings.Contains(place, ".dead_letter. ")
			if !isOwn {
				changed = append(changed, place)
			}
		}
	}
	slices.Sort(changed)
	return changed
}

// goesOn makes sure that others are served as before.
func (a *attacked) goesOn(t *testing.T) {
	t.Helper()
	api := a.api(t, "other")
	_, err := api.Create(t.Context(), schedule.CreateRequest{ID: "after", Schedule: schedule.Schedule{
		Action: schedule.Action{Type: "pay", TaskQueue: mark},
	}})
	require.NoError(t, err)
	_, err = api.Trigger(t.Context(), schedule.TriggerRequest{ID: "after"})
	require.NoError(t, err)
	natstest.Eventually(t, patience, "a run of another is queued", func() bool {
		d, err := api.Describe(t.Context(), "after")
		require.NoError(t, err)
		return len(d.Info.RunningWorkflows) == 1
	})
}
