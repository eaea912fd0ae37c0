package natstest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
)

const (
	// nodeEnv makes [Main] run a node. It contains the node's nodeConfig as JSON.
	nodeEnv = "CARILLON_NATSTEST_NODE"
	// nodeReady is what a node prints when it is ready.
	nodeReady = "ready"
)

// nodeConfig is what a node process needs to know.
type nodeConfig struct {
	Dir, Name string
	Port      int
	Sync      natsserver.SyncMode
	Cluster   *natsserver.ClusterOptions
	MaxStore  int64
	// ConfigFile has further settings; see natsserver.Options.
	ConfigFile string
}

// Node is a NATS server in a process of its own, which can be killed. Its methods are for the goroutine of the test.
type Node struct {
	t      testing.TB
	log    *slog.Logger
	config nodeConfig
	proc   *process // nil while the node is down
}

// process is one life of a node.
type process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	// logged is closed when everything the process has written is in the log.
	logged chan struct{}
}

// Name returns the name of the server.
func (n *Node) Name() string { return n.config.Name }

// URL is where clients connect. It stays the same over restarts.
func (n *Node) URL() string { return fmt.Sprintf("nats://127.0.0.1:%d", n.config.Port) }

// Running reports whether the node is up. It knows only what the test itself has done.
func (n *Node) Running() bool { return n.proc != nil }

// Kill ends the node by SIGKILL: it has no time to write, to hand over its leaderships or to say goodbye.
func (n *Node) Kill() {
	if n.proc == nil {
		return
	}
	_ = n.proc.cmd.Process.Kill()
	_ = n.wait()
}

// Stop shuts the node down in good order.
func (n *Node) Stop() {
	n.t.Helper()
	if n.proc == nil {
		return
	}
	_ = n.proc.stdin.Close()
	if err := n.wait(); err != nil {
		n.t.Fatalf("natstest: stop %s: %v", n.Name(), err)
	}
}

// Suspend freezes the node, like a machine that sleeps or a network that is cut. Resume wakes it again. The system must be able
// to do that.
func (n *Node) Suspend() { n.signal(suspend) }

// Resume wakes a node that Suspend froze.
func (n *Node) Resume() { n.signal(resume) }

func (n *Node) signal(send func(*os.Process) error) {
	n.t.Helper()
	if n.proc == nil {
		n.t.Fatalf("natstest: %s is down", n.Name())
	}
	if err := send(n.proc.cmd.Process); err != nil {
		n.t.Fatalf("natstest: signal %s: %v", n.Name(), err)
	}
}

// Start runs the node, always on the same port and folder, and returns when it accepts connections.
func (n *Node) Start() {
	n.t.Helper()
	if n.proc != nil {
		return
	}
	if err := n.start(); err != nil {
		n.t.Fatalf("natstest: start %s: %v", n.Name(), err)
	}
}

func (n *Node) wait() error {
	p := n.proc
	n.proc = nil
	<-p.logged // Wait closes the pipes, so everything must be read before
	_ = p.stdin.Close()
	return p.cmd.Wait()
}

func (n *Node) start() error {
	config, err := json.Marshal(n.config)
	if err != nil {
		return err
	}
	// No test of the binary may run, in case the package forgets to call Main.
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), nodeEnv+"="+string(config))
	// The node ends when its standard input does, and so also when this process dies.
	stdin, err1 := cmd.StdinPipe()
	stdout, err2 := cmd.StdoutPipe()
	stderr, err3 := cmd.StderrPipe()
	if err := errors.Join(err1, err2, err3); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.proc = &process{cmd: cmd, stdin: stdin, logged: make(chan struct{})}
	go n.copyLog(stderr, n.proc.logged)
	return n.awaitReady(stdout)
}

func (n *Node) copyLog(from io.Reader, done chan<- struct{}) {
	defer close(done)
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		n.log.Info(lines.Text(), "node", n.config.Name)
	}
}

func (n *Node) awaitReady(stdout io.Reader) error {
	process := n.proc.cmd.Process
	overdue := time.AfterFunc(startTimeout, func() { _ = process.Kill() })
	defer overdue.Stop()
	line, _ := bufio.NewReader(stdout).ReadString('\n')
	if line == nodeReady+"\n" {
		return nil
	}
	n.Kill()
	return fmt.Errorf("the node ended with %q; its log says why, unless TestMain does not call natstest.Main", line)
}

// runNode is the life of a node process; it returns the exit code.
func runNode(text string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: logLevel()}))
	var config nodeConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		log.Error("bad node configuration", "error", err)
		return 2
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	server, err := natsserver.Start(ctx, natsserver.Options{
		Dir: config.Dir, Name: config.Name, Port: config.Port, Sync: config.Sync, Cluster: config.Cluster,
		MaxStore: config.MaxStore, ConfigFile: config.ConfigFile, Logger: log,
	})
	if err != nil {
		log.Error("cannot start", "error", err)
		return 1
	}
	defer server.Shutdown()
	_, _ = fmt.Fprintln(os.Stdout, nodeReady)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}
