package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestConnect tries every kind of credentials, with mutual TLS, against a server that demands them.
func TestConnect(t *testing.T) {
	t.Parallel()
	ca := natstest.NewAuthority(t)
	ca.Issue("server")
	ca.Issue("client")
	user, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := user.PublicKey()
	require.NoError(t, err)
	seed, err := user.Seed()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ca.Path("seed"), seed, 0o600))
	config := fmt.Sprintf(`
		tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }
		authorization { users: [ { user: me, password: secret }, { nkey: %s } ] }`,
		ca.Path("server.pem"), ca.Path("server.key"), ca.Path("ca.pem"), public)
	require.NoError(t, os.WriteFile(ca.Path("nats.conf"), []byte(config), 0o600))

	server, url := startServer(t, "--data", t.TempDir(), "--nats-config", ca.Path("nats.conf"), "--user", "me", "--password", "secret")
	context, err := json.Marshal(map[string]string{
		"url": url, "user": "me", "password": "secret",
		"ca": ca.Path("ca.pem"), "cert": ca.Path("client.pem"), "key": ca.Path("client.key"),
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(ca.Path("context.json"), context, 0o600))

	list := func(args ...string) (int, string) {
		var p process
		code := p.run(t.Context(), append([]string{"schedule", "list"}, args...)...)
		return code, p.stderr.String()
	}
	tls := []string{"--nats", url, "--tls-ca", ca.Path("ca.pem"), "--tls-cert", ca.Path("client.pem"), "--tls-key", ca.Path("client.key")}
	for name, args := range map[string][]string{
		"user":    append([]string{"--user", "me", "--password", "secret"}, tls...),
		"nkey":    append([]string{"--nkey", ca.Path("seed")}, tls...),
		"context": {"--context", ca.Path("context.json")},
	} {
		code, said := list(args...)
		assert.Equal(t, ExitOK, code, "%s: %s", name, said)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nobody":         {tls, "does not let you in"},
		"wrong password": {append([]string{"--user", "me", "--password", "guess"}, tls...), "hint: say who you are with --creds"},
		"token":          {append([]string{"--token", "secret"}, tls...), "does not let you in"},
		"no certificate": {[]string{"--nats", url, "--tls-ca", ca.Path("ca.pem"), "--user", "me", "--password", "secret"}, "connect to NATS"},
		"unknown server": {[]string{"--nats", url, "--user", "me", "--password", "secret"}, "certificate"},
		"no context":     {[]string{"--context", ca.Path("other.json")}, "other.json"},
		"no file":        {append([]string{"--creds", ca.Path("none")}, tls...), "none"},
		"no seed":        {append([]string{"--nkey", ca.Path("ca.pem")}, tls...), "--nkey"},
	} {
		code, said := list(c.args...)
		assert.NotEqual(t, ExitOK, code, name)
		assert.Equal(t, strings.Contains(said, "does not let you in"), code == ExitDenied, name)
		assert.Contains(t, said, c.want, name)
		assert.NotContains(t, said, "guess", name)
	}
	server.stopped(t)
}

func TestConnectUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--creds", "a", "--user", "b"}, "--creds and --user name two identities"},
		{[]string{"--password", "b"}, "--password needs --user"},
		{[]string{"--tls-cert", "b"}, "--tls-cert needs --tls-key"},
		{[]string{"--nats", "nats://a", "--context", "b"}, "--nats and --context name two servers"},
	} {
		var p process
		assert.Equal(t, ExitUsage, p.run(t.Context(), append([]string{"schedule", "list"}, c.args...)...))
		assert.Contains(t, p.stderr.String(), c.want)
	}
}

// TestServerIsNotExposed: a server is open to other machines only if somebody has asked for that.
func TestServerIsNotExposed(t *testing.T) {
	t.Parallel()
	var p process
	assert.Equal(t, ExitUsage, p.run(t.Context(), "server", "--data", t.TempDir(), "--host", "0.0.0.0", "--port", "-1"))
	assert.Contains(t, p.stderr.String(), "0.0.0.0 can be reached from other machines")
	assert.Contains(t, p.stderr.String(), "--insecure")
}

// TestMissingPermission: a command says at once which permission is missing.
func TestMissingPermission(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "nats.conf")
	require.NoError(t, os.WriteFile(config, []byte(`authorization { users: [
		{ user: service, password: s }
		{ user: reader, password: r, permissions { publish: "carillon.api.default.schedule.list", subscribe: "_INBOX.>" } }
	] }`), 0o600))
	d := startDaemonIn(t, map[string]string{"CARILLON_GRPC": off, "CARILLON_PASSWORD": "s"},
		"server", "--port", "-1", "--data", t.TempDir(), "--log-level", "error", "--nats-config", config, "--user", "service", "--console", off)
	url := d.output(t, `NATS +((?:nats|tls)://\S+)`)
	run := func(args ...string) (int, string) {
		p := process{env: map[string]string{"CARILLON_NATS": url, "CARILLON_USER": "reader", "CARILLON_PASSWORD": "r"}}
		return p.run(t.Context(), append([]string{"schedule"}, args...)...), p.stderr.String()
	}
	code, text := run("list")
	require.Equal(t, ExitOK, code, text)
	code, text = run("pause", "nightly")
	assert.Equal(t, ExitDenied, code)
	assert.Equal(t, "error: NATS does not let this user publish on carillon.api.default.schedule.pause\n", text)
	d.stopped(t)
}
