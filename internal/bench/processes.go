package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/child"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// NATSCommand is the hidden command of the program that runs the NATS server of a run with processes of its own: [RunNATS].
const NATSCommand = "bench-nats"

// The names of the processes in results.
const (
	processBench  = "bench"
	processNATS   = "nats"
	processWorker = "worker"
	// processServer is the process of a server that is not of the run.
	processServer = "server"
)

// roleProcesses are the roles that become processes of their own, in the order in which they are told to end.
var roleProcesses = []string{roleFrontend, roleGateway, "generator", "backfiller", "matching", "invoker", "history"}

const (
	roleFrontend = "frontend"
	roleGateway  = "gateway"
)

// Scalable returns the roles that may have several processes in a run. A gateway has one address, and a frontend one search index.
func Scalable() []string {
	return slices.DeleteFunc(slices.Clone(roleProcesses), func(role string) bool { return role == roleFrontend || role == roleGateway })
}

// namesOf returns the names of the processes of a role.
func (c *children) namesOf(role string) []string {
	names := []string{role}
	for k := 2; k <= c.scale[role]; k++ {
		names = append(names, role+"-"+strconv.Itoa(k))
	}
	return names
}

// RunNATS runs a NATS server on a free port until ctx ends. It writes its URL to out, as one line.
func RunNATS(ctx context.Context, log *slog.Logger, out io.Writer, dir, sync string) error {
	server, err := natsserver.Start(ctx, natsserver.Options{Dir: dir, Port: -1, Sync: natsserver.SyncMode(sync), Logger: log})
	if err != nil {
		return err
	}
	defer server.Shutdown()
	if _, err := fmt.Fprintln(out, server.ClientURL()); err != nil {
		return fmt.Errorf("bench: tell the address of NATS: %w", err)
	}
	return server.Keep(ctx)
}

// children are the processes that a run has started. They are for one goroutine.
type children struct {
	binary string
	launch *child.Launcher
	// scale is how many processes a role has, if not one.
	scale map[string]int
	// fail breaks the run off, because a process has ended by itself.
	fail context.CancelCauseFunc
	all  map[string]*process
}

// newChildren prepares processes of a program; "" means the running program.
func newChildren(binary string, fail context.CancelCauseFunc) (c *children, err error) {
	if binary == "" {
		if binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("bench: find this program: %w", err)
		}
	}
	return &children{binary: binary, launch: child.NewLauncher(), fail: fail, all: map[string]*process{}}, nil
}

// process is a running process.
type process struct {
	cmd *exec.Cmd
	// asked is closed when it has been told to end, ended when it has ended.
	asked, ended chan struct{}
	log          tail
}

// start starts a process, and returns its standard output, if that is asked for.
func (c *children) start(name string, output bool, args ...string) (out io.ReadCloser, err error) {
	p := &process{cmd: exec.Command(c.binary, args...), asked: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Stderr = &p.log
	if output {
		if out, err = p.cmd.StdoutPipe(); err != nil {
			return nil, fmt.Errorf("bench: start %s: %w", name, err)
		}
	}
	if err := c.launch.Start(p.cmd); err != nil {
		return nil, fmt.Errorf("bench: start %s: %w", name, err)
	}
	c.all[name] = p
	go func() {
		defer close(p.ended)
		err := p.cmd.Wait()
		select {
		case <-p.asked:
		default:
			c.fail(fmt.Errorf("bench: the process of %s has ended by itself: %w: %s", name, err, p.log.text()))
		}
	}()
	return out, nil
}

// stop tells processes to end, one after the other, and waits until they have; it kills one that takes too long.
func (c *children) stop(names ...string) {
	for _, name := range names {
		if p := c.all[name]; p != nil {
			p.stop()
			delete(c.all, name)
		}
	}
}

func (p *process) stop() {
	close(p.asked)
	if p.cmd.Process.Signal(os.Interrupt) != nil { // not on every system
		_ = p.cmd.Process.Kill() // it fails if the process has ended
	}
	patience := time.NewTimer(grace)
	defer patience.Stop()
	select {
	case <-p.ended:
	case <-patience.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// close ends what still runs.
func (c *children) close() {
	for name := range c.all {
		c.stop(name)
	}
	c.launch.Close()
}

// startNATS starts the server and returns its URL.
func (c *children) startNATS(ctx context.Context, dir string, sync natsserver.SyncMode) (url string, err error) {
	out, err := c.start(processNATS, true, NATSCommand, dir, string(sync), "--log-level", "error")
	if err != nil {
		return "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = out.Close() })
	defer stop()
	line, err := bufio.NewReader(out).ReadString('\n')
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", fmt.Errorf("bench: the NATS server does not tell its address: %w: %s", err, c.all[processNATS].log.text())
	}
	return strings.TrimSpace(line), nil
}

// startRoles starts a process for each role, as an operator would, and returns when all of them have announced themselves and
// the API answers.
func (i *installation) startRoles(ctx context.Context, c *children, url string) (err error) {
	i.children = c
	if i.gateway, err = freeAddress(ctx); err != nil {
		return err
	}
	for _, role := range roleProcesses {
		args := []string{role, "--nats", url, "--prefix", i.names.Prefix(), "--log-level", "error"}
		switch role {
		case roleFrontend:
			args = append(args, "--search-dir", i.search.Dir)
		case roleGateway:
			args = append(args, "--grpc", i.gateway, "--http-api", "off")
		}
		for _, name := range c.namesOf(role) {
			if _, err := c.start(name, false, args...); err != nil {
				return err
			}
		}
	}
	return i.awaitRoles(ctx)
}

// awaitRoles waits until each role has announced itself, and the API answers.
func (i *installation) awaitRoles(ctx context.Context) error {
	for {
		present, err := i.present(ctx)
		if err != nil {
			return err
		}
		if present {
			_, err := i.client.Count(ctx, "") // which waits for an answer
			return err
		}
		_ = sleep.For(ctx, poll)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// present reports whether all processes of each role are there.
func (i *installation) present(ctx context.Context) (bool, error) {
	asking, cancel := context.WithTimeout(ctx, 4*poll)
	defer cancel()
	all, err := presence.All(asking, i.asks, i.names)
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return false, fmt.Errorf("bench: ask for the roles: %w", err)
	}
	roles := map[string]int{}
	for _, p := range all {
		for _, role := range p.Roles {
			roles[role]++
		}
	}
	return !slices.ContainsFunc(roleProcesses, func(role string) bool { return roles[role] < len(i.children.namesOf(role)) }), nil
}

// usage is what a process has used so far.
type usage struct {
	cpu       time.Duration
	rss, peak int64
}

// usages returns the usage of each process of the run by its name, including this one.
func (s *session) usages() map[string]usage {
	rss, peak := memory()
	all := map[string]usage{processBench: {cpuTime(), rss, peak}}
	started := []*children{s.workers}
	if s.host != nil {
		started = append(started, s.host.children)
	}
	if s.config.ServerPID != 0 {
		all[processServer] = usageOf(s.config.ServerPID)
	}
	for _, c := range started {
		if c == nil {
			continue
		}
		for name, p := range c.all {
			all[name] = usageOf(p.cmd.Process.Pid)
		}
	}
	return all
}

// total adds them up.
func total(all map[string]usage) (sum usage) {
	for _, u := range all {
		sum.cpu, sum.rss, sum.peak = sum.cpu+u.cpu, sum.rss+u.rss, sum.peak+u.peak
	}
	return sum
}

// tailBytes is how much of the last output of a process is kept.
const tailBytes = 2048

// tail keeps the end of what is written to it. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(len(t.kept)-tailBytes, 0):]
	return len(p), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}
