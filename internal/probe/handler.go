package probe

import (
	"encoding/json"
	"net/http"
	"net/http/pprof"
)

// Options are what a process shows over HTTP.
type Options struct {
	// Health is shown by /healthz and /readyz. It is required.
	Health *Health
	// Metrics answers /metrics; nil means that there are none.
	Metrics http.Handler
	// Pprof allows Go's profiles at /debug/pprof/.
	Pprof bool
}

// NewHandler returns the handler for everything that a process shows. Other paths are not found, and methods other than GET and
// HEAD are not allowed.
func NewHandler(o Options) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", health(o.Health, Report.IsHealthy))
	mux.Handle("GET /readyz", health(o.Health, Report.IsReady))
	if o.Metrics != nil {
		mux.Handle("GET /metrics", o.Metrics)
	}
	if o.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// health shows a report, with status 200 if it is good, otherwise 503.
func health(of *Health, isGood func(Report) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		report := of.Report()
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if !isGood(report) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_ = json.NewEncoder(w).Encode(report) // the client has gone
	}
}
