package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/consistency"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func TestClusterHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"cluster", "cluster check", "cluster health", "cluster info"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			assert.Equal(t, ExitOK, p.run(t.Context(), append(strings.Fields(command), "--help")...))
			golden.Equal(t, "help/carillon_"+strings.ReplaceAll(command, " ", "_")+".txt", p.stdout.String())
		})
	}
}

func TestClusterUsage(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"cluster chek":                     "unknown command \"chek\"; did you mean \"check\"?\nhint: carillon cluster --help lists the commands",
		"cluster check x":                  "unexpected argument \"x\"\nhint: usage: carillon cluster check [flags]",
		"cluster check --confirm-after 0s": "--confirm-after: 0s is not more than 0s",
	} {
		var p process
		assert.Equal(t, ExitUsage, p.run(t.Context(), strings.Fields(command)...), command)
		assert.Equal(t, "error: "+want+"\n", p.stderr.String())
		assert.Empty(t, p.stdout.String())
	}
}

func TestClusterOfNobody(t *testing.T) {
	t.Parallel()
	var p process
	server := natstest.Shared(t)
	assert.Equal(t, ExitConflict, p.run(t.Context(), "cluster", "check", "--nats", server.ClientURL(), "--prefix", "nobodys"))
	assert.Equal(t, "error: there is no bucket nobodys-cluster: no installation has this prefix\n", p.stderr.String())
	_, js := natstest.Connect(t, server)
	_, err := js.KeyValue(t.Context(), "nobodys-cluster")
	require.ErrorIs(t, err, jetstream.ErrBucketNotFound, "a check sets up nothing")
}

// ruins is an installation without processes whose stored schedules are damaged.
type ruins struct {
	*testing.T
	url   string
	names subjects.Names
	store *kv.Store
}

func newRuins(t *testing.T) *ruins {
	t.Helper()
	server := natstest.Shared(t)
	_, js := natstest.Connect(t, server)
	r := &ruins{T: t, url: server.ClientURL(), names: natstest.Names(t)}
	_, err := topology.Ensure(t.Context(), js, r.names, topology.Settings{Shards: 1})
	require.NoError(t, err)
	r.store, err = kv.Open(t.Context(), js, r.names, 1)
	require.NoError(t, err)
	return r
}

func (r *ruins) check(flags ...string) (code int, stdout, stderr string) {
	var p process
	args := append([]string{"cluster", "check", "--confirm-after", "100ms", "--nats", r.url, "--prefix", r.names.Prefix()}, flags...)
	code = p.run(r.Context(), args...)
	return code, p.stdout.String(), p.stderr.String()
}

func TestClusterCheck(t *testing.T) {
	t.Parallel()
	r := newRuins(t)
	code, stdout, _ := r.check()
	assert.Equal(t, ExitOK, code)
	assert.Equal(t, "0 schedules and 0 workflows looked at: consistent\n", stdout)

	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	key := schedule.Key{Namespace: "default", ID: "report"}
	_, err := kv.Put(t.Context(), r.store, kv.Definition(key), &wire.Definition{
		Namespace: key.Namespace, ID: key.ID, Incarnation: "i", Version: 1, CreateTime: created,
	}, 0)
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), r.store, kv.Generator(key), &wire.GeneratorState{
		Incarnation: "i", Mark: created, HandedOff: created, Version: 1, Next: created.AddDate(100, 0, 0),
	}, 0)
	require.NoError(t, err)
	_, err = kv.Put(t.Context(), r.store, kv.Result(schedule.Key{Namespace: "old", ID: "gone"}), &wire.Result{Incarnation: "i"}, 0)
	require.NoError(t, err)
	r.corrupt(key)

	code, stdout, stderr := r.check()
	assert.Equal(t, ExitFailure, code)
	golden.Equal(t, "cluster/check.txt", stdout)
	assert.Equal(t, "error: 3 inconsistencies left\nhint: carillon cluster check --repair repairs 2\n", stderr)

	code, stdout, _ = r.check("--namespace", "old")
	assert.Equal(t, ExitFailure, code)
	assert.Contains(t, stdout, "1 schedule and 0 workflows looked at: 1 inconsistency\n")

	code, stdout, stderr = r.check("--repair")
	assert.Equal(t, ExitFailure, code)
	golden.Equal(t, "cluster/repair.txt", stdout)
	assert.Equal(t, "error: 1 inconsistency left\n", stderr)

	code, stdout, _ = r.check("-o", "json")
	assert.Equal(t, ExitFailure, code)
	var report consistency.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &report))
	require.Len(t, report.Findings, 1)
	assert.Equal(t, consistency.RecordDamaged, report.Findings[0].Kind)
	assert.Equal(t, "invoker", report.Findings[0].About)
	assert.False(t, report.Findings[0].Repairable)
}

// corrupt stores an invoker's record that cannot be read.
func (r *ruins) corrupt(key schedule.Key) {
	conn, err := nats.Connect(r.url)
	require.NoError(r, err)
	defer conn.Close()
	_, err = conn.Request("$KV."+r.names.StateBucket(0)+"."+kv.Invoker(key).String(), []byte{codec.FormatVersion, 0xc1}, time.Second)
	require.NoError(r, err)
}

func TestClusterCheckOfAServer(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--demo", "--data", t.TempDir())
	c := cli{t, url}
	c.ok("create", "tick", "--every", "1s", "--type", "noop")
	c.until("tick", "it runs", func(d schedule.Description) bool { return completedRuns(d) > 0 })
	p := process{env: map[string]string{"CARILLON_NATS": url}}
	require.Equal(t, ExitOK, p.run(t.Context(), "cluster", "check", "--confirm-after", "2s"), "%s%s", p.stdout.String(), p.stderr.String())
	assert.Regexp(t, `^[2-9]\d* schedules and 0 workflows looked at: consistent\n$`, p.stdout.String())
	server.stopped(t)
}
