package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
)

// nodeHost is where the nodes listen. It is not the address of the links between them, so that the nodes cannot bypass a link
// that is cut: they know of each other only the address that a connection came from, and nobody listens there.
const nodeHost = "127.0.0.2"

// nodeConfig is what a NATS node needs to know. Its process gets it as JSON.
type nodeConfig struct {
	Dir, Name        string
	Port, RoutesPort int
	// Routes are the links to the other nodes.
	Routes []string
}

// maxStore bounds what each node stores, fullStore what a node with a full storage stores, in bytes.
const (
	maxStore  = 8 << 30
	fullStore = 1
)

// nodeStart bounds the start of a node on a busy machine.
const nodeStart = time.Minute

// RunNode runs a NATS node until ctx ends. text is a [nodeConfig] as JSON. Signals tell the node that its storage is full, and
// that it has room again.
func RunNode(ctx context.Context, log *slog.Logger, text string) error {
	signals, stop := fillSignals() // first, because they would end the process
	defer stop()
	var config nodeConfig
	if err := json.Unmarshal([]byte(text), &config); err != nil {
		return fmt.Errorf("the configuration of the node: %w", err)
	}
	starting, cancel := context.WithTimeout(ctx, nodeStart)
	defer cancel()
	server, err := natsserver.Start(starting, natsserver.Options{
		Dir: config.Dir, Name: config.Name, Host: nodeHost, Port: config.Port, Sync: natsserver.SyncAlways,
		MaxStore: maxStore, Logger: log,
		Cluster: &natsserver.ClusterOptions{Name: "chaos", Port: config.RoutesPort, Routes: config.Routes},
	})
	if err != nil {
		return err
	}
	defer server.Shutdown()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return server.Keep(ctx) })
	group.Go(func() error { return obey(ctx, log, server, signals) })
	return group.Wait()
}

// fullStep is how often a full node gives up the streams that it leads.
const fullStep = time.Second

// obey fills and empties the storage of a node on request. A node whose disk is full refuses to store, and gives up the streams
// that it leads. A limit that is set while the node runs only makes it refuse, so obey also gives up the streams.
func obey(ctx context.Context, log *slog.Logger, node *natsserver.Server, signals <-chan os.Signal) error {
	tick := time.NewTicker(fullStep)
	defer tick.Stop()
	for full := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case s := <-signals:
			was, limit := full, int64(0)
			if full = isFill(s); full {
				limit = fullStore
			}
			if err := node.LimitStore(limit); err != nil && node.Trouble() == "" { // a node that is being restarted in place has no limit
				return err
			}
			if !was || full {
				continue
			}
		case <-tick.C:
			if !full {
				continue
			}
		}
		if err := node.StepDown(); err != nil {
			log.WarnContext(ctx, "not stepped down", "error", err) // there may be no other leader just now
		}
	}
}

// freePorts finds ports of the nodes' host that nobody listens on.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var config net.ListenConfig
	ports := make([]int, n)
	for i := range ports {
		listener, err := config.Listen(ctx, "tcp", nodeHost+":0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // only when all are chosen, or the same port could be chosen twice
		ports[i] = listener.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
