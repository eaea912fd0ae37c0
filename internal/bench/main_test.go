package bench

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestMain lets this binary be the program whose worker a run starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 4 && os.Args[1] == WorkflowCommand {
		os.Exit(runWorker(os.Args[2], os.Args[3], os.Args[4]))
	}
	natstest.Main(m)
}

func runWorker(address, namespace, queue string) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := RunWorkflows(ctx, os.Stdout, address, namespace, queue); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
