package chaos

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	sdkclient "go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"

	"github.com/carillon-scheduler/carillon/internal/sleep"
)

// WorkflowsCommand is the hidden command of the program that runs the worker of workflows: [RunWorkflowWorker]. Its argument are the addresses of
// the gateways, separated by commas.
const WorkflowsCommand = "chaos-sdk"

// The workflows of a run: what they are called, and what each of them waits for.
const (
	journeyType = "journey"
	signalName  = "continue"
	signals     = 2
	updateName  = "book"

	excursionType = "excursion"
	excursionRuns = 2
)

// registry is a worker or a replayer.
type registry interface {
	RegisterWorkflowWithOptions(code any, options workflow.RegisterOptions)
}

func registerWorkflows(r registry) {
	r.RegisterWorkflowWithOptions(journey, workflow.RegisterOptions{Name: journeyType})
	r.RegisterWorkflowWithOptions(excursion, workflow.RegisterOptions{Name: excursionType})
}

// leg is a signal: the number of the leg that a journey may begin with it. Each attempt to send it has its own text.
type leg struct {
	Number int
	Try    string
}

// RunWorkflowWorker runs a worker on Temporal's SDK until ctx ends.
func RunWorkflowWorker(ctx context.Context, log *slog.Logger, addresses string) error {
	c, err := sdkclient.NewLazyClient(GatewaysAt(strings.Split(addresses, ","), log))
	if err != nil {
		return err
	}
	defer c.Close()
	for {
		w := sdkworker.New(c, taskQueue, sdkworker.Options{})
		registerWorkflows(w)
		w.RegisterActivity(travel)
		err := w.Start()
		if err == nil {
			<-ctx.Done()
			w.Stop()
			return nil
		}
		log.WarnContext(ctx, "the worker of workflows does not start yet", "error", err) // no gateway is up
		if sleep.For(ctx, time.Second) != nil {
			return nil
		}
	}
}

// GatewaysAt are the options of a client of Temporal's SDK that spreads its requests over gateways: the one at each address, HOST:PORT, without
// TLS. A gateway that cannot be reached gets none.
func GatewaysAt(addresses []string, log *slog.Logger) sdkclient.Options {
	var state resolver.State
	for _, address := range addresses {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}})
	}
	gateways := manual.NewBuilderWithScheme("gateways")
	gateways.InitialState(state)
	return sdkclient.Options{
		HostPort: "gateways:///", Logger: sdklog.NewStructuredLogger(log),
		ConnectionOptions: sdkclient.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithResolvers(gateways)}},
	}
}

// withTravel returns a context for the activity.
func withTravel(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second, HeartbeatTimeout: 5 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second},
	})
}

// journey travels, waits for a signal before each further leg, and rests for a moment after it. An excursion is its second leg, and it does not
// end before it is booked. Its result is how many legs it has had.
func journey(ctx workflow.Context) (int, error) {
	ctx = withTravel(ctx)
	booked := false
	err := workflow.SetUpdateHandler(ctx, updateName, func(ctx workflow.Context, legs int) (int, error) {
		booked = true
		return legs, workflow.ExecuteActivity(withTravel(ctx), travel).Get(ctx, nil)
	})
	if err != nil {
		return 0, err
	}
	begun := map[int]bool{}
	workflow.Go(ctx, func(ctx workflow.Context) {
		for {
			var next leg
			workflow.GetSignalChannel(ctx, signalName).Receive(ctx, &next)
			begun[next.Number] = true
		}
	})
	for legs := 0; ; legs++ {
		if err := travelLeg(ctx, legs); err != nil {
			return legs, err
		}
		if legs == signals {
			return legs, workflow.Await(ctx, func() bool { return booked && workflow.AllHandlersFinished(ctx) })
		}
		if err := workflow.Await(ctx, func() bool { return begun[legs] }); err != nil {
			return legs, err
		}
		if err := workflow.Sleep(ctx, 500*time.Millisecond); err != nil {
			return legs, err
		}
	}
}

func travelLeg(ctx workflow.Context, number int) error {
	if number != 1 {
		return workflow.ExecuteActivity(ctx, travel).Get(ctx, nil)
	}
	child := workflow.WithWorkflowID(ctx, excursionOf(workflow.GetInfo(ctx).WorkflowExecution.ID))
	return workflow.ExecuteChildWorkflow(child, excursionType, excursionRuns-1).Get(ctx, nil)
}

// excursionOf returns the ID of the child of a journey.
func excursionOf(journey string) string { return journey + "-" + excursionType }

// excursion travels, and continues as new as often as it is told.
func excursion(ctx workflow.Context, again int) error {
	if err := workflow.ExecuteActivity(withTravel(ctx), travel).Get(ctx, nil); err != nil {
		return err
	}
	if again > 0 {
		return workflow.NewContinueAsNewError(ctx, excursionType, again-1)
	}
	return nil
}

// travel is the activity. Its first attempt fails.
func travel(ctx context.Context) error {
	if activity.GetInfo(ctx).Attempt == 1 {
		return errors.New("missed the train")
	}
	activity.RecordHeartbeat(ctx)
	return sleep.For(ctx, 50*time.Millisecond)
}
