package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/subjects"
)

// apartConfig puts the installation into one account and a worker into another. The worker finds the installation's JetStream by a prefix.
const apartConfig = `accounts {
  CARILLON {
    jetstream: enabled
    users: [ { user: me, password: secret } ]
    exports: [
      { service: "$JS.API.CONSUMER.INFO.CARILLON_ACTIONS.worker_default_apart", accounts: [APART] }
      { service: "$JS.API.CONSUMER.MSG.NEXT.CARILLON_ACTIONS.worker_default_apart", response_type: stream, accounts: [APART] }
      { service: "$JS.ACK.CARILLON_ACTIONS.worker_default_apart.>", accounts: [APART] }
      { service: "$JS.API.DIRECT.GET.CARILLON_CONTROL.carillon.control.default.apart.>", accounts: [APART] }
      { service: "carillon.callback.*.default.apart.>", accounts: [APART] }
      { service: "carillon.api.default.>", accounts: [APART] }
      { stream: "carillon.control.default.apart.>", accounts: [APART] }
      { stream: "carillon.event.default.>", accounts: [APART] }
    ]
  }
  APART {
    users: [ { user: apart, password: secret } ]
    imports: [
      { service: { account: CARILLON, subject: "$JS.API.CONSUMER.INFO.CARILLON_ACTIONS.worker_default_apart" },
        to: "js.carillon.API.CONSUMER.INFO.CARILLON_ACTIONS.worker_default_apart" }
      { service: { account: CARILLON, subject: "$JS.API.CONSUMER.MSG.NEXT.CARILLON_ACTIONS.worker_default_apart" },
        to: "js.carillon.API.CONSUMER.MSG.NEXT.CARILLON_ACTIONS.worker_default_apart" }
      { service: { account: CARILLON, subject: "$JS.ACK.CARILLON_ACTIONS.worker_default_apart.>" } }
      { service: { account: CARILLON, subject: "$JS.API.DIRECT.GET.CARILLON_CONTROL.carillon.control.default.apart.>" },
        to: "js.carillon.API.DIRECT.GET.CARILLON_CONTROL.carillon.control.default.apart.>" }
      { service: { account: CARILLON, subject: "carillon.callback.*.default.apart.>" } }
      { service: { account: CARILLON, subject: "carillon.api.default.>" } }
      { stream: { account: CARILLON, subject: "carillon.control.default.apart.>" } }
      { stream: { account: CARILLON, subject: "carillon.event.default.>" } }
    ]
  }
}`

// TestAccountApart: a worker and a client in another account than the installation work through its imports. The prefix comes from a flag,
// a variable or a context. A command that needs all of JetStream says that it cannot run there.
func TestAccountApart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, settings := filepath.Join(dir, "nats.conf"), filepath.Join(dir, "apart.json")
	require.NoError(t, os.WriteFile(config, []byte(apartConfig), 0o600))
	_, url := startServer(t, "--data", t.TempDir(), "--nats-config", config, "--user", "me", "--password", "secret")
	text, err := json.Marshal(map[string]string{
		"url": url, "user": "apart", "password": "secret", "jetstream_api_prefix": "js.carillon.API",
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(settings, text, 0o600))
	owner, err := nats.Connect(url, nats.UserInfo("me", "secret"))
	require.NoError(t, err)
	t.Cleanup(owner.Close)
	js, err := jetstream.New(owner)
	require.NoError(t, err)
	_, err = js.CreateConsumer(t.Context(), "CARILLON_ACTIONS", subjects.Default().WorkerConsumer("default", "apart"))
	require.NoError(t, err)

	apart := []string{"--nats", url, "--user", "apart", "--password", "secret", "--js-api-prefix", "js.carillon.API"}
	for _, connect := range [][]string{apart, {"--context", settings}} {
		w := startDaemon(t, append([]string{"worker", "--task-queue", "apart"}, connect...)...)
		for i, args := range [][]string{
			{"create", "tick", "--every", "1h", "--type", "noop", "--task-queue", "apart"}, {"trigger", "tick", "--wait"}, {"delete", "tick"},
		} {
			var p process
			require.Equal(t, ExitOK, p.run(t.Context(), append(append([]string{"schedule"}, args...), connect...)...), "%d: %s", i, p.stderr.String())
		}
		w.stopped(t)
		for _, args := range [][]string{{"cluster", "info"}, {"cluster", "health"}, {"dlq", "list"}, {"generator"}, {"bench", "steady"}} {
			var p process
			assert.Equal(t, ExitConflict, p.run(t.Context(), append(args, connect...)...), args)
			assert.Contains(t, p.stderr.String(), "the JetStream API prefix js.carillon.API is for workers", args)
			assert.Contains(t, p.stderr.String(), "hint: connect as a user of the account of the installation", args)
		}
	}
	var p process
	assert.Equal(t, ExitUsage, p.run(t.Context(), "worker", "--nats", url, "--user", "apart", "--password", "secret", "--js-api-prefix", "js.*"))
	assert.Contains(t, p.stderr.String(), `jetStreamAPIPrefix: "js.*" cannot begin a NATS subject`)
}
