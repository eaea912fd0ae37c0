// Package webserver makes the HTTP servers that people and programs come to: the console, and the gateway; and it bounds their connections. It imports
// nothing of Carillon. It must never know what is served.
package webserver

import (
	"log/slog"
	"net/http"
	"time"
)

const (
	// headerTimeout, readTimeout, writeTimeout and idleTimeout limit how long one client may occupy the server. An answer may take long: a poll waits for
	// a minute. Streams without end set the time for each part themselves.
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 2 * time.Minute
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
)

// New returns a server for a handler. It limits how long a client may take to send a request and to read the answer, and how long its headers may be. What goes wrong with a
// connection is logged at the level debug.
func New(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}
