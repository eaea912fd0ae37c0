package frontend_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// knowing runs a worker of a queue that claims to have some types, and counts how often it is asked.
func (in *installation) knowing(queue string, types ...string) *atomic.Int64 {
	in.t.Helper()
	answer, err := json.Marshal(schedule.NewActionTypes("w", types))
	require.NoError(in.t, err)
	var asked atomic.Int64
	_, err = in.conn.Subscribe(in.names.ActionTypes("default", queue), func(m *nats.Msg) {
		asked.Add(1)
		_ = m.Respond(answer)
	})
	require.NoError(in.t, err)
	require.NoError(in.t, in.conn.Flush())
	return &asked
}

// typed is a request to create or update a schedule with an action type on a queue.
func typed(id, queue, actionType string) string {
	return `{"id":"` + id + `","spec":{"intervals":[{"every":"1h"}]},"action":{"type":"` + actionType + `","taskQueue":"` + queue + `"}}`
}

func TestUnknownTypeIsAWarning(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.knowing("few", "exec", "noop")
	in.knowing("none")
	for i, test := range []struct{ queue, actionType, want string }{
		{"few", "noop", ""},
		{"few", "nop", `no worker of the task queue "few" that answered knows the action type "nop": did you mean "noop"?`},
		{"few", "monthly", `no worker of the task queue "few" that answered knows the action type "monthly": known are exec, noop`},
		{"none", "nop", `no worker of the task queue "none" that answered knows the action type "nop"`},
		{"of nobody", "nop", ""},
	} {
		id := string(rune('a' + i))
		for _, verb := range []string{"create", "update", "update"} {
			d, err := answer[schedule.Description](in, verb, typed(id, test.queue, test.actionType))
			require.NoError(t, err)
			if test.want == "" {
				assert.Empty(t, d.Info.Warnings, test)
				continue
			}
			assert.Equal(t, []schedule.Notice{{Code: schedule.NoticeUnknownType, Message: test.want}}, d.Info.Warnings, test)
		}
	}
	_, err := answer[schedule.Description](in, "create", typed("a", "few", "nop"))
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeAlreadyExists}, "what is refused is not warned of")
}

// TestTypesAreNotAskedForAgainAndAgain: a type that a worker has, and silence, are remembered. Requests that read or start do not
// ask.
func TestTypesAreNotAskedForAgainAndAgain(t *testing.T) {
	t.Parallel()
	in := installed(t)
	asked := in.knowing("q", "noop")
	var silent atomic.Int64
	_, err := in.conn.Subscribe(in.names.ActionTypes("default", "silent"), func(*nats.Msg) { silent.Add(1) })
	require.NoError(t, err)
	require.NoError(t, in.conn.Flush())
	for _, id := range []string{"a", "b", "c"} {
		for _, queue := range []string{"q", "silent"} {
			d, err := answer[schedule.Description](in, "create", typed(id+queue, queue, "noop"))
			require.NoError(t, err)
			require.Empty(t, d.Info.Warnings)
		}
	}
	for _, verb := range []string{"describe", "pause", "unpause", "trigger"} {
		require.Empty(t, in.ask("default", verb, `{"id":"aq"}`).Header.Get(micro.ErrorHeader), verb)
	}
	require.NoError(t, in.conn.Flush())
	assert.EqualValues(t, 1, asked.Load())
	assert.EqualValues(t, 1, silent.Load())
}

// TestTimesThatSurpriseAreAWarning: the answers to create, to its repeat, to update and to describe have the warning.
func TestTimesThatSurpriseAreAWarning(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.knowing("few", "noop")
	six := func(id, actionType string) string {
		return `{"id":"` + id + `","requestId":"r-` + id + `","spec":{"cron":["0 9 1 * * *"]},"action":{"taskQueue":"few","type":"` + actionType + `"}}`
	}
	codes := func(verb, body string) (all []string) {
		d, err := answer[schedule.Description](in, verb, body)
		require.NoError(t, err)
		for _, w := range d.Info.Warnings {
			all = append(all, w.Code)
		}
		return all
	}
	for _, verb := range []string{"create", "create", "update", "update"} {
		assert.Equal(t, []string{"six_fields"}, codes(verb, six("a", "noop")), verb)
	}
	assert.Equal(t, []string{"six_fields", "unknown_type"}, codes("create", six("b", "nop")))
	assert.Equal(t, []string{"six_fields"}, codes("describe", `{"id":"a"}`))
	assert.Empty(t, codes("update", typed("a", "few", "noop")))
}
