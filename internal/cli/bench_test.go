package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bench"
	"github.com/carillon-scheduler/carillon/internal/golden"
)

func TestBenchHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"bench", "bench steady", "bench recover", "bench all"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			var p process
			require.Equal(t, ExitOK, p.run(t.Context(), append(strings.Fields(command), "--help")...))
			golden.Equal(t, "help/carillon_"+strings.ReplaceAll(command, " ", "_")+".txt", p.stdout.String())
		})
	}
}

func TestBenchUsage(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"bench stead":                                      "unknown command \"stead\"; did you mean \"steady\"?",
		"bench steady x":                                   "unexpected argument \"x\"",
		"bench steady --clients 3":                         "unknown flag \"--clients\"",
		"bench steady --schedules 0":                       "schedules: 0 is out of range: use 1 to 1000000",
		"bench steady --interval 500ms":                    "interval: 500ms is out of range: use whole seconds, 1s to 1h",
		"bench steady --overlap skip":                      "--overlap: \"skip\"",
		"bench herd --sync sometimes":                      "--sync: \"sometimes\"",
		"bench herd --concurrency 0":                       "--concurrency: 0 is out of range",
		"bench herd --processes --worker fenced":           "--worker: fenced needs the embedded server",
		"bench herd --nats nats://x --worker apart":        "--worker: apart needs the embedded server",
		"bench herd --round-trip 1ms":                      "--round-trip: 1ms",
		"bench herd --processes --nats nats://127.0.0.1:1": "--processes and --nats name two NATS servers",
		"bench steady --address 127.0.0.1:7233":            "unknown flag \"--address\"",
		"bench workflows --size 1":                         "size: 1: leave it out",
		"bench workflows --workload signals --size -1":     "size: -1 is out of range: use 1 to 1000000",
		"bench workflows --server-pid 1":                   "--server-pid: 1 needs --address",
		"bench workflows --address x:1 --processes":        "--address and --processes do not go together",
		"bench all --schedules 1":                          "unknown flag \"--schedules\"",
	} {
		var p process
		assert.Equal(t, ExitUsage, p.run(t.Context(), strings.Fields(command)...), command)
		assert.Contains(t, p.stderr.String(), want)
		assert.Empty(t, p.stdout.String())
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes seconds")
	}
	args := []string{"bench", "backfill", "--actions", "20", "--data", t.TempDir()}
	var people, program process
	require.Equal(t, ExitOK, people.run(t.Context(), args...), people.stderr.String())
	assert.Regexp(t, `(?m)^actions +20 due, 20 started, 0 missed, 0 doubled$`, people.stdout.String())
	assert.Contains(t, people.stderr.String(), "backfill: creating schedules\n")

	require.Equal(t, ExitOK, program.run(t.Context(), append(args, "--json")...), program.stderr.String())
	var result bench.Result
	require.NoError(t, json.Unmarshal([]byte(program.stdout.String()), &struct {
		Started *int `json:"started"`
	}{&result.Started}))
	assert.Equal(t, 20, result.Started)
}

func TestBenchProgress(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "starting", bar("starting", 0, 0))
	assert.Equal(t, "list  7", bar("list", 7, 0))
	assert.Equal(t, "["+strings.Repeat("#", 15)+strings.Repeat(".", 15)+"]  creating  5/10", bar("creating", 5, 10))
	assert.Equal(t, "["+strings.Repeat("#", 30)+"]  creating  11/10", bar("creating", 11, 10))

	var out buffer
	now := time.Unix(0, 0)
	p := &benchProgress{out: &out, now: func() time.Time { return now }, terminal: true, scenario: "herd"}
	p.show("creating", 0, 30)
	p.show("creating", 1, 30) // too soon
	now = now.Add(barPause)
	p.show("creating", 30, 30)
	p.end()
	assert.Equal(t, []string{
		"", "herd  [" + strings.Repeat(".", 30) + "]  creating  0/30\x1b[K",
		"herd  [" + strings.Repeat("#", 30) + "]  creating  30/30\x1b[K", "\x1b[K",
	}, strings.Split(out.String(), "\r"))
}
