package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestDLQHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"dlq", "dlq list", "dlq show", "dlq replay", "dlq purge"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitOK, p.run(t.Context(), append(strings.Fields(command), "--help")...))
			golden.Equal(t, "help/carillon_"+strings.ReplaceAll(command, " ", "_")+".txt", p.stdout.String())
		})
	}
}

func TestDLQUsage(t *testing.T) {
	t.Parallel()
	replay := "\nhint: usage: carillon dlq replay SEQ...|--all [flags]"
	for command, want := range map[string]string{
		"dlq lst":                     "unknown command \"lst\"; did you mean \"list\"?\nhint: carillon dlq --help lists the commands",
		"dlq list x":                  "unexpected argument \"x\"\nhint: usage: carillon dlq list [flags]",
		"dlq list --limit -1":         "--limit: -1 is less than 0",
		"dlq list --pool everyone":    "--pool: \"everyone\" is not one of generator, invoker, backfiller, history, worker\nhint: carillon dlq list --help lists the flags",
		"dlq show":                    "SEQ is missing\nhint: usage: carillon dlq show SEQ [flags]",
		"dlq show one":                "\"one\" is not the number of a dead letter",
		"dlq replay":                  "SEQ or --all is missing" + replay,
		"dlq replay 0":                "\"0\" is not the number of a dead letter",
		"dlq replay 1 --all":          "\"1\" and --all do not go together: give one of them" + replay,
		"dlq replay 1 --pool invoker": "\"1\" and --pool do not go together: give one of them" + replay,
		"dlq purge --schedule a":      "SEQ or --all is missing\nhint: usage: carillon dlq purge SEQ...|--all [flags]",
		"dlq purge --all":             "--all removes messages for good: say --yes as well\nhint: carillon dlq list with the same flags shows which",
	} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitUsage, p.run(t.Context(), strings.Fields(command)...))
			assert.Equal(t, "error: "+want+"\n", p.stderr.String())
			assert.Empty(t, p.stdout.String())
		})
	}
}

// letters is an installation without running processes, and the dlq commands.
type letters struct {
	*testing.T
	url   string
	names subjects.Names
	conn  *nats.Conn
}

func setupLetters(t *testing.T) *letters {
	t.Helper()
	server := natstest.Shared(t)
	conn, js := natstest.Connect(t, server)
	l := &letters{T: t, url: server.ClientURL(), names: natstest.Names(t), conn: conn}
	_, err := topology.Ensure(t.Context(), js, l.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	return l
}

// wake stores a generator's dead letter about a wake of a schedule; n is the position of the wake in its stream.
func (l *letters) wake(key schedule.Key, n int) {
	l.Helper()
	body, err := codec.Marshal(&wire.Wake{Version: uint64(n), Reason: wire.ReasonDue})
	require.NoError(l, err)
	letter := nats.NewMsg(l.names.DeadLetter(subjects.PoolGenerator))
	letter.Data = body
	for name, value := range map[string]string{
		deadletter.HeaderReason: "no good", deadletter.HeaderDeliveries: "10",
		deadletter.HeaderSubject: l.names.Generate(0, key, subjects.WhatDue),
		deadletter.HeaderStream:  l.names.TaskStream(0), deadletter.HeaderSequence: fmt.Sprint(1000 + n),
	} {
		letter.Header.Set(name, value)
	}
	_, err = l.conn.RequestMsgWithContext(l.Context(), letter)
	require.NoError(l, err)
}

func (l *letters) run(line string) (code int, stdout, stderr string) {
	l.Helper()
	p := process{env: map[string]string{"CARILLON_NATS": l.url, "CARILLON_PREFIX": l.names.Prefix()}}
	code = p.run(l.Context(), append([]string{"dlq"}, strings.Fields(line)...)...)
	return code, p.stdout.String(), p.stderr.String()
}

func (l *letters) ok(line string) string {
	l.Helper()
	code, stdout, stderr := l.run(line)
	require.Equal(l, ExitOK, code, "%s: %s", line, stderr)
	return stdout
}

func (l *letters) fails(wantCode int, line, want string) {
	l.Helper()
	code, _, stderr := l.run(line)
	assert.Equal(l, wantCode, code)
	assert.Equal(l, want, stderr)
}

// listed returns the numbers of the letters that dlq list shows.
func (l *letters) listed(flags string) []string {
	l.Helper()
	var list []deadletter.Letter
	require.NoError(l, json.Unmarshal([]byte(l.ok("list -o json "+flags)), &list))
	numbers := []string{}
	for _, letter := range list {
		numbers = append(numbers, letter.Number.String())
	}
	return numbers
}

// TestDLQ runs all dlq commands without any process of Carillon.
func TestDLQ(t *testing.T) {
	t.Parallel()
	l := setupLetters(t)
	assert.Equal(t, "no dead letters\n", l.ok("list"))
	assert.Equal(t, "[]\n", l.ok("list -o json"))
	for i, id := range []string{"a", "b", "a", "c"} {
		l.wake(schedule.Key{Namespace: "default", ID: id}, i)
	}
	l.wake(schedule.Key{Namespace: "other", ID: "a"}, 4)
	require.NoError(t, l.conn.Publish(l.names.WorkerDeadLetter("default", "a queue"), []byte("\x00")))
	natstest.Eventually(t, patience, "the last one is stored", func() bool { return len(l.listed("")) == 6 })

	assert.Regexp(t, `(?m)^SEQ .*\n1 +(now|\d+s ago) +generator +default/a +10 +\d+ +no good$`, l.ok("list"))
	assert.Equal(t, []string{"1", "3"}, l.listed("--schedule a"))
	assert.Equal(t, []string{"5"}, l.listed("--namespace other"))
	assert.Equal(t, []string{"w1"}, l.listed("--pool worker"))
	assert.Equal(t, []string{"5", "w1"}, l.listed("--limit 2"))
	assert.Contains(t, l.ok("show 2"), "Body (record)\n  {\n    \"version\": 1,\n    \"reason\": \"due\"\n  }\n")
	assert.Contains(t, l.ok("show 2 -o yaml"), "scheduleId: b\n")
	assert.Contains(t, l.ok("show w1"), "00000000  00 ")
	assert.Contains(t, l.ok("list"), "worker (default/a queue)")
	assert.Equal(t, "w1\n", l.ok("list --pool worker --quiet"))

	subject := l.names.Generate(0, schedule.Key{Namespace: "default", ID: "a"}, subjects.WhatDue)
	assert.Equal(t, "replayed 1 on "+subject+"\nreplayed 3 on "+subject+": a newer message waits there already\n",
		l.ok("replay --all --schedule a"))
	code, stdout, stderr := l.run("replay w1 2 -o json")
	assert.Equal(t, ExitConflict, code)
	assert.Equal(t, "error: letter w1 cannot be replayed: it does not say where the message was\n", stderr)
	assert.Contains(t, stdout, `"scheduleId": "b"`, "one that cannot be replayed does not keep the others")

	assert.Equal(t, "purged 1 dead letter\n", l.ok("purge 4"))
	l.fails(ExitNotFound, "purge 4", "error: there is no dead letter 4\nhint: carillon dlq list shows the dead letters\n")
	l.fails(ExitNotFound, "show 4", "error: there is no dead letter 4\nhint: carillon dlq list shows the dead letters\n")
	assert.Equal(t, "{\n  \"purged\": 1\n}\n", l.ok("purge --all --pool worker --yes -o json"))
	assert.Equal(t, []string{"5"}, l.listed(""))
	assert.Equal(t, "purged 1 dead letter\n", l.ok("purge --all --yes"))
	assert.Equal(t, "nothing replayed\n", l.ok("replay --all"))
	assert.Equal(t, "purged 0 dead letters\n", l.ok("purge --all --yes"))
	l.fails(ExitConflict, "list --prefix nobodys", "error: there is no stream NOBODYS_DLQ: no installation has this prefix\n")
}

func TestDLQShowsSomeOfManyErrors(t *testing.T) {
	t.Parallel()
	l := setupLetters(t)
	for range 13 {
		_, err := l.conn.RequestWithContext(t.Context(), l.names.WorkerDeadLetter("default", "q"), nil)
		require.NoError(t, err)
	}
	code, _, stderr := l.run("replay --all")
	assert.Equal(t, ExitConflict, code)
	assert.Equal(t, 10, strings.Count(stderr, "it does not say where"))
	assert.True(t, strings.HasSuffix(stderr, "\nerror: and 3 more\n"), stderr)
}

// TestDLQLeavesOutWhatMayBeForged: replay --all does not send letters that any worker may have written. It sends the others.
func TestDLQLeavesOutWhatMayBeForged(t *testing.T) {
	t.Parallel()
	l := setupLetters(t)
	key := schedule.Key{Namespace: "default", ID: "a"}
	request := func(subject, queue string) {
		t.Helper()
		letter := nats.NewMsg(subject)
		letter.Data = fmt.Appendf(nil, `{"namespace":"default","taskQueue":%q,"workflowId":"w","requestId":"r","scheduleId":"a"}`, queue)
		letter.Header.Set(deadletter.HeaderSubject, l.names.Action("default", queue, "w"))
		letter.Header.Set(deadletter.HeaderStream, l.names.ActionStream())
		letter.Header.Set("nats-rollup", "all")
		_, err := l.conn.RequestMsgWithContext(t.Context(), letter)
		require.NoError(t, err)
	}
	request(l.names.SharedWorkerDeadLetter(), "q")
	request(l.names.WorkerDeadLetter("default", "other"), "q")
	l.wake(key, 0)

	code, stdout, stderr := l.run("replay --all")
	assert.Equal(t, ExitConflict, code)
	assert.Equal(t, "replayed 1 on "+l.names.Generate(0, key, subjects.WhatDue)+"\n", stdout)
	assert.Equal(t, "warning: left out 1 dead letter that any worker may have written: w1; look at each with carillon dlq show, then replay it by its number\n"+
		"error: letter w2 cannot be replayed: a worker of task queue \"other\" in namespace default has no messages on "+
		l.names.Action("default", "q", "w")+"\n", stderr)
	assert.Contains(t, l.ok("show w2"), "which cannot be: it is forged, and cannot be replayed")
	assert.Contains(t, l.ok("show w1"), "as it says: any worker may have written it")
	assert.Equal(t, "replayed w1 on "+l.names.Action("default", "q", "w")+"\n", l.ok("replay w1"))
}

func TestDLQWithoutNATS(t *testing.T) {
	t.Parallel()
	var p process
	assert.Equal(t, ExitUnavailable, p.run(t.Context(), "dlq", "list", "--nats", "nats://127.0.0.1:1"))
	assert.Equal(t, "error: no NATS server answers at nats://127.0.0.1:1\n"+
		"hint: start one with: carillon server; or name yours with --nats URL\n", p.stderr.String())
}
