package cli

import (
	"context"
	"log/slog"
	"net"
	"strconv"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/heap"
	"github.com/carillon-scheduler/carillon/internal/probe"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/telemetry/sdk"
)

// httpGroup is the help heading of these flags, and of the flags that say what to show.
const httpGroup = "Health and metrics"

// httpOptions are the flags that say where a process reports its health and metrics.
type httpOptions struct {
	address string
	pprof   bool
}

func (o *httpOptions) define(cmd *cobra.Command) {
	addFlags(cmd, httpGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&o.address, "http", "", "answer /healthz, /readyz and /metrics over HTTP on `ADDRESS`, such as 127.0.0.1:9464 "+
			"or :9464; without it there is no HTTP server")
		flags.BoolVar(&o.pprof, "pprof", false, "answer /debug/pprof/ there too: whoever reaches the address can then look into the "+
			"process, and slow it down")
	})
}

// check refuses contradictory flags and invalid addresses.
func (o *httpOptions) check() error {
	if o.address == "" {
		if o.pprof {
			return usagef("--pprof needs --http: the profiles are shown at that address")
		}
		return nil
	}
	_, port, err := net.SplitHostPort(o.address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return usagef("--http: %q is not an address: use HOST:PORT or :PORT, such as 127.0.0.1:9464", o.address)
	}
	return nil
}

// listen returns the listener of the address, or nil if there is none.
func (o *httpOptions) listen(ctx context.Context) (net.Listener, error) {
	if err := o.check(); err != nil || o.address == "" {
		return nil, err
	}
	return listen(ctx, "http", o.address, "give each process a port of its own")
}

// observed runs the roles of a process and reports their health. It reports from before the roles begin, so that a process that waits for
// NATS says so, until they have ended. It exports traces and metrics as the environment variables say.
func (a *app) observed(
	ctx context.Context, service string, o httpOptions, roleNames []string, run func(*slog.Logger, *probe.Health) error,
) error {
	log := a.logger()
	listener, err := o.listen(ctx)
	if err != nil {
		return err
	}
	telemetry, err := sdk.Setup(ctx, sdk.Options{
		Service: "carillon-" + service, Version: readBuild().Version, Metrics: listener != nil, Logger: log,
	})
	if err != nil {
		if listener != nil {
			_ = listener.Close()
		}
		return &usageError{err}
	}
	health := probe.NewHealth(ctx, roleNames...)
	health.AllWait(roles.WaitForNATS) // a connection comes first
	if listener != nil {
		handler := probe.NewHandler(probe.Options{Health: health, Metrics: telemetry.Metrics(), Pprof: o.pprof})
		server := probe.Serve(listener, handler, log)
		defer server.Close()
		log.InfoContext(ctx, "answering HTTP", "address", listener.Addr().String(), "pprof", o.pprof)
	}
	defer closeTelemetry(ctx, log, telemetry)
	defer health.Stopped()
	return run(log, health)
}

// returnMemory returns unused memory to the system while the process has little to do, until stop is called. It does nothing if GOGC is set.
func (a *app) returnMemory(ctx context.Context) (stop func()) {
	if _, set := a.env.LookupEnv("GOGC"); set {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var returning sync.WaitGroup
	returning.Go(func() { heap.GiveBack(ctx) })
	return func() {
		cancel()
		returning.Wait()
	}
}

func closeTelemetry(ctx context.Context, log *slog.Logger, telemetry *sdk.Telemetry) {
	if err := telemetry.Shutdown(context.WithoutCancel(ctx)); err != nil {
		log.WarnContext(ctx, "the last traces or metrics may not have been exported", "error", err)
	}
}
