package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/cli/flagconf"
	"github.com/carillon-scheduler/carillon/internal/loopback"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/schedule"
)

// gatewayPatience bounds each call to the gateway, except the wait for a result.
const gatewayPatience = 15 * time.Second

func (a *app) workflowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "workflow",
		Short: "Start workflows, look at them, signal, reset and end them",
		Long: `Starts workflows, shows, asks, signals, resets and ends them, through a gateway.
Their code runs in workers made with one of Temporal's SDKs. Temporal's own command
line does all this and more, at the same address.`,
		Example: `  carillon workflow start order-17 --type Order --task-queue orders --input '[{"item": 3}]' --wait
  carillon workflow list --query "ExecutionStatus = 'Running'"
  carillon workflow show order-17`,
	}
	makeParent(cmd)
	cmd.AddCommand(a.workflowStartCommand(), a.workflowListCommand(), a.workflowDescribeCommand(), a.workflowShowCommand(), a.workflowResultCommand(),
		a.workflowSignalCommand(), a.workflowCancelCommand(), a.workflowTerminateCommand(), a.workflowResetCommand(),
		a.workflowQueryCommand(), a.workflowStackCommand(), a.workflowTraceCommand())
	return cmd
}

// gatewayFlags say where the gateway is, and who asks.
type gatewayFlags struct {
	address string
	apiKey  string
	tls     bool
}

func (g *gatewayFlags) define(cmd *cobra.Command) {
	addFlags(cmd, "Gateway", func(flags *pflag.FlagSet) {
		flags.StringVar(&g.address, "address", defaultGateway, "`HOST:PORT` where a gateway answers over gRPC; also TEMPORAL_ADDRESS")
		flags.StringVar(&g.apiKey, "api-key", "", "show it `KEY`: NATS-USER:PASSWORD, or the token or bearer JWT of a NATS user; better in the "+
			"environment, also as TEMPORAL_API_KEY")
		flags.BoolVar(&g.tls, "tls", false, "talk to it over TLS, with the files of --tls-ca, --tls-cert and --tls-key")
	})
	// Whoever has set up Temporal's command line need not do it again.
	flagconf.AlsoEnv(cmd, "address", "TEMPORAL_ADDRESS")
	flagconf.AlsoEnv(cmd, "api-key", "TEMPORAL_API_KEY")
	flagconf.AlsoEnv(cmd, "namespace", "TEMPORAL_NAMESPACE")
}

// callGateway connects to the gateway, makes a call and closes the connection.
func (a *app) callGateway(
	ctx context.Context, g gatewayFlags, call func(context.Context, workflowservice.WorkflowServiceClient) error,
) error {
	secure := insecure.NewCredentials()
	if g.tls {
		config, err := a.gatewayTLS()
		if err != nil {
			return err
		}
		secure = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(g.address, grpc.WithTransportCredentials(secure), grpc.WithUnaryInterceptor(boundCall))
	if err != nil {
		return usagef("--address: %w", err)
	}
	defer conn.Close()
	if g.apiKey != "" {
		if host, _, err := net.SplitHostPort(g.address); !g.tls && (err != nil || !loopback.IsHost(host)) {
			_, _ = fmt.Fprintln(a.env.Stderr, "warning: --api-key is sent unencrypted: give --tls if the gateway has a certificate")
		}
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+g.apiKey)
	}
	return explainGateway(g.address, call(ctx, workflowservice.NewWorkflowServiceClient(conn)))
}

// gatewayTLS reads the files of the flags that also serve for NATS.
func (a *app) gatewayTLS() (config *tls.Config, err error) {
	config = &tls.Config{MinVersion: tls.VersionTLS12}
	if a.global.tlsCA != "" {
		if config.RootCAs, err = readAuthorities("tls-ca", a.global.tlsCA); err != nil {
			return nil, err
		}
	}
	if a.global.tlsCert != "" {
		certificate, err := tls.LoadX509KeyPair(a.global.tlsCert, a.global.tlsKey)
		if err != nil {
			return nil, usagef("--tls-cert: %w", err)
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}

// codeOfStatus gives an error of the gateway the exit code that the same error of the API has.
var codeOfStatus = map[codes.Code]schedule.Code{
	codes.InvalidArgument:    schedule.CodeInvalidArgument,
	codes.NotFound:           schedule.CodeNotFound,
	codes.AlreadyExists:      schedule.CodeAlreadyExists,
	codes.FailedPrecondition: schedule.CodeFailedPrecondition,
	codes.Unavailable:        schedule.CodeUnavailable,
	codes.DeadlineExceeded:   schedule.CodeUnavailable,
	codes.PermissionDenied:   schedule.CodePermissionDenied,
	codes.Unauthenticated:    schedule.CodePermissionDenied,
	codes.ResourceExhausted:  schedule.CodeResourceExhausted,
}

// explainGateway turns an error of gRPC into one of this program, and adds a hint at what to do.
func explainGateway(address string, err error) error {
	told, is := status.FromError(err)
	if err == nil || !is {
		return err
	}
	code, known := codeOfStatus[told.Code()]
	switch {
	case !known:
		return fmt.Errorf("%s (%s)", told.Message(), told.Code())
	case code == schedule.CodeUnavailable:
		return withHint(schedule.Errorf(code, "the gateway at %s: %s", address, told.Message()),
			"start one with carillon server or carillon gateway, or name its --address")
	case told.Code() == codes.Unauthenticated:
		return withHint(schedule.Errorf(code, "%s", told.Message()), "say who you are by --api-key USER:PASSWORD, with a NATS user of the installation")
	case code == schedule.CodeNotFound:
		return withHint(schedule.Errorf(code, "%s", told.Message()), "carillon workflow list shows the workflows; --namespace chooses a namespace")
	}
	return schedule.Errorf(code, "%s", told.Message())
}

// boundCall bounds a call, unless it is a poll, which the gateway answers when something has happened.
func boundCall(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if r, is := request.(*workflowservice.GetWorkflowExecutionHistoryRequest); !is || !r.WaitNewEvent {
		bounded, cancel := context.WithTimeout(ctx, gatewayPatience)
		defer cancel()
		ctx = bounded
	}
	return call(ctx, method, request, reply, conn, options...)
}

// answer is a message of Temporal that can be printed. As JSON it is what Temporal's HTTP API shows: a payload of JSON is that JSON.
type answer[M proto.Message] struct{ of M }

// MarshalJSON encodes the message.
func (a answer[M]) MarshalJSON() ([]byte, error) {
	return temporalproto.CustomJSONMarshalOptions{
		Metadata: map[string]any{common.EnablePayloadShorthandMetadataKey: true},
	}.Marshal(a.of)
}

func answers[M proto.Message](all []M) []answer[M] {
	list := make([]answer[M], len(all))
	for i, message := range all {
		list[i] = answer[M]{message}
	}
	return list
}

// payloadsOf encodes the arguments of a workflow or signal: a JSON list, as in the action of a schedule.
func payloadsOf(input json.RawMessage) (*common.Payloads, error) {
	all, problem := workflows.Arguments(input)
	if problem != nil {
		return nil, usagef("--input: %s", strings.TrimSpace(problem.Path+" "+problem.Message))
	}
	return all, nil
}

// runFlag names one run of a workflow ID.
type runFlag struct{ id string }

func (r *runFlag) define(cmd *cobra.Command) {
	addFlags(cmd, otherGroup, func(flags *pflag.FlagSet) {
		flags.StringVar(&r.id, "run-id", "", "the run `RUN` of the workflow; its newest one if not given")
	})
}

func (r *runFlag) of(workflowID string) *common.WorkflowExecution {
	return &common.WorkflowExecution{WorkflowId: workflowID, RunId: r.id}
}
