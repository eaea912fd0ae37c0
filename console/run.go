package console

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/carillon-scheduler/carillon/console/internal/pages"
	"github.com/carillon-scheduler/carillon/console/internal/rest"
	"github.com/carillon-scheduler/carillon/console/internal/segment"
	"github.com/carillon-scheduler/carillon/internal/callers"
	"github.com/carillon-scheduler/carillon/internal/loopback"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Run serves until ctx ends. Then it finishes the requests in progress, within Config.Drain, and returns nil. It returns an error if the listener fails,
// or if people must log in and NATS takes any credentials. All its goroutines have ended when it returns.
func (c *Console) Run(ctx context.Context) error {
	if err := c.checkJudge(); err != nil {
		return errors.Join(err, c.config.Listener.Close())
	}
	defer c.pages.Close()
	ctx, cancel := context.WithCancel(ctx)
	var sweeping sync.WaitGroup
	defer sweeping.Wait()
	defer cancel()
	sweeping.Go(func() { c.access.Run(ctx) })
	c.config.Logger.InfoContext(ctx, "serving the console", "address", c.config.Listener.Addr().String(), "tls", c.config.TLS != nil)
	failed := make(chan error, 1)
	go func() { failed <- c.serve() }()
	select {
	case err := <-failed:
		return fmt.Errorf("console: serve HTTP: %w", err)
	case <-ctx.Done():
	}
	drain, end := context.WithTimeout(context.WithoutCancel(ctx), c.config.Drain)
	defer end()
	if err := c.server.Shutdown(drain); err != nil {
		_ = c.server.Close() // the connections of whoever is not done
	}
	<-failed
	return nil
}

func (c *Console) serve() error {
	if c.config.TLS != nil {
		return c.server.ServeTLS(c.config.Listener, "", "")
	}
	return c.server.Serve(c.config.Listener)
}

// checkJudge fails if people must log in, but their credentials prove nothing.
func (c *Console) checkJudge() error {
	if c.config.Access.Users == nil {
		return nil
	}
	if err := c.config.Access.Users.Judges(); errors.Is(err, callers.ErrUnjudged) {
		return fmt.Errorf("console: people must log in, and %w", err)
	}
	return nil // another error says nothing: NATS is asked again when the first one comes
}

// forOurHosts refuses requests for other hosts than ours. The page of a stranger can give its own name the address of this machine, and a browser would
// take this server for that of the page. Where people log in that gains nothing: the browser has no session for that name.
func (c *Console) forOurHosts(next http.Handler) http.Handler {
	if c.config.Access.Users != nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if !c.isOurs(hostOf(request.Host)) {
			http.Error(w, "This server has another name: use localhost, 127.0.0.1 or [::1] on its own machine, or a name of --console-host.",
				http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, request)
	})
}

// asWritten refuses paths with folders in them, such as the one of a schedule ".." whose ID is not escaped. They would lead to the thing above, and a DELETE
// would go there.
func (c *Console) asWritten(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		isForm := request.Method == http.MethodPost && strings.HasPrefix(request.URL.Path, pages.Base)
		if !segment.IsClean(request.URL) && (isForm || strings.HasPrefix(request.URL.Path, rest.Base+"/")) {
			c.refuse(w, request, http.StatusNotFound, schedule.Errorf(schedule.CodeNotFound,
				`there is nothing here: a part of the path is empty, "." or ".."; the IDs ".", ".." and "/" are written as "~.", "~.." and "~%%2F"`))
			return
		}
		next.ServeHTTP(w, request)
	})
}

// isOurs reports whether a host is this server: this machine, a name that it has been given, or an address at which others reach it. No name of a stranger
// is an address.
func (c *Console) isOurs(host string) bool {
	if loopback.IsHost(host) || slices.Contains(c.config.Access.Hosts, host) {
		return true
	}
	listens, ok := c.config.Listener.Addr().(*net.TCPAddr)
	return ok && !listens.IP.IsLoopback() && net.ParseIP(host) != nil
}

// hostOf returns a host without its port and brackets.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		return host[1 : len(host)-1]
	}
	return host
}
