package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/filter/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/call"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// visible is an installation whose frontend has an index.
type visible struct {
	*installation
	from time.Time
	n    int
	memo int // how many bytes a memo has
}

func seen(t *testing.T) *visible {
	t.Helper()
	v := seenBy(t, func(*search.Config) {})
	natstest.Eventually(t, patience, "the index is built", func() bool {
		_, err := v.CountWorkflowExecutions(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default"})
		return err == nil
	})
	return v
}

// seenBy is an installation whose frontend has an index that may not be built.
func seenBy(t *testing.T, change func(*search.Config)) *visible {
	t.Helper()
	in := install(t)
	in.without()
	conn, js := natstest.Connect(t, natstest.Shared(t))
	facts, err := topology.Ensure(t.Context(), js, in.names, topology.Settings{})
	require.NoError(t, err)
	config := search.Config{
		JS: js, Names: in.names, Shards: shards, Created: facts.Created, Logger: natstest.Logger(t), Interval: time.Hour,
	}
	change(&config)
	index, err := search.New(config)
	require.NoError(t, err)
	in.run(index.Run)
	store, err := kv.Open(t.Context(), js, in.names, shards)
	require.NoError(t, err)
	f, err := frontend.New(frontend.Config{Conn: conn, JS: js, Store: store, Names: in.names, Logger: natstest.Logger(t), Index: index})
	require.NoError(t, err)
	in.run(f.Run)
	<-f.Ready()
	return &visible{installation: in, from: facts.Created.Add(time.Minute)}
}

// begin starts an execution as history does, a second after the one before.
func (v *visible) begin(id string, attributes map[string]*common.Payload) execution.State {
	v.t.Helper()
	v.n++
	return v.decide(execution.State{Key: execution.Key{Namespace: "default", WorkflowID: id}}, execution.Start{
		RunID: fmt.Sprintf("00000000-0000-4000-8000-%012d", v.n), Request: &workflowservice.StartWorkflowExecutionRequest{
			Namespace: "default", WorkflowId: id, WorkflowType: &common.WorkflowType{Name: "report"}, TaskQueue: &taskqueue.TaskQueue{Name: "q"},
			SearchAttributes: &common.SearchAttributes{IndexedFields: attributes}, Memo: &common.Memo{Fields: map[string]*common.Payload{
				"note": {Data: make([]byte, v.memo)},
			}},
		},
	})
}

func (v *visible) terminate(state execution.State) {
	v.t.Helper()
	v.decide(state, execution.Terminate{Request: &workflowservice.TerminateWorkflowExecutionRequest{}})
}

func (v *visible) decide(state execution.State, in execution.Input) execution.State {
	v.t.Helper()
	d, err := execution.Decide(&state, in, v.from.Add(time.Duration(v.n)*time.Second))
	require.NoError(v.t, err)
	data, err := d.Entry.Marshal()
	require.NoError(v.t, err)
	key := schedule.Key{Namespace: state.Key.Namespace, ID: state.Key.WorkflowID}
	subject := v.names.Journal(subjects.ShardOf(key, shards), key)
	answer, err := v.conn.Request(subject, data, patience)
	require.NoError(v.t, err)
	require.Contains(v.t, string(answer.Data), "seq")
	d.After.Stored(uint64(v.n))
	return *d.After
}

// list returns the workflow IDs that a query finds, page by page.
func (v *visible) list(query string, size int32) (ids []string) {
	v.t.Helper()
	r := &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: query, PageSize: size}
	for {
		page, err := v.ListWorkflowExecutions(v.t.Context(), r)
		require.NoError(v.t, err, query)
		ids = append(ids, idsOf(page.Executions)...)
		if r.NextPageToken = page.NextPageToken; len(r.NextPageToken) == 0 {
			return ids
		}
	}
}

func idsOf(executions []*workflow.WorkflowExecutionInfo) (ids []string) {
	for _, info := range executions {
		ids = append(ids, info.Execution.WorkflowId)
	}
	return ids
}

// TestListAndCount: what is acknowledged shows at once.
func TestListAndCount(t *testing.T) {
	t.Parallel()
	v := seen(t)
	customer := map[string]*common.Payload{"Customer": {
		Metadata: map[string][]byte{"encoding": []byte("json/plain"), "type": []byte("Keyword")}, Data: []byte(`"acme"`),
	}}
	a := v.begin("a", customer)
	assert.Equal(t, []string{"a"}, v.list("", 0))
	v.begin("b", nil)
	v.begin("it's", customer)
	v.terminate(a)
	assert.Equal(t, []string{"it's", "b", "a"}, v.list("", 1))
	assert.Equal(t, []string{"a", "b", "it's"}, v.list("ORDER BY StartTime", 2))
	assert.Equal(t, []string{"it's", "b", "a"}, v.list("order by WorkflowId desc", 1))
	assert.Equal(t, []string{"a", "b", "it's"}, v.list("order by CloseTime", 1))
	assert.Equal(t, []string{"it's"}, v.list(`Customer = "acme" AND ExecutionStatus = "Running"`, 0))
	assert.Equal(t, []string{"a"}, v.list("CloseTime IS NOT NULL", 0))

	counted, err := v.CountWorkflowExecutions(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: "default", Query: "WorkflowType = 'report' GROUP BY ExecutionStatus",
	})
	require.NoError(t, err)
	assert.EqualValues(t, 3, counted.Count)
	require.Len(t, counted.Groups, 2)
	assert.Equal(t, `"Running"`, string(counted.Groups[0].GroupValues[0].Data))
	assert.EqualValues(t, 2, counted.Groups[0].Count)

	counted, err = v.CountWorkflowExecutions(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: "GROUP BY Customer"})
	require.NoError(t, err)
	require.Len(t, counted.Groups, 2)
	assert.Equal(t, `"acme"`, string(counted.Groups[0].GroupValues[0].Data))
	assert.Equal(t, "Keyword", string(counted.Groups[0].GroupValues[0].Metadata["type"]))
	assert.Equal(t, "binary/null", string(counted.Groups[1].GroupValues[0].Metadata["encoding"]), "one has none")

	v.terminate(v.begin("c", nil))
	v.terminate(v.begin("d", nil))
	counted, err = v.CountWorkflowExecutions(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: "GROUP BY ExecutionStatus"})
	require.NoError(t, err)
	require.Len(t, counted.Groups, 2)
	assert.Equal(t, []int64{2, 3}, []int64{counted.Groups[0].Count, counted.Groups[1].Count}, "running ones come first, however few they are")

	attributes, err := v.operators.ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.Empty(t, attributes.CustomAttributes, "clients add what is not listed, with the type that they want")
	require.NoError(t, v.addAttributes(types{"Customer": enums.INDEXED_VALUE_TYPE_TEXT}), "whatever type its values have")
	all, err := v.GetSearchAttributes(t.Context(), &workflowservice.GetSearchAttributesRequest{})
	require.NoError(t, err)
	assert.Contains(t, all.Keys, "WorkflowId")
}

// TestTypesOfTheNamespace: what has been added to a namespace counts at once, and no longer once it has been removed.
func TestTypesOfTheNamespace(t *testing.T) {
	t.Parallel()
	v := seen(t)
	require.NoError(t, v.addAttributes(types{"Amount": enums.INDEXED_VALUE_TYPE_INT, "Remark": enums.INDEXED_VALUE_TYPE_TEXT}))
	v.begin("a", map[string]*common.Payload{
		"Amount": {Data: []byte("5")}, "Remark": {Data: []byte(`"Hello, World"`), Metadata: map[string][]byte{"type": []byte("Text")}},
	})
	list := func(query string) error {
		_, err := v.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: query})
		return err
	}
	require.ErrorContains(t, list("Amount = 'five'"), "at character 10: `Amount` has the type Int, and cannot be compared with a string")
	require.ErrorContains(t, list("amount = 5"), "at character 1: no execution has amount: did you mean Amount?")
	require.ErrorContains(t, list("Remark STARTS_WITH 'H'"), "at character 8")
	assert.Equal(t, []string{"a"}, v.list("Amount BETWEEN 4 AND 6 AND Remark = 'world peace'", 0))
	assert.Empty(t, v.list("Remark != 'HELLO'", 0))
	_, err := v.operators.RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: "default", SearchAttributes: []string{"Amount"},
	})
	require.NoError(t, err)
	assert.Empty(t, v.list("Amount = 'five'", 0), "only values say now what it is")
}

// TestOrderByAttribute: what has no value comes last, and a page goes on after a number with a fraction.
func TestOrderByAttribute(t *testing.T) {
	t.Parallel()
	v := seen(t)
	for id, share := range map[string]string{"half": "0.5", "one": "1", "tenth": "0.1", "list": "[7.5, 0.2]"} {
		v.begin(id, map[string]*common.Payload{"Share": {Data: []byte(share), Metadata: map[string][]byte{"type": []byte("Double")}}})
	}
	v.begin("none", nil)
	for _, size := range []int32{1, 10} {
		assert.Equal(t, []string{"tenth", "list", "half", "one", "none"}, v.list("ORDER BY Share", size))
		assert.Equal(t, []string{"half", "list", "tenth"}, v.list("Share < 1 ORDER BY Share DESC", size))
	}
}

// TestPagesUnderNewRuns: runs that begin and end between two pages move nothing.
func TestPagesUnderNewRuns(t *testing.T) {
	t.Parallel()
	v := seen(t)
	for i := range 6 {
		v.terminate(v.begin(fmt.Sprint("w", i), nil))
	}
	want := []string{"w5", "w4", "w3", "w2", "w1", "w0"}
	for _, query := range []string{"CloseTime IS NOT NULL", "ORDER BY StartTime"} {
		r := &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: query, PageSize: 2}
		var got []string
		for len(got) < len(want) {
			page, err := v.ListWorkflowExecutions(t.Context(), r)
			require.NoError(t, err)
			got = append(got, idsOf(page.Executions)...)
			r.NextPageToken = page.NextPageToken
			v.terminate(v.begin(fmt.Sprint("new", len(got), query[:1]), map[string]*common.Payload{"x" + query[:1]: {Data: []byte("1")}}))
		}
		assert.Equal(t, want, got[:len(want)], query)
		slices.Reverse(want)
	}
}

// TestOlderLists are other names for some queries.
func TestOlderLists(t *testing.T) {
	t.Parallel()
	v := seen(t)
	v.terminate(v.begin("closed", nil))
	v.begin("it's", nil)
	v.begin(`c:\a\'b`, nil)
	odd, err := v.ListOpenWorkflowExecutions(t.Context(), &workflowservice.ListOpenWorkflowExecutionsRequest{
		Namespace: "default", Filters: &workflowservice.ListOpenWorkflowExecutionsRequest_ExecutionFilter{
			ExecutionFilter: &filter.WorkflowExecutionFilter{WorkflowId: `c:\a\'b`},
		},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{`c:\a\'b`}, idsOf(odd.Executions))
	open, err := v.ListOpenWorkflowExecutions(t.Context(), &workflowservice.ListOpenWorkflowExecutionsRequest{
		Namespace: "default", StartTimeFilter: &filter.StartTimeFilter{EarliestTime: timestamppb.New(v.from)},
		Filters: &workflowservice.ListOpenWorkflowExecutionsRequest_ExecutionFilter{ExecutionFilter: &filter.WorkflowExecutionFilter{WorkflowId: "it's"}},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"it's"}, idsOf(open.Executions))
	open, err = v.ListOpenWorkflowExecutions(t.Context(), &workflowservice.ListOpenWorkflowExecutionsRequest{
		Namespace: "default", Filters: &workflowservice.ListOpenWorkflowExecutionsRequest_ExecutionFilter{
			ExecutionFilter: &filter.WorkflowExecutionFilter{WorkflowId: "it's", RunId: "00000000-0000-4000-8000-999999999999"},
		},
	})
	require.NoError(t, err)
	assert.Empty(t, open.Executions, "another run has that workflow ID")
	open, err = v.ListOpenWorkflowExecutions(t.Context(), &workflowservice.ListOpenWorkflowExecutionsRequest{
		Namespace: "default", StartTimeFilter: &filter.StartTimeFilter{LatestTime: timestamppb.New(v.from)},
		Filters: &workflowservice.ListOpenWorkflowExecutionsRequest_TypeFilter{TypeFilter: &filter.WorkflowTypeFilter{Name: "report"}},
	})
	require.NoError(t, err)
	assert.Empty(t, open.Executions)
	closed, err := v.ListClosedWorkflowExecutions(t.Context(), &workflowservice.ListClosedWorkflowExecutionsRequest{
		Namespace: "default", Filters: &workflowservice.ListClosedWorkflowExecutionsRequest_StatusFilter{
			StatusFilter: &filter.StatusFilter{Status: enums.WORKFLOW_EXECUTION_STATUS_TERMINATED},
		},
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"closed"}, idsOf(closed.Executions))
	//lint:ignore SA1019 clients may use it for long
	scanned, err := v.ScanWorkflowExecutions(t.Context(), &workflowservice.ScanWorkflowExecutionsRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.Equal(t, []string{`c:\a\'b`, "it's", "closed"}, idsOf(scanned.Executions))
}

// TestPagesFitIntoAnAnswer: a page has fewer executions than asked for if they are more than NATS carries.
func TestPagesFitIntoAnAnswer(t *testing.T) {
	t.Parallel()
	v := seen(t)
	const many = 30
	v.memo = int(min(v.conn.MaxPayload(), 4<<20) / 10)
	for i := range many {
		v.begin(fmt.Sprint("w", i), nil)
	}
	// They are much to read in the two seconds for which a list waits.
	natstest.Eventually(t, patience, "all are listed", func() bool { return len(v.list("", 0)) == many })
	first, err := v.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
	require.NoError(t, err)
	assert.Less(t, len(first.Executions), 10)
}

// TestListsRefuse: errors say what is wrong, and where.
func TestListsRefuse(t *testing.T) {
	t.Parallel()
	v := seen(t)
	v.begin("a", nil)
	v.begin("b", nil)
	page, err := v.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", PageSize: 1})
	require.NoError(t, err)
	for want, r := range map[string]*workflowservice.ListWorkflowExecutionsRequest{
		"at character 19: the string 'Runing' is no status: did you mean 'Running'?": {Query: "ExecutionStatus = 'Runing'"},
		"group by is for counts":                 {Query: "GROUP BY ExecutionStatus"},
		"Invalid NextPageToken.":                 {NextPageToken: []byte("?")},
		"NextPageToken is that of another query": {NextPageToken: page.NextPageToken, Query: "WorkflowId = 'a'"},
	} {
		r.Namespace = "default"
		_, err := v.ListWorkflowExecutions(t.Context(), r)
		var invalid *serviceerror.InvalidArgument
		require.ErrorAs(t, err, &invalid)
		assert.ErrorContains(t, err, want)
	}
	_, err = v.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "nowhere"})
	var none *serviceerror.NamespaceNotFound
	assert.ErrorAs(t, err, &none)
}

// TestListsWhileTheIndexIsBuilt: for a moment clients may try again by themselves, and then they are told how far it is.
func TestListsWhileTheIndexIsBuilt(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	v := seenBy(t, func(c *search.Config) {
		c.Shards++ // it waits for a stream that is not there
		c.Now = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
	})
	list := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := v.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
		return err
	}
	var unavailable *serviceerror.Unavailable
	require.ErrorAs(t, list(), &unavailable)
	later.Store(int64(time.Minute))
	var building *serviceerror.FailedPrecondition
	natstest.Eventually(t, patience, "the index is open", func() bool { return errors.As(list(), &building) })
	assert.Regexp(t, `^the search index is being built, \d+ % of it is there \(\d+ of \d+ messages\): try again in a moment$`, building.Message)
}

// TestAnotherFrontendAnswers: while one frontend builds its index, the others answer for it.
func TestAnotherFrontendAnswers(t *testing.T) {
	t.Parallel()
	in := install(t)
	for _, failure := range []error{nil, serviceerror.NewFailedPrecondition("the search index is being built")} {
		conn, _ := natstest.Connect(t, in.server)
		server, err := call.Serve(context.Background(), call.Config{
			Conn: bus.Plain{Conn: conn}, Queue: "visibility", Logger: in.logger(),
			Handle: func(context.Context, string, []byte) (proto.Message, error) {
				return &workflowservice.ListWorkflowExecutionsResponse{}, failure
			},
		}, in.names.Visibilities())
		require.NoError(t, err)
		t.Cleanup(server.Close)
	}
	for range 10 {
		_, err := in.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
		require.NoError(t, err)
	}
}

// TestListsWithoutIndex: nobody answers.
func TestListsWithoutIndex(t *testing.T) {
	t.Parallel()
	in := install(t)
	_, err := in.ListWorkflowExecutions(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
	var unavailable *serviceerror.Unavailable
	require.ErrorAs(t, err, &unavailable)
	assert.ErrorContains(t, err, "--no-search")
}
