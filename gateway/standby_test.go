package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/internal/site"
)

func atStandby(config *gateway.Config) {
	config.Elsewhere = &site.Elsewhere{Here: "west", Active: "east"}
}

// TestStandbyRefusesMethods: at a standby, each method of Temporal's services answers that the namespace is active elsewhere, unless it only reads, or workers wait by it.
// docs/temporal.md lists those that answer.
func TestStandbyRefusesMethods(t *testing.T) {
	t.Parallel()
	in := install(t, atStandby)
	sentences := sentences(t)
	var answered []string
	for _, method := range methodsOfTemporal() {
		service, name := string(method.Parent().FullName()), string(method.Name())
		if _, isMissing := sentences[name]; isMissing {
			continue
		}
		limit := patience
		if strings.HasPrefix(name, "Poll") || name == "GetWorkflowExecutionHistory" { // they wait, the latter for an owner, who is not there
			limit = time.Second
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		err := in.grpc.Invoke(ctx, "/"+service+"/"+name, emptyRequest(method), dynamicpb.NewMessage(method.Output()))
		cancel()
		var elsewhere *serviceerror.NamespaceNotActive
		if assert.NotErrorIs(t, err, context.DeadlineExceeded, name); !errors.As(err, &elsewhere) {
			answered = append(answered, "`"+name+"`")
			continue
		}
		assert.Equal(t, "west", elsewhere.CurrentCluster, name)
		assert.Equal(t, "east", elsewhere.ActiveCluster, name)
	}
	slices.Sort(answered)
	golden.Section(t, "../docs/temporal.md", "standby", strings.Join(answered, ", ")+".\n")
}

// TestStandbyPassesOnWhatReads: of all requests about an execution, the owner gets only those that read.
func TestStandbyPassesOnWhatReads(t *testing.T) {
	t.Parallel()
	in := install(t, atStandby)
	var passed []string
	response := proto.Message(nil)
	requests := in.owners(func(r request) (proto.Message, error) { return response, nil })
	for method, of := range routed() {
		response = of.response
		err := in.grpc.Invoke(t.Context(), "/temporal.api.workflowservice.v1.WorkflowService/"+method, of.request, of.response.ProtoReflect().New().Interface())
		var elsewhere *serviceerror.NamespaceNotActive
		if !errors.As(err, &elsewhere) {
			require.NoError(t, err, method)
			passed = append(passed, (<-requests).verb)
		}
	}
	slices.Sort(passed)
	assert.Equal(t, []string{"describe", "history", "history-reverse"}, passed)
	assert.Empty(t, requests)
}

// TestStandbyLetsPollsWait: a poll takes as long as any other without a task, so that workers do not ask again and again.
func TestStandbyLetsPollsWait(t *testing.T) {
	t.Parallel()
	in := install(t, atStandby)
	const limit = 2 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	began := time.Now()
	task, err := in.PollWorkflowTaskQueue(ctx, &workflowservice.PollWorkflowTaskQueueRequest{Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: "q"}})
	require.NoError(t, err)
	assert.Empty(t, task.TaskToken)
	assert.Greater(t, time.Since(began), limit/2)
}
