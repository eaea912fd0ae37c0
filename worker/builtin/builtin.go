// Package builtin holds the actions of Carillon's own workers, so that a schedule can do something useful without a program of yours:
//
//   - "noop" returns its input as its result;
//   - "sleep" waits as long as its input says, "90s" or {"duration": "90s"}, or until the run is canceled;
//   - "log" logs its input;
//   - "http" makes a request, and may wait until the receiver calls back;
//   - "nats" publishes a message, or makes a request and returns the reply;
//   - "exec" runs a program from a list that the operator of the worker has made, without a shell. Without a list it is off.
//
// Inputs are JSON objects, described in docs/actions.md. An input that does not fit, or that has an unknown field, ends the run as failed
// with type [worker.TypeInvalidInput]; it is not retried. Texts in the inputs of http, nats and exec may contain placeholders such as
// {{nominalTime}}.
//
// Whoever may create schedules decides what these actions do, with the rights of the worker's process. Therefore http reaches no private
// addresses, nats none of the installation's own subjects, and exec no program that is not on the list.
//
// The package imports worker, schedule, subjects, internal/apitext and internal/telemetry; only commands import it.
package builtin

import (
	"cmp"
	"log/slog"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// The names of the built-in action types.
const (
	Noop  = "noop"
	Sleep = "sleep"
	Log   = "log"
	HTTP  = "http"
	NATS  = "nats"
	Exec  = "exec"
)

// Config says what the built-in actions may do.
type Config struct {
	// Logger is where the log action writes. Nil means slog.Default().
	Logger *slog.Logger
	// AllowPrivate lets the http action reach loopback, link-local and private addresses.
	AllowPrivate bool
	// Callbacks receives the callbacks that the http action waits for. If it is nil, http cannot wait for callbacks.
	Callbacks *Callbacks
	// Conn is the connection of the nats action. If it is nil, there is no nats action.
	Conn *nats.Conn
	// Prefix is the prefix of the installation; the nats action refuses its subjects. Empty means subjects.DefaultPrefix.
	Prefix string
	// Commands are the programs that the exec action may run: absolute paths by the names that inputs use. If there are none, there is no
	// exec action.
	Commands map[string]string
}

// Register adds the built-in actions to a worker. It panics if one of their names is taken, as [worker.Worker.Register] does.
func Register(w *worker.Worker, config Config) {
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	w.Register(Noop, noop)
	w.Register(Sleep, sleepHandler)
	w.Register(Log, logAction(config.Logger))
	w.Register(HTTP, newHTTPAction(config.AllowPrivate, config.Callbacks).handle)
	if config.Conn != nil {
		w.Register(NATS, (&natsAction{conn: config.Conn, prefix: cmp.Or(config.Prefix, subjects.DefaultPrefix)}).handle)
	}
	if len(config.Commands) > 0 {
		w.Register(Exec, (&execAction{commands: config.Commands}).handle)
	}
}
