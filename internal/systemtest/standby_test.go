package systemtest

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// readSite is a site with a server, whose search index, gateway and health endpoints answer at both sites.
type readSite struct {
	*oneSite
	health string
}

func newReadSite(t *testing.T, names subjects.Names, cluster *natstest.ClusterT, name string, args ...string) *readSite {
	t.Helper()
	conn, js := natstest.Connect(t, cluster.URLs())
	in := &readSite{oneSite: &oneSite{name: name, cluster: cluster, system: &system{t: t, names: names, conn: conn, js: js}}}
	var err error
	in.client, err = client.New(conn, client.Config{Prefix: names.Prefix(), Timeout: 10 * time.Second})
	require.NoError(t, err)
	address := "127.0.0.1:" + strconv.Itoa(quietPort(t))
	in.health = "127.0.0.1:" + strconv.Itoa(quietPort(t))
	in.gateway, err = sdkclient.NewLazyClient(sdkclient.Options{
		HostPort: address, Logger: sdklog.NewStructuredLogger(natstest.Logger(t)),
		ConnectionOptions: sdkclient.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond},
		})}},
	})
	require.NoError(t, err)
	t.Cleanup(in.gateway.Close)
	in.server = newProcess(t, append([]string{
		"server", "--nats", cluster.URLs(), "--prefix", names.Prefix(), "--no-worker", "--grpc", address, "--http", in.health,
	}, args...)...)
	in.server.start()
	return in
}

// awaitReady waits until the server is ready for what it runs, and returns its roles by their status.
func (in *readSite) awaitReady() map[string][]string {
	in.t.Helper()
	var report struct {
		Roles []struct{ Role, Status string }
	}
	natstest.Eventually(in.t, patience, in.name+" to be ready", func() bool {
		response, err := http.Get("http://" + in.health + "/readyz")
		if err != nil {
			return false
		}
		defer func() { _ = response.Body.Close() }()
		return json.NewDecoder(response.Body).Decode(&report) == nil && response.StatusCode == http.StatusOK
	})
	by := map[string][]string{}
	for _, role := range report.Roles {
		by[role.Status] = append(by[role.Status], role.Role)
	}
	return by
}

// reads are what the site answers to requests that read, by what is asked. What depends on the moment is left out.
func (in *readSite) reads() map[string]string {
	in.t.Helper()
	ctx, all := in.t.Context(), map[string]string{}
	note := func(name string, value any, err error) {
		require.NoError(in.t, err, name)
		text, err := json.Marshal(value)
		require.NoError(in.t, err, name)
		all[name] = string(text)
	}
	described, err := in.client.Describe(ctx, "hourly")
	note("describe", described, err)
	listed, err := in.client.List(ctx, schedule.ListRequest{})
	note("list", listed, err)
	found, err := in.client.List(ctx, schedule.ListRequest{Query: "paused = true"})
	found.IndexedUpTo = time.Time{}
	note("search", found, err)
	count, err := in.client.Count(ctx, "")
	note("count", count, err)
	events, err := in.client.History(ctx, schedule.HistoryRequest{ID: "hourly"})
	note("history", events, err)
	runs, err := in.client.Runs(ctx, schedule.RunsRequest{})
	note("runs", runs, err)
	space, err := in.client.DescribeNamespace(ctx, "default")
	note("namespace", space.Name, err)
	namespaces, err := in.client.ListNamespaces(ctx, schedule.ListNamespacesRequest{})
	note("namespaces", namespaces, err)
	for _, id := range []string{"open", "closed"} {
		execution, err := in.gateway.WorkflowService().DescribeWorkflowExecution(ctx, &workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: id},
		})
		require.NoError(in.t, err)
		note(id, protojson.Format(execution), nil)
		var history []string
		for events := in.gateway.GetWorkflowHistory(ctx, id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			event, err := events.Next()
			require.NoError(in.t, err)
			history = append(history, protojson.Format(event))
		}
		note(id+" history", history, nil)
	}
	executions, err := in.gateway.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{})
	require.NoError(in.t, err)
	require.Len(in.t, executions.Executions, 2)
	note("executions", protojson.Format(executions), nil)
	closed, err := in.gateway.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: `ExecutionStatus = "Terminated"`})
	note("closed executions", closed.GetCount(), err)
	for name, text := range all { // the formatter of protobuf adds spaces at random
		all[name] = strings.ReplaceAll(text, " ", "")
	}
	return all
}

// refuses requires the site to refuse writes, and to name the other one.
func (in *readSite) refuses(active string) {
	in.t.Helper()
	_, err := in.client.Create(in.t.Context(), schedule.CreateRequest{ID: "new", Schedule: every(time.Hour)})
	assert.Equal(in.t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	assert.ErrorContains(in.t, err, `ask the site "`+active+`"`)
	_, err = in.gateway.ExecuteWorkflow(in.t.Context(), sdkclient.StartWorkflowOptions{ID: "new", TaskQueue: siteQueue}, "waits")
	for _, command := range [][]string{{"dlq", "purge", "--all", "--yes"}, {"dlq", "replay", "1"}, {"cluster", "check", "--repair"}} {
		out, err := in.try(command...)
		assert.Error(in.t, err, command)
		assert.Contains(in.t, out, `ask the site "`+active+`"`, command)
	}
	var elsewhere *serviceerror.NamespaceNotActive
	if assert.ErrorAs(in.t, err, &elsewhere) {
		assert.Equal(in.t, active, elsewhere.ActiveCluster)
	}
}

// standsBy requires the site to be a standby that answers what the active one does.
func (in *readSite) standsBy(active *readSite) {
	in.t.Helper()
	in.awaitStandby()
	assert.Equal(in.t, map[string][]string{
		"ready":   {"frontend", "history", "replication", "gateway"},
		"standby": {"generator", "invoker", "backfiller", "matching", "archival"},
	}, in.awaitReady())
	natstest.Eventually(in.t, patience, in.name+" to be well", func() bool {
		health, err := in.try("cluster", "health")
		return err == nil && strings.Contains(health, in.name+" is standby, term ") && strings.Contains(health, "; the mirrors of "+active.name+" ")
	})
	want := active.reads()
	natstest.Eventually(in.t, patience, in.name+" to answer what "+active.name+" does", func() bool { return assert.ObjectsAreEqual(want, in.reads()) })
	in.refuses(active.name)
}

func waits(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Millisecond) }

// TestStandbyReads: a standby answers what the active site does, and refuses what writes. Its process goes on in place when the site becomes active, and when that ends: at
// the same addresses, with workers that have waited there.
func TestStandbyReads(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	both := natstest.Sites(t, 1, names)
	east := newReadSite(t, names, both.East, "east", "--shards", "2")
	east.awaitReady()
	east.create("hourly", every(time.Hour))
	east.create("paused", every(time.Hour))
	require.NoError(t, east.client.Pause(t.Context(), "paused", "for the test"))
	for _, id := range []string{"open", "closed"} {
		_, err := east.gateway.ExecuteWorkflow(t.Context(), sdkclient.StartWorkflowOptions{ID: id, TaskQueue: siteQueue}, "waits")
		require.NoError(t, err)
	}
	require.NoError(t, east.gateway.TerminateWorkflow(t.Context(), "closed", "", "for the test"))
	east.carillon("site", "link", "west")
	west := newReadSite(t, names, both.West, "west", "--standby-of", "east")
	west.standsBy(east)
	w := sdkworker.New(west.gateway, siteQueue, sdkworker.Options{})
	w.RegisterWorkflow(waits)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)

	east.carillon("site", "handover")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, west.gateway.GetWorkflow(ctx, "open", "").Get(ctx, nil), "the worker that has waited gets the task")
	west.awaitReady()
	require.NoError(t, west.client.Unpause(t.Context(), "paused", ""))
	require.NoError(t, west.client.Pause(t.Context(), "paused", "again"))
	east.standsBy(west)

	west.carillon("site", "handover")
	east.awaitReady()
	require.NoError(t, east.client.Pause(t.Context(), "hourly", ""))
	west.standsBy(east)
}
