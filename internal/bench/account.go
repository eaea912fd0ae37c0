package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/subjects"
)

// Where the worker is: on the connection of the roles, on a connection of its own, or on a connection in a NATS account of its
// own, like a worker that the installation does not trust.
const (
	WorkerTogether = "together"
	WorkerApart    = "apart"
	WorkerFenced   = "fenced"
)

// The users of a server with a fenced worker. There are no passwords: the server exists only for the measurement.
const (
	fencedUser = "worker"
	fencedAPI  = "js.bench.API"
)

// fencedAccounts are the accounts of deploy/nats/carillon.conf, for the measured queue. Names in braces are placeholders.
const fencedAccounts = `
no_auth_user: owner
accounts {
  OWNER {
    jetstream: enabled
    users: [ { user: owner, password: owner } ]
    exports: [
      { service: "{prefix}.consumer.{queue}", accounts: [WORKER] }
      { service: "{prefix}.ack.{queue}.>", accounts: [WORKER] }
      { service: "$JS.API.CONSUMER.INFO.{actions}.{consumer}", accounts: [WORKER] }
      { service: "$JS.API.CONSUMER.MSG.NEXT.{actions}.{consumer}", response_type: stream, accounts: [WORKER] }
      { service: "$JS.API.DIRECT.GET.{control}.{prefix}.control.{queue}.>", accounts: [WORKER] }
      { service: "{prefix}.report.callback.*.{queue}.>", accounts: [WORKER] }
      { stream: "{prefix}.control.{queue}.>", accounts: [WORKER] }
    ]
    imports: [
      { service: { account: WORKER, subject: "{prefix}.alive.{queue}.*" } }
      { service: { account: WORKER, subject: "{prefix}.types.{queue}" } }
    ]
  }
  WORKER {
    users: [ { user: worker, password: worker } ]
    exports: [
      { service: "{prefix}.alive.{queue}.*", response_type: stream, accounts: [OWNER] }
      { service: "{prefix}.types.{queue}", response_type: stream, accounts: [OWNER] }
    ]
    imports: [
      { service: { account: OWNER, subject: "{prefix}.consumer.{queue}" }, to: "{api}.CONSUMER.CREATE.{actions}.{consumer}.{prefix}.action.{queue}.>" }
      { service: { account: OWNER, subject: "{prefix}.ack.{queue}.>" }, to: "$JS.ACK.{actions}.{consumer}.>" }
      { service: { account: OWNER, subject: "$JS.API.CONSUMER.INFO.{actions}.{consumer}" }, to: "{api}.CONSUMER.INFO.{actions}.{consumer}" }
      { service: { account: OWNER, subject: "$JS.API.CONSUMER.MSG.NEXT.{actions}.{consumer}" }, to: "{api}.CONSUMER.MSG.NEXT.{actions}.{consumer}" }
      { service: { account: OWNER, subject: "$JS.API.DIRECT.GET.{control}.{prefix}.control.{queue}.>" },
        to: "{api}.DIRECT.GET.{control}.{prefix}.control.{queue}.>" }
      { service: { account: OWNER, subject: "{prefix}.report.callback.*.{queue}.>" }, to: "{prefix}.callback.*.{queue}.>" }
      { stream: { account: OWNER, subject: "{prefix}.control.{queue}.>" } }
    ]
  }
}
`

// fenceConfig writes a configuration of NATS in which the worker has an account of its own, and returns its path.
func fenceConfig(dir string, names subjects.Names) (string, error) {
	text := strings.NewReplacer(
		"{prefix}", names.Prefix(), "{queue}", namespace+"."+subjects.Escape(taskQueue), "{api}", fencedAPI,
		"{actions}", names.ActionStream(), "{control}", names.ControlStream(), "{consumer}", subjects.WorkerConsumerName(namespace, taskQueue),
	).Replace(fencedAccounts)
	path := filepath.Join(dir, "accounts.conf")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("bench: accounts: %w", err)
	}
	return path, nil
}

// asFenced connects as the fenced worker.
func asFenced() nats.Option { return nats.UserInfo(fencedUser, fencedUser) }
