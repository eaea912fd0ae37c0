package cli

import (
	"context"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestServerSaysWhichNATSItUses: if two NATS servers are named, the command line wins over the environment, and the log names both.
func TestServerSaysWhichNATSItUses(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	d := startDaemonIn(t, map[string]string{"CARILLON_NATS": "nats://me:secret@127.0.0.1:1"},
		"server", "--port", "-1", "--data", data, "--log-level", "warn")
	d.output(t, `NATS +(nats://\S+)`)
	assert.DirExists(t, data)
	said := d.stderr.String()
	assert.Contains(t, said, "CARILLON_NATS is not used, since --data and --port are for an embedded NATS server")
	assert.NotContains(t, said, "secret")
	d.stopped(t)

	server, url := startServer(t, "--data", t.TempDir())
	other := filepath.Join(t.TempDir(), "data")
	d = startDaemonIn(t, map[string]string{"CARILLON_DATA": other}, "server", "--nats", url, "--log-level", "warn")
	d.output(t, `NATS +(nats://\S+)`)
	assert.NoDirExists(t, other)
	assert.Contains(t, d.stderr.String(), "CARILLON_DATA is not used, since --nats names a NATS server")
	d.stopped(t)
	server.stopped(t)
}

// TestTwoPlaces: which of two NATS servers a command uses depends on the sources that name them.
func TestTwoPlaces(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		file string
		// external says that the command uses the named NATS server. warning is the expected warning. refused says that an error is
		// expected.
		external         bool
		warning, refused string
	}{
		"nothing":     {},
		"data":        {args: []string{"--data", "d"}},
		"nats":        {args: []string{"--nats", "nats://n"}, external: true},
		"environment": {env: map[string]string{"CARILLON_NATS": "nats://n"}, external: true},
		"two flags": {
			args: []string{"--nats", "nats://n", "--port", "1", "--sync", "always"}, refused: "--port, --sync and --nats name two NATS servers",
		},
		"flag and context": {
			args: []string{"--context", "c", "--insecure"}, refused: "--insecure and --context name two NATS servers",
		},
		"flag over environment": {
			args: []string{"--host", "127.0.0.1"}, env: map[string]string{"CARILLON_CONTEXT": "c"},
			warning: "CARILLON_CONTEXT is not used, since --host is for an embedded NATS server",
		},
		"nats over environment": {
			args: []string{"--nats", "nats://n"}, env: map[string]string{"CARILLON_PORT": "1", "CARILLON_NATS_CONFIG": "f"}, external: true,
			warning: "CARILLON_PORT and CARILLON_NATS_CONFIG are not used, since --nats names a NATS server",
		},
		"environment over file": {
			env: map[string]string{"CARILLON_DATA": "d"}, file: "nats: nats://n",
			warning: "nats in settings.yaml is not used, since CARILLON_DATA is for an embedded NATS server",
		},
		"both in the file": {
			file: "nats: nats://n\ndata: d", external: true,
			warning: "data in settings.yaml is not used, since nats in settings.yaml names a NATS server",
		},
		"both in the environment": {
			env: map[string]string{"CARILLON_DATA": "d", "CARILLON_NATS": "nats://n"}, external: true,
			warning: "CARILLON_DATA is not used, since CARILLON_NATS names a NATS server",
		},
		"only what is typed counts": {
			args: []string{"--port", "1"}, env: map[string]string{"CARILLON_NATS": "nats://n"}, file: "data: d",
			warning: "CARILLON_NATS is not used, since --port is for an embedded NATS server",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"server"}, test.args...)
			if test.file != "" {
				args = append(args, "--config", "settings.yaml")
			}
			p := &process{env: test.env, files: map[string]string{"settings.yaml": test.file}}
			a := &app{env: p.Env()}
			root := a.rootCommand()
			cmd, rest, err := root.Find(args)
			require.NoError(t, err)
			require.NoError(t, cmd.ParseFlags(rest))
			require.NoError(t, a.applySettings(cmd, nil))
			warning, err := a.choosePlace(cmd, false, embeddedFlags...)
			if test.refused != "" {
				assert.ErrorContains(t, err, test.refused)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, test.warning, warning)
			assert.Equal(t, test.external, a.global.isExternal())
		})
	}
}

// TestDataFolderOverTheEnvironment: a typed --data wins over the environment, and the command says so.
func TestDataFolderOverTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"cluster", "recreate", "CARILLON_EVENTS"}, {"cluster", "restore", "/nowhere"}} {
		p := process{env: map[string]string{"CARILLON_NATS": "nats://127.0.0.1:1"}}
		data := filepath.Join(t.TempDir(), "none")
		assert.NotEqual(t, ExitOK, p.run(t.Context(), append(args, "--data", data)...))
		assert.Contains(t, p.stderr.String(), "CARILLON_NATS is not used, since --data is for an embedded NATS server", args)
		assert.NotContains(t, p.stderr.String(), "two NATS servers")

		p = process{}
		assert.Equal(t, ExitUsage, p.run(t.Context(), append(args, "--data", data, "--nats", "nats://127.0.0.1:1")...))
		assert.Contains(t, p.stderr.String(), "--data and --nats name two NATS servers", args)
	}
	p := process{env: map[string]string{"CARILLON_NATS": "nats://127.0.0.1:1", "CARILLON_DATA": "d"}}
	assert.Equal(t, ExitUsage, p.run(t.Context(), "cluster", "recreate", "CARILLON_EVENTS"))
	assert.Contains(t, p.stderr.String(), "CARILLON_DATA and CARILLON_NATS name two NATS servers")
	p = process{}
	assert.Equal(t, ExitUsage, p.run(t.Context(), "bench", "idle", "--data", t.TempDir(), "--nats", "nats://127.0.0.1:1"))
	assert.Contains(t, p.stderr.String(), "--data and --nats name two NATS servers")
}

// TestTheStrongerOfTwoCounts: among settings that exclude each other, the command line wins over a variable, and a variable over the file.
// A warning names the unused setting in the words of its source. Two settings of one source are an error.
func TestTheStrongerOfTwoCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		file string
		// warning is the expected warning, refused the expected error.
		warning, refused string
	}{
		"server over variable": {
			args: []string{"list", "--nats", "nats://127.0.0.1:1"}, env: map[string]string{"CARILLON_CONTEXT": "c"},
			warning: "CARILLON_CONTEXT is not used, since --nats is given",
		},
		"context over variable": {
			args: []string{"list", "--context", "/there/is/none.json"}, env: map[string]string{"CARILLON_NATS": "nats://n"},
			warning: "CARILLON_NATS is not used, since --context is given",
		},
		"variable over file": {
			args: []string{"list"}, env: map[string]string{"CARILLON_NATS": "nats://127.0.0.1:1"}, file: "context: c",
			warning: "context in settings.yaml is not used, since CARILLON_NATS is given",
		},
		"two servers typed": {
			args: []string{"list", "--nats", "nats://n", "--context", "c"}, refused: "--nats and --context name two servers",
		},
		"two servers in variables": {
			args: []string{"list"}, env: map[string]string{"CARILLON_NATS": "nats://n", "CARILLON_CONTEXT": "c"},
			refused: "CARILLON_NATS and CARILLON_CONTEXT name two servers",
		},
		"two servers in the file": {
			args: []string{"list"}, file: "nats: nats://n\ncontext: c",
			refused: "nats in settings.yaml and context in settings.yaml name two servers",
		},
		"user over token": {
			args: []string{"list", "--nats", "nats://127.0.0.1:1", "--user", "me"}, env: map[string]string{"CARILLON_TOKEN": "t", "CARILLON_PASSWORD": "p"},
			warning: "CARILLON_TOKEN is not used, since --user is given",
		},
		"token over user": {
			args: []string{"list", "--nats", "nats://127.0.0.1:1", "--token", "t"}, env: map[string]string{"CARILLON_USER": "u", "CARILLON_PASSWORD": "p"},
			warning: "CARILLON_USER and CARILLON_PASSWORD are not used, since --token is given",
		},
		"two identities in variables": {
			args: []string{"list"}, env: map[string]string{"CARILLON_CREDS": "c", "CARILLON_TOKEN": "t"},
			refused: "CARILLON_CREDS and CARILLON_TOKEN name two identities",
		},
		"password alone": {
			args: []string{"list"}, env: map[string]string{"CARILLON_PASSWORD": "p"}, refused: "CARILLON_PASSWORD needs --user",
		},
		"certificate alone": {
			args: []string{"list"}, env: map[string]string{"CARILLON_TLS_CERT": "c"}, refused: "CARILLON_TLS_CERT needs --tls-key",
		},
		"key alone": {args: []string{"list", "--tls-key", "k"}, refused: "--tls-key needs --tls-cert"},
		"newest over limit": {
			args: []string{"history", "--newest", "3"}, env: map[string]string{"CARILLON_LIMIT": "7"},
			warning: "CARILLON_LIMIT is not used, since --newest is given",
		},
		"limit over newest": {
			args: []string{"history", "--limit", "3"}, file: "newest: 7",
			warning: "newest in settings.yaml is not used, since --limit is given",
		},
		"newest of all": {args: []string{"history", "--newest", "0", "--limit", "3"}},
		"pause over variable": {
			args: []string{"patch", "x", "--unpause"}, env: map[string]string{"CARILLON_PAUSE": "true"},
			warning: "CARILLON_PAUSE is not used, since --unpause is given",
		},
		"times over number": {
			args: []string{"patch", "x", "--skip-at", "+1h"}, env: map[string]string{"CARILLON_SKIP": "3"},
			warning: "CARILLON_SKIP is not used, since --skip-at is given",
		},
		"number over times": {
			args: []string{"skip", "x", "3"}, env: map[string]string{"CARILLON_AT": "+1h"},
			warning: `CARILLON_AT is not used, since "3" is given`,
		},
		"number and times": {args: []string{"skip", "x", "3", "--at", "+1h"}, refused: `"3" and --at do not go together`},
		"input over file": {
			args: []string{"trigger", "x", "--input", "1"}, env: map[string]string{"CARILLON_INPUT_FILE": "f"},
			warning: "CARILLON_INPUT_FILE is not used, since --input is given",
		},
		"ID over all": {
			args: []string{"bulk", "delete", "x", "--yes"}, env: map[string]string{"CARILLON_ALL": "true"},
			warning: `CARILLON_ALL is not used, since "x" is given`,
		},
		"query over prefix": {
			args: []string{"bulk", "pause", "--query", "paused = false"}, env: map[string]string{"CARILLON_ID_PREFIX": "a"},
			warning: "CARILLON_ID_PREFIX is not used, since --query is given",
		},
		"ID and all": {args: []string{"bulk", "delete", "x", "--all"}, refused: `"x" and --all do not go together`},
		"label over removal": {
			args: []string{"bulk", "set-label", "x", "--label", "a=b"}, env: map[string]string{"CARILLON_REMOVE_LABEL": "a"},
			warning: "CARILLON_REMOVE_LABEL is not used, since --label is given",
		},
		"month over year": {
			args: []string{"spec", "calendar", "--cron", "0 9 * * *", "--month", "2026-03"}, env: map[string]string{"CARILLON_YEAR": "2026"},
			warning: "CARILLON_YEAR is not used, since --month is given",
		},
		"letters by number": {
			args: []string{"dlq", "purge", "7"}, env: map[string]string{"CARILLON_ALL": "true", "CARILLON_POOL": "invoker"},
			warning: `CARILLON_ALL and CARILLON_POOL are not used, since "7" is given`,
		},
		"letters by number and all": {args: []string{"dlq", "replay", "7", "--all"}, refused: `"7" and --all do not go together`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := test.args
			switch args[0] {
			case "list", "history", "patch", "skip", "trigger":
				args = append([]string{"schedule"}, args...)
			}
			if test.file != "" {
				args = append(args, "--config", "settings.yaml")
			}
			p := process{env: map[string]string{"CARILLON_NATS": "nats://127.0.0.1:1"}, files: map[string]string{"settings.yaml": test.file}}
			if args[1] == "list" {
				delete(p.env, "CARILLON_NATS")
			}
			maps.Copy(p.env, test.env)
			code := p.run(t.Context(), args...)
			said := p.stderr.String()
			assert.Equal(t, test.refused != "", code == ExitUsage, said)
			assert.Contains(t, said, test.refused)
			warnings := strings.Join(regexp.MustCompile(`(?m)^warning: .* not used.*$`).FindAllString(said, -1), "")
			if test.warning == "" {
				assert.Empty(t, warnings)
				return
			}
			assert.Equal(t, "warning: "+test.warning, warnings)
		})
	}
}

// TestRolesSayWhatIsNotUsed: the roles log which settings are not used.
func TestRolesSayWhatIsNotUsed(t *testing.T) {
	t.Parallel()
	server, url := startServer(t, "--data", t.TempDir())
	worker := startDaemonIn(t, map[string]string{"CARILLON_CONTEXT": "c"}, "worker", "--nats", url, "--log-format", "json")
	natstest.Eventually(t, patience, "the log says it", func() bool {
		return strings.Contains(worker.stderr.String(), `"msg":"CARILLON_CONTEXT is not used, since --nats is given"`)
	})
	worker.stopped(t)
	server.stopped(t)

	d := startDaemonIn(t, map[string]string{"CARILLON_TOKEN": "t"}, "server", "--port", "-1", "--data", t.TempDir(), "--user", "u", "--log-level", "warn")
	d.output(t, `NATS +(nats://\S+)`)
	assert.Contains(t, d.stderr.String(), "CARILLON_TOKEN is not used, since --user is given")
	d.stopped(t)
}

// TestBenchTakesTheServerThatIsNamed: a typed --nats wins over a variable that asks for an embedded server.
func TestBenchTakesTheServerThatIsNamed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody is there
	p := process{env: map[string]string{"CARILLON_PROCESSES": "true"}}
	assert.NotEqual(t, ExitUsage, p.run(ctx, "bench", "idle", "--nats", "nats://127.0.0.1:1"), p.stderr.String())
	assert.Contains(t, p.stderr.String(), "CARILLON_PROCESSES is not used, since --nats names a NATS server")
}
