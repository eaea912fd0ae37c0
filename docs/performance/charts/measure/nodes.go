package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// startTimeout is how long servers may take until they can keep data.
	startTimeout = time.Minute
	// stopTimeout is how long a process may take to end after it was asked to.
	stopTimeout = 30 * time.Second
	host        = "127.0.0.1"
)

// nodes are NATS servers, each a process with data in a folder of its own.
type nodes struct {
	folder    string
	addresses []string
	monitors  []string
	cancel    context.CancelFunc
	running   []*exec.Cmd
}

// startNodes starts so many servers, as a cluster if there are several, and returns when all can keep data. They are to be
// stopped also if there is an error.
func startNodes(ctx context.Context, program, folder string, n int) (*nodes, error) {
	c := &nodes{folder: folder}
	// The servers end after the run that uses them, also when that is interrupted.
	lives, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	addresses, err := freeAddresses(3 * n)
	if err != nil {
		return c, err
	}
	c.addresses, c.monitors = addresses[:n], addresses[n:2*n]
	for i := range n {
		config := nodeConfig(i, filepath.Join(folder, fmt.Sprint("node", i)), c.addresses[i], c.monitors[i], addresses[2*n:])
		if err := c.start(lives, program, i, config); err != nil {
			return c, err
		}
	}
	return c, c.await(ctx)
}

// freeAddresses finds addresses that nobody listens on.
func freeAddresses(n int) ([]string, error) {
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // only when all are chosen, or the same would come twice
		addresses = append(addresses, l.Addr().String())
	}
	return addresses, nil
}

// nodeConfig is the configuration of a server. Size of messages and writing through are those of the embedded server with
// "--sync interval", so that both can be compared.
func nodeConfig(i int, data, address, monitor string, routes []string) string {
	config := fmt.Sprintf("server_name: node%d\nlisten: %q\nhttp: %q\nmax_payload: 8MB\njetstream { store_dir: %q, sync_interval: 2m }\n",
		i, address, monitor, data)
	if len(routes) == 1 {
		return config
	}
	urls := make([]string, len(routes))
	for n, route := range routes {
		urls[n] = fmt.Sprintf("%q", "nats://"+route)
	}
	return config + fmt.Sprintf("cluster { name: charts, listen: %q, routes: [%s] }\n", routes[i], strings.Join(urls, ", "))
}

func (c *nodes) start(ctx context.Context, program string, i int, config string) error {
	file := filepath.Join(c.folder, fmt.Sprintf("node%d.conf", i))
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return err
	}
	// A server that is no longer needed need not end in order: its data is removed.
	cmd := exec.CommandContext(ctx, program, "--config", file, "--log", filepath.Join(c.folder, fmt.Sprintf("node%d.log", i)))
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start a NATS server: %w", err)
	}
	c.running = append(c.running, cmd)
	return nil
}

// urls is where clients connect.
func (c *nodes) urls() string { return "nats://" + strings.Join(c.addresses, ",nats://") }

// await waits until every server is well, and the leader of a cluster knows all others: until each can keep a stream.
func (c *nodes) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for !c.ready(ctx) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the NATS servers: %w\n%s", ctx.Err(), c.lastWords())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// peer is a server of a cluster as its leader knows it.
type peer struct{ Current, Offline bool }

func (c *nodes) ready(ctx context.Context) bool {
	led := len(c.monitors) == 1
	for _, monitor := range c.monitors {
		var meta struct {
			Cluster struct {
				Replicas []peer `json:"replicas"`
			} `json:"meta_cluster"`
		}
		if look(ctx, monitor, "/healthz", nil) != nil || look(ctx, monitor, "/jsz", &meta) != nil {
			return false
		}
		others := meta.Cluster.Replicas // only its leader has any
		away := slices.ContainsFunc(others, func(p peer) bool { return p.Offline || !p.Current })
		led = led || len(others) == len(c.monitors)-1 && !away
	}
	return led
}

// look asks a server about itself.
func look(ctx context.Context, monitor, path string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+monitor+path, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	if answer == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

// stop ends all servers and removes their data.
func (c *nodes) stop() error {
	c.cancel()
	for _, cmd := range c.running {
		_ = cmd.Wait() // it was killed
	}
	http.DefaultClient.CloseIdleConnections()
	return os.RemoveAll(c.folder)
}

// lastWords is the end of what each server has logged.
func (c *nodes) lastWords() string {
	var words []string
	for i := range c.running {
		text, err := os.ReadFile(filepath.Join(c.folder, fmt.Sprintf("node%d.log", i)))
		if err == nil {
			words = append(words, tail(string(text), 5))
		}
	}
	return strings.Join(words, "\n")
}

// tail returns the last lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
