package search_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// TestDeletedRunsGo from the index at once, the newest run of a workflow ID and earlier ones. A delete that has been read already does no harm.
func TestDeletedRunsGo(t *testing.T) {
	t.Parallel()
	in := install(t)
	index := in.seldom()
	in.awaitExecutions(index)
	a := in.begin("default", "a", 1, map[string]*common.Payload{"Customer": search.Payload("Keyword", `"acme"`)})
	in.begin("default", "b", 2, nil)
	first := a.State.Run.ID
	a.Commands(t, func() { in.append(a) })
	a.Now = a.Now.Add(time.Minute)
	a.Reset(t, a.State.Run.LastStarted+1)
	in.append(a)
	in.now(index, "", "a", "b", "a")
	a.Do(t, execution.Delete{RunID: first})
	in.append(a)
	in.now(index, "", "a", "b")
	in.now(index, "Customer = 'acme'", "a")
	a.Do(t, execution.Delete{})
	in.append(a)
	in.now(index, "", "b")
	in.now(index, "Customer = 'acme'")
}

// TestExpiredRunsGo when their namespace has kept them for its retention. Those in progress stay.
func TestExpiredRunsGo(t *testing.T) {
	t.Parallel()
	in := install(t)
	var ahead atomic.Int64
	config := in.config()
	config.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	index, _ := run(t, config)
	in.awaitExecutions(index)
	records := namespaces.NewRecords(kv.NewCluster(in.js, in.names))
	record, err := records.Get(t.Context(), "default")
	require.NoError(t, err)
	record.Limits.WorkflowRetention = schedule.Duration(2 * time.Hour)
	require.NoError(t, records.Put(t.Context(), record.Namespace, record.Revision))
	ended := in.begin("default", "ended", 1, map[string]*common.Payload{"x": search.Payload("Keyword", `"y"`)})
	in.terminate(ended)
	in.begin("default", "open", 2, nil)
	in.now(index, "", "open", "ended")
	ahead.Store(int64(time.Hour))
	in.now(index, "", "open", "ended")
	ahead.Store(int64(3 * time.Hour))
	natstest.Eventually(t, patience, "the run is gone", func() bool {
		ids, err := executions(t.Context(), index, "default", "")
		return err == nil && len(ids) == 1 && ids[0] == "open"
	})
}
