package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/carillon-scheduler/carillon/gateway"
	"github.com/carillon-scheduler/carillon/internal/golden"
)

// TestMethodsOfThePage: each method of Temporal's services is either here, or belongs to a feature that is not, and says so. docs/temporal.md lists both.
func TestMethodsOfThePage(t *testing.T) {
	t.Parallel()
	in := install(t)
	sentences := sentences(t)
	answered, refused := map[string][]string{}, map[string]bool{}
	var mu sync.Mutex
	var group errgroup.Group
	for _, method := range methodsOfTemporal() {
		group.Go(func() error {
			service, name := string(method.Parent().FullName()), string(method.Name())
			err := in.grpc.Invoke(t.Context(), "/"+service+"/"+name, emptyRequest(method), dynamicpb.NewMessage(method.Output()))
			mu.Lock()
			defer mu.Unlock()
			status := serviceerror.ToStatus(err)
			if sentence, isMissing := sentences[name]; isMissing {
				assert.Equal(t, codes.Unimplemented, status.Code(), name)
				assert.Equal(t, sentence, status.Message(), name)
				refused[name] = true
				return nil
			}
			// another error says that there is somebody
			assert.NotEqual(t, codes.Unimplemented, status.Code(), "%s is neither here nor in the table of what is missing: %v", name, err)
			short := service[strings.LastIndexByte(service, '.')+1:]
			answered[short] = append(answered[short], "`"+name+"`")
			return nil
		})
	}
	require.NoError(t, group.Wait())
	assert.Len(t, refused, len(sentences), "the table names methods that Temporal does not have")
	text := "| service | answers |\n| --- | --- |\n"
	for _, service := range []string{"WorkflowService", "OperatorService"} {
		require.NotEmpty(t, answered[service])
		slices.Sort(answered[service])
		text += fmt.Sprintf("| `%s` | %s |\n", service, strings.Join(answered[service], ", "))
	}
	golden.Section(t, "../docs/temporal.md", "methods", text)
}

// TestMissingOfThePage: docs/temporal.md says which methods belong to what is not here, and what to do instead.
func TestMissingOfThePage(t *testing.T) {
	t.Parallel()
	text := "| feature | calls | what to do instead |\n| --- | --- | --- |\n"
	for _, missing := range gateway.MissingFeatures() {
		_, instead, _ := strings.Cut(missing.Sentence, ": ")
		text += fmt.Sprintf("| %s | `%s` | %s |\n", missing.Feature, strings.Join(missing.Methods, "`, `"), instead)
	}
	golden.Section(t, "../docs/temporal.md", "missing", text)
}

// sentences are what the methods of missing features answer. SDKs look for the words "not implemented".
func sentences(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, missing := range gateway.MissingFeatures() {
		assert.Regexp(t, `^\S.* (is|are) not implemented: \S.*[^.]$`, missing.Sentence)
		for _, method := range missing.Methods {
			assert.NotContains(t, all, method)
			all[method] = missing.Sentence
		}
	}
	return all
}

// emptyRequest is a request that says nothing but a namespace that exists, and a workflow whose activity is meant; the one to delete a namespace
// says nothing at all.
func emptyRequest(method protoreflect.MethodDescriptor) *dynamicpb.Message {
	request := dynamicpb.NewMessage(method.Input())
	if field := method.Input().Fields().ByName("namespace"); field != nil && method.Name() != "DeleteNamespace" {
		request.Set(field, protoreflect.ValueOfString("default"))
	}
	if field := method.Input().Fields().ByName("workflow_id"); field != nil && method.Input().Fields().ByName("activity_id") != nil {
		request.Set(field, protoreflect.ValueOfString("w")) // without it, a standalone activity is meant
	}
	return request
}
