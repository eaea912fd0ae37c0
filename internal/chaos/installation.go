package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/internal/child"
)

// The hidden commands of the program that run a node and a worker of an installation. The argument of the node is a
// [nodeConfig] as JSON, that of the worker the path of its ledger.
const (
	NodeCommand   = "chaos-node"
	WorkerCommand = "chaos-worker"
)

// TaskQueue is the task queue that the workers serve.
const TaskQueue = taskQueue

const replicas = "3"

// installation is all processes of a run and the links between the nodes. Its methods are for one goroutine, except what the
// processes call themselves.
type installation struct {
	dir, binary string
	launch      *child.Launcher
	links       []*link
	processes   map[string]*process
	disks       map[string]*disk // of the nodes, if they have their own
	urls        string
	gateways    []string // the addresses for Temporal's clients
	stopped     chan struct{}
	restarts    sync.WaitGroup

	mu sync.Mutex
	// down are the processes that a fault keeps down.
	down    map[string]bool
	crashes []string
}

func newInstallation(ctx context.Context, dir, binary string, ownDisks bool) (*installation, error) {
	in := &installation{
		dir: dir, binary: binary, processes: map[string]*process{}, disks: map[string]*disk{},
		down: map[string]bool{}, stopped: make(chan struct{}),
	}
	for _, folder := range []string{"log", "ledger", "nats"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
			return nil, err
		}
	}
	in.launch = child.NewLauncher()
	err := in.prepare(ctx)
	if err == nil && ownDisks {
		err = in.mount()
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// mount gives each node a disk of its own.
func (in *installation) mount() error {
	for _, name := range nodeNames() {
		d, err := mountDisk(in.dataDir(name))
		if err != nil {
			return fmt.Errorf("a disk for node %s: %w", name, err)
		}
		in.disks[name] = d
	}
	return nil
}

func (in *installation) dataDir(node string) string { return filepath.Join(in.dir, "nats", node) }

// prepare makes everything but starts nothing.
func (in *installation) prepare(ctx context.Context) error {
	names := nodeNames()
	ports, err := freePorts(ctx, 2*len(names)+processesOfRole)
	if err != nil {
		return err
	}
	for _, port := range ports[2*len(names):] {
		in.gateways = append(in.gateways, fmt.Sprintf("%s:%d", nodeHost, port))
	}
	var urls []string
	for i, name := range names {
		config := nodeConfig{
			Dir: in.dataDir(name), Name: name, Port: ports[i], RoutesPort: ports[len(names)+i],
		}
		urls = append(urls, fmt.Sprintf("nats://%s:%d", nodeHost, config.Port))
		for j, other := range names {
			if j == i {
				continue
			}
			l, err := newLink(ctx, name, other, fmt.Sprintf("%s:%d", nodeHost, ports[len(names)+j]))
			if err != nil {
				return err
			}
			in.links = append(in.links, l)
			config.Routes = append(config.Routes, l.url())
		}
		if err := in.addNode(config); err != nil {
			return err
		}
	}
	in.urls = strings.Join(urls, ",")
	for _, name := range roleNames() {
		in.add(name, in.roleCommand(name))
	}
	return nil
}

func (in *installation) addNode(config nodeConfig) error {
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	in.add(config.Name, func(int) []string { return []string{NodeCommand, string(text)} })
	return nil
}

func (in *installation) roleCommand(name string) command {
	role, number, _ := strings.Cut(name, "-")
	args := []string{role, "--nats", in.urls, "--replicas", replicas}
	switch role {
	case workerRole:
		return func(life int) []string {
			path := filepath.Join(in.dir, "ledger", lifeName(name, life)+ledgerSuffix)
			return []string{WorkerCommand, path, "--nats", in.urls}
		}
	case workflowsRole:
		args = []string{WorkflowsCommand, strings.Join(in.gateways, ",")}
	case gatewayRole:
		i, _ := strconv.Atoi(number) // the names of processes end with a number
		args = append(args, "--grpc", in.gateways[i], "--http-api", "off")
	case frontendRole: // one that is killed leaves its index behind
		args = append(args, "--search-dir", filepath.Join(in.dir, "search", name))
	}
	return func(int) []string { return args }
}

func (in *installation) add(name string, c command) {
	in.processes[name] = &process{
		name: name, binary: in.binary, logPath: logPath(in.dir, name), command: c, launch: in.launch, crashed: in.crashed,
	}
}

// start starts processes.
func (in *installation) start(names ...string) error {
	in.setDown(false, names)
	for _, name := range names {
		if err := in.processes[name].start(); err != nil {
			return err
		}
	}
	return nil
}

func (in *installation) setDown(down bool, names []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, name := range names {
		in.down[name] = down
	}
}

// restartWait is how long a process that has ended by itself stays away, as under a supervisor.
const restartWait = time.Second

// crashed notes that a process has ended by itself, and starts it again.
func (in *installation) crashed(name string, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if isClosed(in.stopped) {
		return
	}
	in.crashes = append(in.crashes, fmt.Sprintf("%s %s ended by itself: %v", time.Now().UTC().Format(time.RFC3339Nano), name, err))
	in.restarts.Go(func() {
		timer := time.NewTimer(restartWait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-in.stopped:
			return
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		if !in.down[name] && !isClosed(in.stopped) {
			_ = in.processes[name].start() // if that fails, the run does not come to rest, and says so
		}
	})
}

// begin makes a fault happen.
func (in *installation) begin(f *fault) error {
	switch f.Kind {
	case KillRole, KillRoles, KillNode, KillNodes:
		in.setDown(true, f.Victims)
		in.killAll(f.Victims)
	case SuspendRole, SuspendNode:
		return in.processes[f.Victims[0]].suspend()
	case CutNode, CutLink:
		for _, l := range in.linksOf(f.Victims) {
			l.cut()
		}
	case FillQuota:
		return in.processes[f.Victims[0]].tell(fill)
	case FillDisk:
		return in.disks[f.Victims[0]].fill()
	}
	return nil
}

// end undoes a fault.
func (in *installation) end(f *fault) error {
	switch f.Kind {
	case KillRole, KillRoles, KillNode, KillNodes:
		return in.start(f.Victims...)
	case SuspendRole, SuspendNode:
		return in.processes[f.Victims[0]].resume()
	case CutNode, CutLink:
		for _, l := range in.linksOf(f.Victims) {
			l.heal()
		}
	case FillQuota:
		return in.processes[f.Victims[0]].tell(empty)
	case FillDisk:
		return in.disks[f.Victims[0]].free()
	}
	return nil
}

// linksOf returns the links that a cut concerns: all of one node, or those between two.
func (in *installation) linksOf(nodes []string) []*link {
	var links []*link
	for _, l := range in.links {
		from, to := slices.Contains(nodes, l.from), slices.Contains(nodes, l.to)
		if from && to || len(nodes) == 1 && (from || to) {
			links = append(links, l)
		}
	}
	return links
}

// killAll kills processes at once, not one after the other.
func (in *installation) killAll(names []string) {
	var group sync.WaitGroup
	for _, name := range names {
		group.Go(in.processes[name].kill)
	}
	group.Wait()
}

// heal ends every fault, except full storages, which end with their fault: all processes run, all links are whole.
func (in *installation) heal() error {
	for _, l := range in.links {
		l.heal()
	}
	var errs []error
	for _, name := range slices.Concat(nodeNames(), roleNames()) {
		errs = append(errs, in.processes[name].resume(), in.start(name))
	}
	for _, d := range in.disks {
		errs = append(errs, d.free())
	}
	return errors.Join(errs...)
}

// lives returns the lives of all processes by name.
func (in *installation) lives() map[string]life {
	lives := map[string]life{}
	for name, p := range in.processes {
		for i, life := range p.history() {
			lives[lifeName(name, i)] = life
		}
	}
	return lives
}

// exits returns a line for each process that has ended by itself.
func (in *installation) exits() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([]string{}, in.crashes...)
}

// close kills everything and waits until it is gone.
func (in *installation) close() {
	in.mu.Lock()
	close(in.stopped)
	in.mu.Unlock()
	in.restarts.Wait()
	names := make([]string, 0, len(in.processes))
	for name := range in.processes {
		names = append(names, name)
	}
	in.killAll(names)
	for _, l := range in.links {
		l.close()
	}
	for _, d := range in.disks {
		d.unmount()
	}
	in.launch.Close()
}
