package frontend_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/task"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// aboutNamespace sends a request about a namespace, as somebody.
func aboutNamespace[Reply any](in *installation, name, verb, body string) (Reply, error) {
	in.t.Helper()
	reply, err := in.conn.RequestMsg(&nats.Msg{
		Subject: in.names.API(name, subjects.ThingNamespace, verb),
		Header:  nats.Header{schedule.HeaderIdentity: {"ann@desk"}}, Data: []byte(body),
	}, patience)
	require.NoError(in.t, err)
	return decode[Reply](reply)
}

// namespace carries out what must succeed.
func (in *installation) namespace(name, verb, body string) schedule.NamespaceDescription {
	in.t.Helper()
	description, err := aboutNamespace[schedule.NamespaceDescription](in, name, verb, body)
	require.NoError(in.t, err, "%s %s %s", verb, name, body)
	return description
}

// refused carries out what must fail.
func (in *installation) refused(name, verb, body string) *schedule.Error {
	in.t.Helper()
	_, err := aboutNamespace[schedule.NamespaceDescription](in, name, verb, body)
	var failure *schedule.Error
	require.ErrorAs(in.t, err, &failure, "%s %s %s", verb, name, body)
	return failure
}

// createIn creates a schedule in a namespace. It may be called in any goroutine.
func (in *installation) createIn(namespace, id, more string) error {
	message, err := in.conn.Request(in.names.API(namespace, subjects.ThingSchedule, "create"), []byte(createBody(id, more)), patience)
	if err != nil {
		return err
	}
	_, err = decode[schedule.Description](message)
	return err
}

func (in *installation) awaitGone(name string) {
	in.t.Helper()
	natstest.Eventually(in.t, patience, name+" is gone", func() bool {
		_, err := aboutNamespace[schedule.NamespaceDescription](in, name, "describe", "")
		return schedule.CodeOf(err) == schedule.CodeNotFound
	})
}

// quick makes what waits for the end of requests wait for less.
func quick(config *frontend.Config) { config.RequestTimeout = 3 * time.Second }

func TestNamespaceLifecycle(t *testing.T) {
	t.Parallel()
	in := installed(t, quick)
	in.run(quick)
	created := in.namespace("billing", "create", `{"description":"Bills","limits":{"maxSchedules":5},"requestId":"r1"}`)
	assert.Equal(t, "ann@desk", created.Info.CreatedBy)
	assert.Equal(t, uint64(1), created.ConflictToken)
	assert.WithinDuration(t, time.Now(), created.Info.CreateTime, time.Minute)
	for i := range 20 { // whichever frontend answers
		require.NoError(t, in.createIn("billing", "same", `,"requestId":"s1"`), i)
	}
	assert.Equal(t, created, in.namespace("billing", "create", `{"limits":{"maxSchedules":5},"requestId":"r1"}`), "a repeat")
	assert.Equal(t, schedule.CodeAlreadyExists, in.refused("billing", "create", `{"requestId":"r2"}`).Code)
	assert.Equal(t, schedule.CodeAlreadyExists, in.refused("default", "create", `{}`).Code)
	assert.Equal(t, "namespace", in.refused("Billing", "create", `{}`).Field)
	assert.Equal(t, "limits.maxSchedules", in.refused("other", "create", `{"limits":{"maxSchedules":-1}}`).Field)

	updated := in.namespace("billing", "update", `{"limits":{"maxSchedules":7},"conflictToken":1,"requestId":"u1"}`)
	assert.Equal(t, 7, updated.Limits.MaxSchedules)
	assert.Empty(t, updated.Description, "all is replaced")
	assert.Equal(t, "ann@desk", updated.Info.UpdatedBy)
	assert.Equal(t, updated, in.namespace("billing", "update", `{"conflictToken":1,"requestId":"u1"}`), "a repeat")
	assert.Equal(t, "conflictToken", in.refused("billing", "update", `{"conflictToken":1,"requestId":"u2"}`).Field)
	assert.Equal(t, schedule.CodeNotFound, in.refused("other", "update", `{}`).Code)

	usage := in.namespace("billing", "describe", "").Info.Usage
	assert.Equal(t, 1, usage.Schedules)
	natstest.Eventually(t, patience, "the frontends know of each other", func() bool {
		return in.namespace("billing", "describe", "").Info.Usage.Frontends == 2
	})
	page, err := aboutNamespace[schedule.ListNamespacesReply](in, subjects.NoNamespace, "list", `{"pageSize":1}`)
	require.NoError(t, err)
	require.Len(t, page.Namespaces, 1)
	assert.Equal(t, "billing", page.Namespaces[0].Name)
	page, err = aboutNamespace[schedule.ListNamespacesReply](in, subjects.NoNamespace, "list",
		fmt.Sprintf(`{"pageToken":%q}`, page.NextPageToken))
	require.NoError(t, err)
	require.Len(t, page.Namespaces, 1)
	assert.Equal(t, "default", page.Namespaces[0].Name)
	assert.Empty(t, page.NextPageToken)
	assert.Equal(t, schedule.CodeInvalidArgument, in.refused("billing", "list", "").Code)

	assert.Equal(t, "force", in.refused("billing", "delete", "{}").Field, "it has a schedule")
	assert.Equal(t, schedule.CodeFailedPrecondition, in.refused("default", "delete", `{"force":true}`).Code)
	assert.Equal(t, "conflictToken", in.refused("billing", "delete", `{"force":true,"conflictToken":1}`).Field)
	require.NoError(t, in.createIn("billing", "one more", ""), "it is not deleted")
	assert.True(t, in.namespace("billing", "delete", `{"force":true}`).Deleting)
	assert.Equal(t, schedule.CodeFailedPrecondition, in.refused("billing", "freeze", `{"reason":"x"}`).Code)
	assert.Equal(t, schedule.CodeFailedPrecondition, in.refused("billing", "create", `{}`).Code)
	natstest.Eventually(t, natstest.Patience, "changes are refused", func() bool {
		code := schedule.CodeOf(in.createIn("billing", "too late", ""))
		return code == schedule.CodeFailedPrecondition || code == schedule.CodeNotFound
	})
	in.awaitGone("billing")
	for i := range 20 { // whichever frontend answers
		require.Equal(t, schedule.CodeNotFound, schedule.CodeOf(in.createIn("billing", "too late", "")), i)
	}
	in.namespace("billing", "create", "{}")
	assert.Zero(t, in.namespace("billing", "describe", "").Info.Usage.Schedules)
	for i := range 5 {
		require.NoError(t, in.createIn("billing", fmt.Sprintf("anew-%d", i), ""), i)
	}
}

func TestFreezeOfANamespace(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("x", "")
	assert.Nil(t, in.namespace("default", "unfreeze", "{}").Freeze, "nothing to do")
	frozen := in.namespace("default", "freeze", `{"reason":"stocktaking","for":"1h"}`).Freeze
	require.NotNil(t, frozen)
	assert.Equal(t, "stocktaking", frozen.Reason)
	assert.Equal(t, "ann@desk", frozen.By)
	assert.Equal(t, time.Hour, frozen.Until.Sub(frozen.From))
	again := in.namespace("default", "freeze", `{"reason":"more stocktaking"}`).Freeze
	assert.Equal(t, frozen.From, again.From, "it goes on")
	assert.True(t, again.Until.IsZero())

	for body, field := range map[string]string{
		`{}`:                         "reason",
		`{"reason":"x","for":"-1s"}`: "for",
		`{"reason":"x","until":"2020-01-01T00:00:00Z"}`:            "until",
		`{"reason":"x","until":"2120-01-01T00:00:00Z","for":"1h"}`: "for",
	} {
		assert.Equal(t, field, in.refused("default", "freeze", body).Field, body)
	}
	natstest.Eventually(t, patience, "a schedule says so", func() bool {
		d, err := answer[schedule.Description](in, "describe", `{"id":"x"}`)
		require.NoError(t, err)
		return len(d.Info.Reasons) == 1 && d.Info.Reasons[0].Code == schedule.NoticeFrozen
	})
	assert.Nil(t, in.namespace("default", "unfreeze", "{}").Freeze)
	assert.Nil(t, in.namespace("default", "describe", "").Freeze)
}

// TestRequestsPerSecond of two frontends, which share the limit.
func TestRequestsPerSecond(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.run()
	in.namespace("busy", "create", `{"limits":{"requestsPerSecond":4,"requestBurst":8}}`)
	natstest.Eventually(t, patience, "the frontends know of each other", func() bool {
		return in.namespace("busy", "describe", "").Info.Usage.Frontends == 2
	})
	ask := func() *nats.Msg { return in.ask("busy", "count", "") }
	begin := time.Now()
	accepted, refused := 0, 0
	for range 40 {
		reply := ask()
		if _, err := decode[schedule.CountReply](reply); err == nil {
			accepted++
			continue
		} else {
			var failure *schedule.Error
			require.ErrorAs(t, err, &failure)
			require.Equal(t, schedule.CodeResourceExhausted, failure.Code)
			require.Equal(t, failure.RetryAfter.String(), reply.Header.Get(schedule.HeaderRetryAfter))
			require.Positive(t, failure.RetryAfter)
			require.LessOrEqual(t, failure.RetryAfter.Std(), 10*time.Second)
		}
		refused++
	}
	// The bursts of both, and what has come since.
	assert.LessOrEqual(t, accepted, 8+1+int(4*time.Since(begin).Seconds()))
	assert.Positive(t, refused)
	natstest.Eventually(t, patience, "both have told of it", func() bool {
		return in.namespace("busy", "describe", "").Info.Usage.RequestsRefused == uint64(refused)
	})
	natstest.Eventually(t, patience, "requests are accepted again", func() bool {
		_, err := decode[schedule.CountReply](ask())
		return err == nil
	})
	for range 40 {
		require.Empty(t, in.ask("default", "count", "").Header.Get(schedule.HeaderRetryAfter), "others are not touched")
	}
	in.namespace("busy", "update", "{}")
	natstest.Eventually(t, patience, "there is no limit any more", func() bool {
		for range 20 {
			if _, err := decode[schedule.CountReply](ask()); err != nil {
				return false
			}
		}
		return true
	})
}

func TestMaxScheduleBytes(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.run(patient)
	in.namespace("small", "create", `{}`)
	input := func(bytes int) string {
		return fmt.Sprintf(`"action":{"type":"t","taskQueue":"q","input":%q}`, strings.Repeat("x", bytes))
	}
	ask := func(verb, body string) error {
		_, err := answerIn[schedule.Empty](in, "small", verb, body)
		return err
	}
	require.NoError(t, ask("create", `{"id":"large",`+input(3000)+`}`))
	in.namespace("small", "update", `{"limits":{"maxScheduleBytes":2048}}`)
	natstest.Eventually(t, patience, "every frontend knows the limit", func() bool {
		for i := range 20 {
			if ask("create", fmt.Sprintf(`{"id":"too-large-%d",%s}`, i, input(2048))) == nil {
				return false
			}
		}
		return true
	})
	err := ask("create", `{"id":"too-large",`+input(2048)+`}`)
	require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	require.ErrorContains(t, err, `limits.maxScheduleBytes: the schedule has`)
	require.ErrorContains(t, err, `namespace "small" allows at most 2048`)
	require.NoError(t, ask("create", `{"id":"fits",`+input(1500)+`}`))

	require.ErrorContains(t, ask("update", `{"id":"fits",`+input(2048)+`}`), "limits.maxScheduleBytes")
	require.NoError(t, ask("update", `{"id":"fits",`+input(1000)+`}`))
	require.NoError(t, ask("pause", `{"id":"large"}`), "it was larger before there was the limit")
	require.NoError(t, ask("update", `{"id":"large",`+input(2900)+`}`), "it shrinks")
	require.ErrorContains(t, ask("update", `{"id":"large",`+input(3100)+`}`), "limits.maxScheduleBytes")

	trigger := func(bytes int) string { return fmt.Sprintf(`{"id":"fits","input":%q}`, strings.Repeat("x", bytes)) }
	require.ErrorContains(t, ask("trigger", trigger(2048)), "limits.maxScheduleBytes: the trigger has")
	require.NoError(t, ask("trigger", trigger(1000)))
	keys, err := answerIn[schedule.ListReply](in, "small", "list", "")
	require.NoError(t, err)
	for _, s := range keys.Schedules {
		require.NotEqual(t, "too-large", s.ID)
	}
}

// TestMaxSchedules of two frontends that are asked for far more at once.
func TestMaxSchedules(t *testing.T) {
	t.Parallel()
	in := installed(t, patient)
	in.run(patient)
	in.namespace("small", "create", `{"limits":{"maxSchedules":10}}`)
	var created, full atomic.Int32
	var asking sync.WaitGroup
	for i := range 60 {
		asking.Go(func() {
			err := in.createIn("small", fmt.Sprint("s-", i), `,"requestId":"r"`)
			switch schedule.CodeOf(err) {
			case "":
				created.Add(1)
			case schedule.CodeResourceExhausted:
				full.Add(1)
			default:
				assert.NoError(t, err)
			}
		})
	}
	asking.Wait()
	assert.Equal(t, int32(10), created.Load())
	assert.Equal(t, int32(50), full.Load())
	keys, err := answerIn[schedule.ListReply](in, "small", "list", "")
	require.NoError(t, err)
	require.Len(t, keys.Schedules, 10)
	require.NoError(t, in.createIn("small", keys.Schedules[0].ID, `,"requestId":"r"`), "a repeat needs no place")

	_, err = answerIn[schedule.Empty](in, "small", "delete", fmt.Sprintf(`{"id":%q}`, keys.Schedules[0].ID))
	require.NoError(t, err)
	natstest.Eventually(t, patience, "the place is free", func() bool { return in.createIn("small", "new", "") == nil })
	require.ErrorContains(t, in.createIn("small", "newer", ""), "limits.maxSchedules")
	in.namespace("small", "update", `{"limits":{"maxSchedules":11}}`)
	natstest.Eventually(t, patience, "there is room", func() bool { return in.createIn("small", "newer", "") == nil })
}

func answerIn[Reply any](in *installation, namespace, verb, body string) (Reply, error) {
	return decode[Reply](in.ask(namespace, verb, body))
}

// TestForcedDeleteOutlivesAFrontend that is stopped while it deletes the schedules.
func TestForcedDeleteOutlivesAFrontend(t *testing.T) {
	t.Parallel()
	const schedules = 300
	in := install(t)
	stop := in.run(quick)
	in.namespace("doomed", "create", "{}")
	var creating sync.WaitGroup
	for n := range 10 {
		creating.Go(func() {
			for i := range schedules / 10 {
				assert.NoError(t, in.createIn("doomed", fmt.Sprint("s-", n, "-", i), ""))
			}
		})
	}
	creating.Wait()
	in.create("bystander", "")
	in.namespace("doomed", "delete", `{"force":true}`)
	natstest.Eventually(t, patience, "some are deleted", func() bool {
		left := in.namespace("doomed", "describe", "").Info.Usage.Schedules
		return left < schedules
	})
	stop()
	in.run(quick)
	in.awaitGone("doomed")
	keys, err := answer[schedule.CountReply](in, "count", "")
	require.NoError(t, err)
	assert.Equal(t, 1, keys.Count)
	in.namespace("doomed", "create", "{}")
	assert.Zero(t, in.namespace("doomed", "describe", "").Info.Usage.Schedules)
}

// TestDeleteRemovesExecutions: the executions of a namespace go with it, and no others.
func TestDeleteRemovesExecutions(t *testing.T) {
	t.Parallel()
	in := installed(t, quick)
	in.namespace("doomed", "create", "{}")
	publisher := natstest.Bus(t, in.js)
	store := func(namespace string) {
		key, shard, due := schedule.Key{Namespace: namespace, ID: "w"}, 1, time.Now().Add(time.Hour)
		queue := subjects.Queue{Namespace: namespace, Kind: subjects.QueueActivity, Name: "q"}
		for _, subject := range []string{in.names.Journal(shard, key), in.names.Heartbeat(key, "run", 5), in.names.Backlog(queue)} {
			require.NoError(t, publisher.Publish(t.Context(), &nats.Msg{Subject: subject, Data: []byte("x")}))
		}
		timer, target := in.names.ExecutionTimer(shard, key, due), in.names.ExecutionDue(shard, key)
		require.NoError(t, task.ArmMessage(t.Context(), publisher, timer, target, due, nil, nil))
	}
	store("doomed")
	store(namespaces.Default)
	stored := func() (all []string) {
		for _, stream := range []string{in.names.JournalStream(1), in.names.HeartbeatStream(), in.names.BacklogStream(), in.names.TaskStream(1)} {
			counts, err := natstest.Stored(t.Context(), in.js, stream)
			require.NoError(t, err)
			for subject := range counts {
				if strings.Contains(subject, ".doomed.") || strings.Contains(subject, "."+namespaces.Default+".") {
					all = append(all, subject)
				}
			}
		}
		return all
	}
	require.Len(t, stored(), 8)
	require.Contains(t, in.refused("doomed", "delete", "{}").Message, "workflow IDs: 1")
	in.namespace("doomed", "delete", `{"force":true}`)
	in.awaitGone("doomed")
	left := stored()
	require.Len(t, left, 4)
	for _, subject := range left {
		require.Contains(t, subject, "."+namespaces.Default+".")
	}
}

// TestForcedDeleteSparesNoNewSchedule: one that is created under an ID whose schedule the job has deleted goes as well, although
// what deletes it looks like a repeat of the request that has deleted the one before.
func TestForcedDeleteSparesNoNewSchedule(t *testing.T) {
	t.Parallel()
	in := install(t)
	key := schedule.Key{Namespace: "doomed", ID: "s"}
	var deleted wire.Definition
	var again sync.Once
	in.run(quick, hook(func(ctx context.Context, m *nats.Msg) error {
		if m.Subject == in.names.InvokeDeleted(in.store.ShardOf(key), key) { // the first is gone
			again.Do(func() {
				last, err := kv.LastDeletion(ctx, in.store, key)
				assert.NoError(t, err)
				created := deleted
				created.Incarnation, created.Predecessor = "another", last
				_, err = kv.Put(ctx, in.store, kv.Definition(key), &created, 0)
				assert.NoError(t, err)
			})
		}
		return nil
	}))
	in.namespace("doomed", "create", "{}")
	require.NoError(t, in.createIn("doomed", "s", ""))
	record, err := kv.GetLeader(t.Context(), in.store, kv.Definition(key))
	require.NoError(t, err)
	deleted = record.Value
	in.namespace("doomed", "delete", `{"force":true}`)
	in.awaitGone("doomed")
	again.Do(func() { t.Error("nothing has been created") })
	_, err = kv.GetLeader(t.Context(), in.store, kv.Definition(key))
	assert.ErrorIs(t, err, kv.ErrNotFound)
}

func TestNamespaceInTheDocsIsOne(t *testing.T) {
	t.Parallel()
	_, text, found := strings.Cut(readDocs(t), "\n## Namespaces\n")
	require.True(t, found)
	_, text, _ = strings.Cut(text, "```json\n")
	text, _, _ = strings.Cut(text, "```")
	var description schedule.NamespaceDescription
	require.NoError(t, apitext.DecodeJSON([]byte(text), &description))
	assert.NoError(t, description.Limits.Validate())
	assert.Equal(t, "year-end closing", description.Freeze.Reason)
	assert.Equal(t, 12, description.Info.Usage.Schedules)
}
