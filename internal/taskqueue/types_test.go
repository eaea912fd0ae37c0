package taskqueue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestAskTypes asks queues whose workers give these answers.
func TestAskTypes(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	names := natstest.Names(t)
	var many, more []string
	for i := range schedule.MaxActionTypes {
		many, more = append(many, fmt.Sprintf("many%03d", i)), append(more, fmt.Sprintf("more%03d", i))
	}
	long, err := json.Marshal(schedule.ActionTypes{Types: []string{strings.Repeat("x", 5*schedule.MaxActionTypesBytes)}})
	require.NoError(t, err)
	say := func(types ...string) string {
		data, err := json.Marshal(schedule.ActionTypes{Types: types})
		require.NoError(t, err)
		return string(data)
	}
	for name, test := range map[string]struct {
		answers []string
		want    taskqueue.Types
		has     bool
	}{
		"nobody":             {},
		"one has it":         {[]string{say("a", "it")}, taskqueue.Types{Workers: 1, Names: []string{"a", "it"}}, true},
		"none has it":        {[]string{say("b", "a"), say("a", "c"), `{"types":[]}`}, taskqueue.Types{Workers: 3, Names: []string{"a", "b", "c"}}, false},
		"one takes any":      {[]string{`{"types":[],"others":true}`}, taskqueue.Types{Workers: 1, Others: true}, true},
		"fields of a later":  {[]string{`{"types":["a"],"colour":"red"}`}, taskqueue.Types{Workers: 1, Names: []string{"a"}}, false},
		"no answers":         {[]string{"", "{", `"it"`, `{"types":"it"}`, `{"worker":"w"}`, "null"}, taskqueue.Types{}, false},
		"no type":            {[]string{`{"types":["a","","` + strings.Repeat("y", 300) + `","a"]}`}, taskqueue.Types{Workers: 1, Names: []string{"a"}}, false},
		"too long an answer": {[]string{string(long)}, taskqueue.Types{Workers: 1, Others: true}, true},
		"two workers":        {[]string{say(many...), say(more...)}, taskqueue.Types{Workers: 2, Names: append(many, more...)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, answer := range test.answers {
				s, err := conn.Subscribe(names.ActionTypes("default", name), func(m *nats.Msg) { _ = m.Respond([]byte(answer)) })
				require.NoError(t, err)
				defer func() { _ = s.Unsubscribe() }()
			}
			limit := 300 * time.Millisecond
			if test.has || len(test.answers) == 0 {
				limit = natstest.Patience // it does not wait for others then
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			types, err := taskqueue.AskTypes(ctx, conn, names, "default", name, "it")
			require.NoError(t, err)
			assert.Equal(t, test.want, types)
			assert.Equal(t, test.has, types.Has("it"))
			if limit == natstest.Patience {
				assert.NoError(t, ctx.Err())
			}
		})
	}
}
