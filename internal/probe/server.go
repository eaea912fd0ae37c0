package probe

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// headerTimeout, answerTimeout and idleTimeout limit how long one client may occupy the server. A profile may take longer.
	headerTimeout = 5 * time.Second
	answerTimeout = 30 * time.Second
	idleTimeout   = time.Minute
	maxHeader     = 16 << 10
	// closeLimit is how long Close waits for answers in progress.
	closeLimit = 200 * time.Millisecond
)

// Server answers requests until it is closed.
type Server struct {
	server *http.Server
	served chan struct{}
}

// Serve begins to answer requests on a listener, which it closes at the end. It logs an error that ends it.
func Serve(listener net.Listener, handler http.Handler, log *slog.Logger) *Server {
	s := &Server{
		server: &http.Server{
			Handler: handler, ReadHeaderTimeout: headerTimeout, WriteTimeout: answerTimeout,
			IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		},
		served: make(chan struct{}),
	}
	go func() {
		defer close(s.served)
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics cannot be asked for any more", "address", listener.Addr().String(), "error", err)
		}
	}()
	return s
}

// Close ends the server. It waits a moment, and then cuts off the answers that are still in progress.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit) //permit:context.Background the process is at its end
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close() // for example, a profile is being taken
	}
	<-s.served
}
