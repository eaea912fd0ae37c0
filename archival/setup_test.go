package archival

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/history"
	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/archive/progress"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

const space = "default"

// bundle is an installation with history, whose namespace asks for an archive.
type bundle struct {
	testing.TB
	js     jetstream.JetStream
	conn   *nats.Conn
	names  subjects.Names
	spaces namespaces.Fixed
	client *workflows.Client
	store  archive.Store
	shards int
	// stopHistory stops the process of history that setup has begun.
	stopHistory func()
}

func setup(t testing.TB) *bundle {
	t.Helper()
	conn, js := natstest.Connect(t, natstest.Shared(t).ClientURL())
	b := &bundle{TB: t, js: js, conn: conn, names: natstest.Names(t), shards: 2}
	b.spaces = namespaces.Fixed{space: {Name: space, Limits: schedule.NamespaceLimits{Archive: "jetstream://"}}}
	_, err := topology.Ensure(t.Context(), js, b.names, topology.Settings{Shards: b.shards, Replicas: 1})
	require.NoError(t, err)
	b.client = workflows.NewClient(owners.Anybody(conn), b.names, b.shards)
	b.store = archive.Store{JS: js, Bus: natstest.Bus(t, js), Names: b.names, Replicas: 1}
	b.stopHistory = b.runHistory()
	return b
}

// runHistory runs a process of history until the end of the test, or until the function that it returns is called.
func (b *bundle) runHistory() (stop func()) {
	b.Helper()
	of, err := history.New(history.Config{
		JS: b.js, Names: b.names, Shards: b.shards, Logger: natstest.Logger(b), Namespaces: b.spaces, SweepEvery: 50 * time.Millisecond,
	})
	require.NoError(b, err)
	stop = b.background(of.Run)
	<-of.Ready()
	return stop
}

// background runs something until the end of the test, or until the function that it returns is called.
func (b *bundle) background(run func(context.Context) error) (stop func()) {
	b.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			require.NoError(b, <-ended)
		})
	}
	b.Cleanup(stop)
	return stop
}

// config is that of a service.
func (b *bundle) config() Config {
	return Config{
		JS: b.js, Names: b.names, Shards: b.shards, Namespaces: b.spaces, Logger: natstest.Logger(b), Source: b.client,
		Every: 20 * time.Millisecond, RetryEvery: time.Millisecond, RunsPerSecond: 1e6, Allowed: []string{"file:///", "jetstream://"},
	}
}

// run runs a service until the end of the test, or until the function that it returns is called.
func (b *bundle) run(change ...func(*Config)) (stop func()) {
	b.Helper()
	config := b.config()
	for _, one := range change {
		one(&config)
	}
	s, err := New(config)
	require.NoError(b, err)
	stop = b.background(s.Run)
	<-s.Ready()
	return stop
}

// ask asks history.
func (b *bundle) ask(verb string, key schedule.Key, request, response proto.Message) error {
	return call.Ask(b.Context(), b.conn, b.names.Execution(subjects.ShardOf(key, b.shards), key.Namespace, verb), request, response)
}

// start starts a workflow that no worker serves.
func (b *bundle) start(id, workflowType string) (runID string) {
	b.Helper()
	return b.startIn(space, id, workflowType)
}

func (b *bundle) startIn(namespace, id, workflowType string) (runID string) {
	b.Helper()
	response := &workflowservice.StartWorkflowExecutionResponse{}
	require.NoError(b, b.ask(subjects.VerbStart, schedule.Key{Namespace: namespace, ID: id}, &workflowservice.StartWorkflowExecutionRequest{
		Namespace: namespace, WorkflowId: id, WorkflowType: &commonpb.WorkflowType{Name: workflowType},
		TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}, RequestId: fmt.Sprint("start-", id, time.Now().UnixNano()),
		Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{"note": {Data: []byte(`"of ` + id + `"`)}}},
	}, response))
	return response.RunId
}

// end starts a workflow and terminates it.
func (b *bundle) end(id, workflowType string) (runID string) {
	b.Helper()
	return b.endIn(space, id, workflowType)
}

func (b *bundle) endIn(namespace, id, workflowType string) (runID string) {
	b.Helper()
	runID = b.startIn(namespace, id, workflowType)
	require.NoError(b, b.client.Terminate(b.Context(), &workflowservice.TerminateWorkflowExecutionRequest{
		Namespace: namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, Reason: "enough",
	}))
	return runID
}

// bucket opens the archive.
func (b *bundle) bucket() *archive.Bucket {
	b.Helper()
	opened, err := b.store.Open(b.Context(), "jetstream://")
	require.NoError(b, err)
	b.Cleanup(func() { _ = opened.Close() })
	return opened
}

// objects returns the content of all objects of the archive, by name, without its mark.
func (b *bundle) objects() map[string]string {
	b.Helper()
	all, in := map[string]string{}, b.bucket()
	each := in.List(nil)
	for {
		object, err := each.Next(b.Context())
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(b, err)
		if object.Key == ".carillon-archive" {
			continue
		}
		data, err := in.Get(b.Context(), object.Key)
		require.NoError(b, err)
		all[object.Key] = string(data)
	}
}

// progress returns how far all shards are archived.
func (b *bundle) progress() (all []progress.Progress) {
	b.Helper()
	records := progress.NewRecords(kv.NewCluster(b.js, b.names))
	for shard := range b.shards {
		p, err := records.Progress(b.Context(), space, shard)
		require.NoError(b, err)
		all = append(all, p)
	}
	return all
}

// awaitArchived waits until the stored progress says that some runs are safe.
func (b *bundle) awaitArchived(ids ...string) {
	b.Helper()
	streams := natstest.Bus(b, b.js)
	natstest.Eventually(b, natstest.Patience, "all are archived", func() bool {
		through := b.progress()
		for _, id := range ids {
			key := schedule.Key{Namespace: space, ID: id}
			shard := subjects.ShardOf(key, b.shards)
			last, err := streams.Last(b.Context(), b.names.JournalStream(shard), b.names.Journal(shard, key))
			require.NoError(b, err)
			if last.Sequence > through[shard].Through || through[shard].Waits(id, last.Sequence) {
				return false
			}
		}
		return true
	})
}

// askArchive asks the role.
func (b *bundle) askArchive(verb string, request, response proto.Message) error {
	return call.Ask(b.Context(), b.conn, b.names.Archive(space, verb), request, response)
}

// listOf asks the role for a page of the archive of a namespace.
func (b *bundle) listOf(namespace string) error {
	return call.Ask(b.Context(), b.conn, b.names.Archive(namespace, subjects.VerbListArchived),
		&workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: namespace}, &workflowservice.ListArchivedWorkflowExecutionsResponse{})
}

// await waits for a condition.
func (b *bundle) await(what string, is func() bool) {
	b.Helper()
	natstest.Eventually(b, natstest.Patience, what, is)
}

// status is what the process that archives says about itself.
func (b *bundle) status() progress.Status {
	b.Helper()
	record, err := kv.GetJSON[progress.Status](b.Context(), kv.NewCluster(b.js, b.names), subjects.KeyArchiver)
	if errors.Is(err, kv.ErrNotFound) {
		return progress.Status{} // it has said nothing yet
	}
	require.NoError(b, err)
	return record.Value
}

// ticking is a clock of which each look takes a long time.
type ticking struct{ looks atomic.Int64 }

func (c *ticking) now() time.Time {
	return time.Unix(1_800_000_000, 0).Add(time.Duration(c.looks.Add(1)) * lookTime)
}
