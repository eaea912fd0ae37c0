package roles

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/builtin"
)

// WorkerConfig says what a worker serves, and what its actions may do.
type WorkerConfig struct {
	worker.Config
	// Actions needs no logger, connection or prefix, since it gets the worker's.
	Actions builtin.Config
	// CallbackListen is the address that receives callbacks of the http action, if Actions.Callbacks is set.
	CallbackListen string
}

// Worker returns the role that runs the built-in actions. Of the installation it needs only its task queue.
func Worker(conn *Connection, config WorkerConfig) (Role, error) {
	w, err := worker.New(conn.Conn, config.Config)
	if err != nil {
		return Role{}, err
	}
	actions := config.Actions
	actions.Logger, actions.Conn, actions.Prefix = config.Logger, conn.Conn, config.Prefix
	builtin.Register(w, actions)
	checks := probe.Checks{Waits: w.Waits}
	if actions.Callbacks == nil {
		return Role{Name: "worker", Run: w.Run, Checks: checks}, nil
	}
	listener, err := net.Listen("tcp", config.CallbackListen)
	if err != nil {
		return Role{}, fmt.Errorf("listen for callbacks: %w", err)
	}
	return Role{Name: "worker", Run: whileServing(listener, actions.Callbacks, w.Run), Checks: checks}, nil
}

// whileServing runs an HTTP server as long as run runs. So a worker that is stopping still receives callbacks for the runs that it
// finishes.
func whileServing(
	listener net.Listener, handler http.Handler, run func(context.Context) error,
) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		server := &http.Server{
			Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		}
		served := make(chan error, 1)
		go func() {
			defer cancel()
			served <- server.Serve(listener)
		}()
		err := run(ctx)
		_ = server.Close() // a callback now is too late
		if failed := <-served; !errors.Is(failed, http.ErrServerClosed) {
			err = errors.Join(err, fmt.Errorf("callbacks: %w", failed))
		}
		return err
	}
}
