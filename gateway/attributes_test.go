package gateway_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/command/v1"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

type types = map[string]enums.IndexedValueType

func (in *installation) attributes(namespace string) (*operatorservice.ListSearchAttributesResponse, error) {
	return in.operators.ListSearchAttributes(in.t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
}

func (in *installation) addAttributes(all types) error {
	_, err := in.operators.AddSearchAttributes(in.t.Context(), &operatorservice.AddSearchAttributesRequest{
		Namespace: "default", SearchAttributes: all,
	})
	return err
}

func TestSearchAttributes(t *testing.T) {
	t.Parallel()
	in := install(t)
	for _, namespace := range []string{"", "default"} {
		got, err := in.attributes(namespace)
		require.NoError(t, err)
		assert.Contains(t, got.SystemAttributes, "WorkflowType")
		assert.Empty(t, got.CustomAttributes)
	}
	_, err := in.attributes("other")
	var noNamespace *serviceerror.NamespaceNotFound
	require.ErrorAs(t, err, &noNamespace)

	want := types{"City": enums.INDEXED_VALUE_TYPE_KEYWORD, "Count": enums.INDEXED_VALUE_TYPE_INT}
	require.NoError(t, in.addAttributes(want))
	require.NoError(t, in.addAttributes(want), "they are there already")
	got, err := in.attributes("default")
	require.NoError(t, err)
	assert.Equal(t, want, got.CustomAttributes)
	_, err = in.operators.RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: "default", SearchAttributes: []string{"City"},
	})
	require.NoError(t, err)
	got, err = in.attributes("default")
	require.NoError(t, err)
	assert.Equal(t, types{"Count": enums.INDEXED_VALUE_TYPE_INT}, got.CustomAttributes)
}

func TestBadSearchAttributes(t *testing.T) {
	t.Parallel()
	in := install(t)
	require.NoError(t, in.addAttributes(types{"City": enums.INDEXED_VALUE_TYPE_KEYWORD}))
	var invalid *serviceerror.InvalidArgument
	for _, bad := range []types{
		nil, {"": 1}, {"a b": 1}, {"1": 1}, {"City": 0}, {"X": 99}, {"TemporalOwn": 1}, {"WorkflowId": enums.INDEXED_VALUE_TYPE_KEYWORD},
	} {
		assert.ErrorAs(t, in.addAttributes(bad), &invalid, "%v", bad)
	}
	var exists *serviceerror.AlreadyExists
	require.ErrorAs(t, in.addAttributes(types{"City": enums.INDEXED_VALUE_TYPE_TEXT}), &exists)
	many := types{}
	for i := range 100 {
		many[fmt.Sprint("a", i)] = enums.INDEXED_VALUE_TYPE_BOOL
	}
	var precondition *serviceerror.FailedPrecondition
	require.ErrorAs(t, in.addAttributes(many), &precondition)
	remove := func(names ...string) error {
		_, err := in.operators.RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
			Namespace: "default", SearchAttributes: names,
		})
		return err
	}
	require.ErrorAs(t, remove(), &invalid)
	var notFound *serviceerror.NotFound
	require.ErrorAs(t, remove("City", "none"), &notFound)
	got, err := in.attributes("default")
	require.NoError(t, err)
	assert.Equal(t, types{"City": enums.INDEXED_VALUE_TYPE_KEYWORD}, got.CustomAttributes, "all or nothing")
}

// TestSearchAttributesAtOnce: no change is lost.
func TestSearchAttributesAtOnce(t *testing.T) {
	t.Parallel()
	in := install(t)
	var adding sync.WaitGroup
	for i := range 5 {
		adding.Go(func() { assert.NoError(t, in.addAttributes(types{fmt.Sprint("a", i): enums.INDEXED_VALUE_TYPE_BOOL})) })
	}
	adding.Wait()
	got, err := in.attributes("default")
	require.NoError(t, err)
	assert.Len(t, got.CustomAttributes, 5)
}

// TestValuesHaveTheirType: a start, or a command, whose search attributes do not fit is refused.
func TestValuesHaveTheirType(t *testing.T) {
	t.Parallel()
	in := install(t)
	requests := in.owners(func(request) (proto.Message, error) { return nil, nil })
	require.NoError(t, in.addAttributes(types{"Count": enums.INDEXED_VALUE_TYPE_INT}))
	wrong := &common.SearchAttributes{IndexedFields: map[string]*common.Payload{"Count": {Data: []byte(`"five"`)}}}
	const says = `invalid value for search attribute Count of type Int: "five"`
	var invalid *serviceerror.InvalidArgument

	start := routed()["StartWorkflowExecution"].request.(*workflowservice.StartWorkflowExecutionRequest)
	start.SearchAttributes = wrong
	_, err := in.StartWorkflowExecution(t.Context(), start)
	require.ErrorAs(t, err, &invalid)
	require.ErrorContains(t, err, says)
	signal := routed()["SignalWithStartWorkflowExecution"].request.(*workflowservice.SignalWithStartWorkflowExecutionRequest)
	signal.SearchAttributes = wrong
	_, err = in.SignalWithStartWorkflowExecution(t.Context(), signal)
	require.ErrorContains(t, err, says)
	require.Empty(t, requests)
	start.SearchAttributes = &common.SearchAttributes{IndexedFields: map[string]*common.Payload{"Count": {Data: []byte("5")}, "Other": {Data: []byte("true")}}}
	_, err = in.StartWorkflowExecution(t.Context(), start)
	require.NoError(t, err, "an attribute need not be added")
	require.Equal(t, "start", (<-requests).verb)

	for _, c := range []*command.Command{
		{Attributes: &command.Command_UpsertWorkflowSearchAttributesCommandAttributes{
			UpsertWorkflowSearchAttributesCommandAttributes: &command.UpsertWorkflowSearchAttributesCommandAttributes{SearchAttributes: wrong},
		}},
		{Attributes: &command.Command_ContinueAsNewWorkflowExecutionCommandAttributes{
			ContinueAsNewWorkflowExecutionCommandAttributes: &command.ContinueAsNewWorkflowExecutionCommandAttributes{SearchAttributes: wrong},
		}},
		{Attributes: &command.Command_StartChildWorkflowExecutionCommandAttributes{
			StartChildWorkflowExecutionCommandAttributes: &command.StartChildWorkflowExecutionCommandAttributes{SearchAttributes: wrong},
		}},
	} {
		_, err = in.RespondWorkflowTaskCompleted(t.Context(), &workflowservice.RespondWorkflowTaskCompletedRequest{
			Namespace: "default", TaskToken: tokenOf("default"), Commands: []*command.Command{c},
		})
		require.ErrorContains(t, err, "BadSearchAttributes: "+says)
		failed := <-requests
		require.Equal(t, "fail-workflow-task", failed.verb)
		var got workflowservice.RespondWorkflowTaskFailedRequest
		require.NoError(t, proto.Unmarshal(failed.data, &got))
		require.Equal(t, enums.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES, got.Cause)
		require.Contains(t, got.Failure.Message, says)
	}
}
