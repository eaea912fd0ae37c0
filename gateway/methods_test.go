package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/carillon-scheduler/carillon/internal/golden"
)

// TestMethodsOfThePage: docs/temporal.md lists the methods that a gateway answers, and no others.
func TestMethodsOfThePage(t *testing.T) {
	t.Parallel()
	in := install(t)
	answered := map[string][]string{}
	var mu sync.Mutex
	var group errgroup.Group
	for _, method := range methodsOfTemporal() {
		group.Go(func() error {
			service := string(method.Parent().FullName())
			err := in.grpc.Invoke(t.Context(), "/"+service+"/"+string(method.Name()), emptyRequest(method), dynamicpb.NewMessage(method.Output()))
			mu.Lock()
			defer mu.Unlock()
			if serviceerror.ToStatus(err).Code() != codes.Unimplemented { // another error says that there is somebody
				short := service[strings.LastIndexByte(service, '.')+1:]
				answered[short] = append(answered[short], "`"+string(method.Name())+"`")
			}
			return nil
		})
	}
	require.NoError(t, group.Wait())
	text := "| service | answers |\n| --- | --- |\n"
	for _, service := range []string{"WorkflowService", "OperatorService"} {
		require.NotEmpty(t, answered[service])
		slices.Sort(answered[service])
		text += fmt.Sprintf("| `%s` | %s |\n", service, strings.Join(answered[service], ", "))
	}
	golden.Section(t, "../docs/temporal.md", "methods", text)
}

// emptyRequest is a request that says nothing but a namespace that exists; the one to delete a namespace does not even say that.
func emptyRequest(method protoreflect.MethodDescriptor) *dynamicpb.Message {
	request := dynamicpb.NewMessage(method.Input())
	if field := method.Input().Fields().ByName("namespace"); field != nil && method.Name() != "DeleteNamespace" {
		request.Set(field, protoreflect.ValueOfString("default"))
	}
	return request
}
