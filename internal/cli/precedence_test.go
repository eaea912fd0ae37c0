package cli

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestServerSaysWhichNATSItUses where two are named: what somebody has typed wins over the environment, and both are named.
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

// TestTwoPlaces: which of two NATS servers a command takes, by where they are named.
func TestTwoPlaces(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		env  map[string]string
		file string
		// external says that the NATS server that is named is used; warning what is said; refused that it is an error.
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

// TestDataFolderOverTheEnvironment: commands that work in a data folder do so where one is typed, and say it.
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
