package console_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/console"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/worker"
)

// installation is a visitor of a console in whose process all roles run, with a worker of the built-in actions on the task queue default.
type installation struct {
	*visitor
	cluster *roles.Cluster
	// grpc is where Temporal's clients find the gateway.
	grpc string
}

// visitAll runs everything, with a console, until the end of the test.
func visitAll(t testing.TB) *installation {
	t.Helper()
	log, urls := natstest.Logger(t), natstest.Shared(t).ClientURL()
	dial := func(options ...nats.Option) (*nats.Conn, error) { return nats.Connect(urls, options...) }
	conn, err := roles.Connect(t.Context(), log, "test", dial)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	names := natstest.Names(t)
	cluster, err := roles.Open(t.Context(), conn, names, topology.Settings{Shards: 2}, roles.Options{Logger: log, Version: "1.2.3", ArchiveEvery: 100 * time.Millisecond})
	require.NoError(t, err)
	all := &installation{cluster: cluster}
	doors, address := all.doors(t)
	front, ready, err := cluster.Frontend(roles.SearchOptions{Dir: t.TempDir()})
	require.NoError(t, err)
	work, err := roles.Worker(conn, roles.WorkerConfig{Config: worker.Config{
		Namespace: "default", TaskQueue: "default", Prefix: names.Prefix(), DrainTimeout: time.Second, Logger: log,
	}})
	require.NoError(t, err)
	stages := []roles.Stage{append(doors, front), all.pools(t), {work, cluster.Announcement("frontend", "console")}, {conn.Role()}}
	run(t, func(ctx context.Context) error { return roles.Supervise(ctx, log, patience, stages...) })
	<-ready
	other, _ := natstest.Connect(t, natstest.Shared(t))
	api, err := client.New(other, client.Config{Prefix: names.Prefix(), Identity: "test"})
	require.NoError(t, err)
	transport := &http.Transport{DisableKeepAlives: true}
	all.visitor = &visitor{t: t, url: "http://" + address, http: &http.Client{Transport: transport, Timeout: patience}, api: api, names: names, conn: conn.Conn}
	return all
}

// doors returns the gateway and the console, and the address of the console.
func (i *installation) doors(t testing.TB) (doors roles.Stage, address string) {
	t.Helper()
	var listeners [2]net.Listener
	for n := range listeners {
		var err error
		listeners[n], err = net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
	}
	i.grpc = listeners[0].Addr().String()
	door, gateway, err := i.cluster.Gateway(roles.GatewayConfig{GRPC: listeners[0], Anonymous: true, Drain: time.Second})
	require.NoError(t, err)
	shown, err := i.cluster.Console(roles.ConsoleConfig{
		Listener: listeners[1], Gateway: gateway, Identity: "console", Drain: time.Second,
		TraceURL: `https://traces.example/explore?left=%7B"q":"` + console.TraceID + `"%7D&orgId=1`,
	})
	require.NoError(t, err)
	return roles.Stage{shown, door}, listeners[1].Addr().String()
}

// pools returns the roles that do the work of the installation.
func (i *installation) pools(t testing.TB) (stage roles.Stage) {
	t.Helper()
	for _, make := range []func() (roles.Role, error){i.cluster.Generator, i.cluster.Invoker, i.cluster.Backfiller, i.cluster.Matching, i.cluster.History} {
		role, err := make()
		require.NoError(t, err)
		stage = append(stage, role)
	}
	role, err := i.cluster.Archival(roles.ArchivalConfig{})
	require.NoError(t, err)
	return append(stage, role)
}

// TestConsoleOfAWholeInstallation: a schedule runs a workflow, whose execution Temporal's API shows on the same address.
func TestConsoleOfAWholeInstallation(t *testing.T) {
	t.Parallel()
	v := visitAll(t)
	v.make(t, "whole", daily)
	natstest.Eventually(t, patience, "Temporal's API answers", func() bool { // not before the index of executions is there
		response, err := v.http.Get(v.url + "/api/v1/namespaces/default/workflows")
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		return response.StatusCode == http.StatusOK
	})
	require.Contains(t, v.submit("/ns/default/schedules/whole/trigger", nil).body, "A run has been asked for.")
	natstest.Eventually(t, patience, "the run has ended", func() bool {
		d, err := v.api.Describe(t.Context(), "whole")
		return err == nil && len(d.Info.RecentActions) == 1 && !d.Info.RecentActions[0].CloseTime.IsZero()
	})
}
