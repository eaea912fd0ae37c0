package natstest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
)

// ClusterT is a cluster of NATS servers for one test. Each node is a process of its own. Its methods are for the goroutine of
// the test.
type ClusterT struct {
	t     testing.TB
	dir   string
	log   *slog.Logger
	nodes []*Node
	// name is that of the NATS cluster, and begins the names of its nodes. configure returns a further configuration for a node; it may be nil.
	name      string
	configure func(node int) string
}

// Cluster runs n nodes until the end of the test, and returns when a stream with n replicas can be made. One node is a server
// without a cluster. Several nodes take seconds to elect their leaders: in short mode, the test is skipped.
func Cluster(t testing.TB, n int, opts ...Option) *ClusterT {
	t.Helper()
	if n > 1 && testing.Short() {
		t.Skip("a cluster takes too long for short mode")
	}
	c := &ClusterT{t: t, dir: t.TempDir(), log: Logger(t), name: "natstest"}
	t.Cleanup(c.Shutdown) // registered last, so it runs first: before the folders are removed
	c.run(n, opts)
	return c
}

// run runs n nodes, and returns when a stream with n replicas can be made.
func (c *ClusterT) run(n int, opts []Option) {
	c.t.Helper()
	// Another process may take a port between its choice and its use; then other ports are chosen.
	const attempts = 3
	var err error
	for attempt := range attempts {
		if err = c.start(n, attempt, opts); err == nil {
			c.awaitPeers()
			return
		}
		c.Shutdown()
	}
	c.t.Fatalf("natstest: start a cluster: %v", err)
}

func (c *ClusterT) start(n, attempt int, opts []Option) error {
	ports, err := freePorts(2 * n)
	if err != nil {
		return err
	}
	var cluster natsserver.ClusterOptions
	for _, port := range ports[n:] {
		cluster.Routes = append(cluster.Routes, "nats://127.0.0.1:"+strconv.Itoa(port))
	}
	c.nodes = nil
	for i := range n {
		name := c.nodeName(i)
		node := c.newNode(name, filepath.Join(c.dir, strconv.Itoa(attempt), name), ports[i], opts)
		if n > 1 {
			node.config.Cluster = &natsserver.ClusterOptions{Name: c.name, Port: ports[n+i], Routes: cluster.Routes}
		}
		c.nodes = append(c.nodes, node)
		if c.configure != nil {
			node.config.ConfigFile = filepath.Join(c.dir, name+".conf")
			if err := os.WriteFile(node.config.ConfigFile, []byte(c.configure(i)), 0o600); err != nil {
				return err
			}
		}
		if err := node.start(); err != nil {
			return err
		}
	}
	return nil
}

func (c *ClusterT) nodeName(i int) string {
	if c.configure == nil {
		return "node" + strconv.Itoa(i)
	}
	return c.name + strconv.Itoa(i)
}

func (c *ClusterT) newNode(name, dir string, port int, opts []Option) *Node {
	o := natsserver.Options{Dir: dir, Sync: natsserver.SyncInterval, MaxStore: plenty}
	for _, opt := range opts {
		opt(&o)
	}
	return &Node{t: c.t, log: c.log, config: nodeConfig{Dir: o.Dir, Name: name, Port: port, Sync: o.Sync, MaxStore: o.MaxStore}}
}

// freePorts finds ports that nobody listens on.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // only when all are chosen, or the same port could be chosen twice
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}

// awaitPeers waits until the cluster has a leader that knows all nodes: until it can place a stream on each. A single node is
// ready as soon as it runs. A probe would even harm it: after the answer to the deletion of an account's last stream, the server
// still removes the account's folder, and a stream that is created meanwhile may fail.
func (c *ClusterT) awaitPeers() {
	c.t.Helper()
	if len(c.nodes) == 1 {
		return
	}
	_, js := Connect(c.t, c.URLs())
	probe := jetstream.StreamConfig{
		Name: "NATSTEST_PROBE", Subjects: []string{"natstest.probe"}, Storage: jetstream.MemoryStorage,
		Replicas: min(len(c.nodes), 5),
	}
	Eventually(c.t, startTimeout, "all nodes have joined the cluster", func() bool {
		return try(c.t.Context(), func(ctx context.Context) error {
			_, err := js.CreateStream(ctx, probe)
			return err
		}) == nil
	})
	Eventually(c.t, startTimeout, "the probe is removed", func() bool {
		err := try(c.t.Context(), func(ctx context.Context) error { return js.DeleteStream(ctx, probe.Name) })
		return err == nil || errors.Is(err, jetstream.ErrStreamNotFound)
	})
}

// try makes one attempt at a call that may hang while there is no leader.
func try(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return call(ctx)
}

// URLs is where clients connect: the URLs of all nodes, separated by commas.
func (c *ClusterT) URLs() string {
	urls := make([]string, len(c.nodes))
	for i, node := range c.nodes {
		urls[i] = node.URL()
	}
	return strings.Join(urls, ",")
}

// Node returns a node by its index, from 0.
func (c *ClusterT) Node(i int) *Node { return c.nodes[i] }

// Leader waits until a stream has a leader among the nodes that are up, and returns its index.
func (c *ClusterT) Leader(ctx context.Context, js jetstream.JetStream, stream string) int {
	c.t.Helper()
	leader := -1
	Eventually(c.t, startTimeout, fmt.Sprintf("stream %s has a leader", stream), func() bool {
		name := streamLeader(ctx, js, stream)
		leader = slices.IndexFunc(c.nodes, func(n *Node) bool { return n.Running() && n.Name() == name })
		return leader >= 0
	})
	return leader
}

// streamLeader returns the name of the leader; empty if nobody can tell.
func streamLeader(ctx context.Context, js jetstream.JetStream, stream string) (name string) {
	_ = try(ctx, func(ctx context.Context) error {
		s, err := js.Stream(ctx, stream)
		if err == nil && s.CachedInfo().Cluster != nil {
			name = s.CachedInfo().Cluster.Leader
		}
		return err
	})
	return name
}

// AwaitCurrent waits until every replica of every stream and consumer is up and has everything that its leader has. From then
// on the cluster survives the loss of any node. Before that, the loss of a second node may leave it without a majority that
// knows everything.
func (c *ClusterT) AwaitCurrent(ctx context.Context, js jetstream.JetStream) {
	c.t.Helper()
	Eventually(c.t, startTimeout, "all replicas are current", func() bool {
		return try(ctx, func(ctx context.Context) error {
			streams := js.ListStreams(ctx)
			for info := range streams.Info() {
				if err := current(ctx, js, info); err != nil {
					return err
				}
			}
			return streams.Err()
		}) == nil
	})
}

// current returns an error unless the replicas of a stream and of its consumers are current.
func current(ctx context.Context, js jetstream.JetStream, info *jetstream.StreamInfo) error {
	groups := []*jetstream.ClusterInfo{info.Cluster}
	stream, err := js.Stream(ctx, info.Config.Name)
	if err != nil {
		return err
	}
	consumers := stream.ListConsumers(ctx)
	for consumer := range consumers.Info() {
		groups = append(groups, consumer.Cluster)
	}
	for _, group := range groups {
		if group == nil || group.Leader == "" {
			return errors.New("no leader")
		}
		for _, replica := range group.Replicas {
			if !replica.Current || replica.Offline {
				return fmt.Errorf("%s is behind", replica.Name)
			}
		}
	}
	return consumers.Err()
}

// Kill ends a node by SIGKILL.
func (c *ClusterT) Kill(i int) { c.nodes[i].Kill() }

// Restart runs a node again, on its port and folder. A node that is up is first stopped in good order.
func (c *ClusterT) Restart(i int) {
	c.t.Helper()
	c.nodes[i].Stop()
	c.nodes[i].Start()
}

// Start runs all nodes that are down again.
func (c *ClusterT) Start() {
	c.t.Helper()
	for _, node := range c.nodes {
		node.Start()
	}
}

// Shutdown ends all nodes, by SIGKILL. The end of the test does so too.
func (c *ClusterT) Shutdown() {
	for _, node := range c.nodes {
		node.Kill()
	}
}
