package frontend_test

import (
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The contract of docs/api.md, byte for byte, as a client in any language sees it.
func TestBareRequests(t *testing.T) {
	t.Parallel()
	in := installed(t)

	reply := in.ask("default", "create", createBody("nightly", `,"state":{"notes":"first"}`))
	require.Empty(t, reply.Header.Get(micro.ErrorCodeHeader))
	assert.Equal(t, "application/json", reply.Header.Get("Content-Type"))
	created, err := decode[schedule.Description](reply)
	require.NoError(t, err)
	assert.Equal(t, "default", created.Namespace)
	assert.Equal(t, "nightly", created.ID)
	assert.Equal(t, "first", created.State.Notes)
	assert.Equal(t, uint64(1), created.ConflictToken)
	assert.False(t, created.Info.CreateTime.IsZero())
	assert.Contains(t, string(reply.Data), `"runningWorkflows":[],"recentActions":[],"futureActionTimes":[]`)

	described, err := answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
	require.NoError(t, err)
	assert.Equal(t, created, described)

	assert.JSONEq(t, `{}`, string(in.ask("default", "pause", `{"id":"nightly","note":"holidays"}`).Data))
	assert.JSONEq(t, `{}`, string(in.ask("default", "unpause", `{"id":"nightly"}`).Data))

	page, err := answer[schedule.ListReply](in, "list", ``)
	require.NoError(t, err)
	require.Len(t, page.Schedules, 1)
	assert.Equal(t, "holidays", page.Schedules[0].State.Notes)
	assert.Equal(t, uint64(3), page.Schedules[0].ConflictToken)

	assert.JSONEq(t, `{}`, string(in.ask("default", "delete", `{"id":"nightly"}`).Data))

	reply = in.ask("default", "describe", `{"id":"nightly"}`)
	assert.Equal(t, "not_found", reply.Header.Get(micro.ErrorCodeHeader))
	assert.Equal(t, `id: namespace "default" has no schedule "nightly"`, reply.Header.Get(micro.ErrorHeader))
	assert.JSONEq(t,
		`{"error":{"code":"not_found","field":"id","message":"namespace \"default\" has no schedule \"nightly\""}}`,
		string(reply.Data))
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("taken", "")
	for _, test := range []struct {
		name, namespace, verb, body string
		code                        schedule.Code
		field, message              string
	}{
		{"garbage", "default", "create", `{"id`, "invalid_argument", "", ""},
		{"two documents", "default", "create", `{} {}`, "invalid_argument", "", ""},
		{"unknown field", "default", "create", `{"id":"x","actoin":{}}`, "invalid_argument", "actoin", "action"},
		{"unknown nested field", "default", "create", createBody("x", `,"policies":{"overlapp":"skip"}`),
			"invalid_argument", "policies.overlapp", "overlap"},
		{"unknown overlap policy", "default", "create", createBody("x", `,"policies":{"overlap":"alow_all"}`),
			"invalid_argument", "policies.overlap", "allow_all"},
		{"no ID", "default", "create", ``, "invalid_argument", "id", "empty"},
		{"no action", "default", "create", `{"id":"x"}`, "invalid_argument", "action.type", ""},
		{"taken ID", "default", "create", createBody("taken", ""), "already_exists", "id", `"taken"`},
		{"unknown namespace", "nowhere", "create", createBody("x", ""), "not_found", "namespace", `"nowhere"`},
		{"impossible namespace", "No_Where", "describe", `{"id":"x"}`, "not_found", "namespace", `"No_Where"`},
		{"describe", "default", "describe", `{"id":"x"}`, "not_found", "id", `"x"`},
		{"pause", "default", "pause", `{"id":"x"}`, "not_found", "id", `"x"`},
		{"unpause", "default", "unpause", `{"id":"x"}`, "not_found", "id", `"x"`},
		{"delete", "default", "delete", `{"id":"x"}`, "not_found", "id", `"x"`},
		{"trigger", "default", "trigger", `{"id":"x"}`, "not_found", "id", `"x"`},
		{"trigger with an unknown policy", "default", "trigger", `{"id":"taken","overlap":"maybe"}`,
			"invalid_argument", "overlap", "allow_all"},
		{"page too large", "default", "list", `{"pageSize":1001}`, "invalid_argument", "pageSize", "1000"},
		{"page token", "default", "list", `{"pageToken":"?"}`, "invalid_argument", "pageToken", "nextPageToken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			reply := in.ask(test.namespace, test.verb, test.body)
			_, err := decode[schedule.Empty](reply)
			var e *schedule.Error
			require.ErrorAs(t, err, &e)
			assert.Equal(t, test.code, e.Code)
			assert.Equal(t, test.field, e.Field)
			assert.Contains(t, e.Message, test.message)
			assert.Equal(t, string(test.code), reply.Header.Get(micro.ErrorCodeHeader))
			assert.Equal(t, e.Error(), reply.Header.Get(micro.ErrorHeader))
			assert.NotContains(t, e.Message, "\n")
		})
	}
}

func TestUnknownVerbHasNoResponder(t *testing.T) {
	t.Parallel()
	in := installed(t)
	_, err := in.conn.Request(in.names.API("default", subjects.ThingSchedule, "explode"), nil, patience)
	assert.ErrorIs(t, err, nats.ErrNoResponders)
}

// TestNoAnswerToTheInstallation: a caller that may not publish on a subject of the installation must not make the answer to a
// request do so.
func TestNoAnswerToTheInstallation(t *testing.T) {
	t.Parallel()
	in := installed(t)
	overheard, err := in.conn.SubscribeSync(in.names.Prefix() + ".event.default.x.created")
	require.NoError(t, err)
	inbox, err := in.conn.SubscribeSync(in.conn.NewInbox())
	require.NoError(t, err)
	for _, reply := range []string{overheard.Subject, inbox.Subject} { // the requests of one verb are answered in order
		require.NoError(t, in.conn.PublishRequest(in.names.API("default", subjects.ThingSchedule, "list"), reply, []byte("{}")))
	}
	_, err = inbox.NextMsg(patience)
	require.NoError(t, err)
	require.NoError(t, in.conn.Flush())
	count, _, err := overheard.Pending()
	require.NoError(t, err)
	require.Zero(t, count)
}

func TestAnyIDCanBeUsed(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for _, id := range []string{"a.b", "a b", "*", ">", "büro/1", strings.Repeat("ü", 127)} {
		in.create(id, "")
		description, err := answer[schedule.Description](in, "describe", `{"id":"`+id+`"}`)
		require.NoError(t, err)
		assert.Equal(t, id, description.ID)
		_, err = answer[schedule.Empty](in, "pause", `{"id":"`+id+`"}`)
		require.NoError(t, err)
		_, err = answer[schedule.TriggerReply](in, "trigger", `{"id":"`+id+`"}`)
		require.NoError(t, err)
		_, err = answer[schedule.Empty](in, "delete", `{"id":"`+id+`"}`)
		require.NoError(t, err)
	}
}
