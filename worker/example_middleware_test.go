package worker_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
)

// Middleware sees every attempt. The first in the list is the outermost.
func ExampleMiddleware() {
	logged := func(next worker.Handler) worker.Handler {
		return func(ctx context.Context, run *worker.Run) (any, error) {
			fmt.Println("begin", run.Type, "attempt", run.Attempt)
			result, err := next(ctx, run)
			fmt.Println("end:", result, err)
			return result, err
		}
	}
	final := func(next worker.Handler) worker.Handler { // what is missing will be missing at the next attempt too
		return func(ctx context.Context, run *worker.Run) (any, error) {
			result, err := next(ctx, run)
			if errors.Is(err, fs.ErrNotExist) {
				err = worker.NonRetryable(err)
			}
			return result, err
		}
	}
	config := worker.Config{TaskQueue: "reports", Middleware: []worker.Middleware{logged, final}}

	handler := func(context.Context, *worker.Run) (any, error) { return "done", nil }
	worker.Trial{ // as a worker with that configuration would
		Handler: handler, Middleware: config.Middleware, Request: schedule.ActionRequest{Type: "report"},
	}.Execute(context.Background())
	// Output:
	// begin report attempt 1
	// end: done <nil>
}

// A panic is a failure of type "panic", with the stack in its details, and is tried again as the retry policy says. Who wants
// to have it otherwise recovers in middleware.
func ExampleMiddleware_recover() {
	recovered := func(next worker.Handler) worker.Handler {
		return func(ctx context.Context, run *worker.Run) (result any, err error) {
			defer func() {
				if p := recover(); p != nil {
					err = &worker.Error{Type: "bug", Message: fmt.Sprint(p), NonRetryable: true}
				}
			}()
			return next(ctx, run)
		}
	}
	result := worker.Trial{
		Handler:    func(context.Context, *worker.Run) (any, error) { panic("no rows") },
		Middleware: []worker.Middleware{recovered},
		Logger:     slog.New(slog.DiscardHandler),
	}.Execute(context.Background())
	fmt.Println(result.Completion.Status, result.Completion.Failure.Type, result.Completion.Failure.Message)
	// Output: failed bug no rows
}

// Measuring needs no more than what OpenTelemetry offers.
func ExampleMiddleware_metrics() {
	took, err := otel.Meter("example.com/reports").Float64Histogram("reports.attempt.duration", metric.WithUnit("s"))
	if err != nil {
		fmt.Println(err)
	}
	measured := func(next worker.Handler) worker.Handler {
		return func(ctx context.Context, run *worker.Run) (any, error) {
			began := time.Now()
			result, err := next(ctx, run)
			took.Record(ctx, time.Since(began).Seconds(), metric.WithAttributes(
				attribute.String("type", run.Type), attribute.Bool("failed", err != nil),
			))
			return result, err
		}
	}
	nc, err := nats.Connect(os.Getenv("NATS_URL"), nats.MaxReconnects(-1))
	if err != nil {
		return
	}
	defer nc.Close()
	w, err := worker.New(nc, worker.Config{TaskQueue: "reports", Middleware: []worker.Middleware{measured}})
	if err != nil {
		fmt.Println(err)
	}
	worker.Handle(w, "report", func(context.Context, struct{}) (string, error) { return "done", nil })
}

// A schedule hands the result of each success to the next run: here, how far the export has come.
func ExampleLastResult() {
	export := worker.HandlerOf(func(ctx context.Context, _ struct{}) (int, error) {
		row, _, err := worker.LastResult[int](ctx) // 0 at first
		if err != nil {
			return 0, err
		}
		return row + 100, nil
	})
	result := worker.Trial{
		Handler: export, Request: schedule.ActionRequest{LastSuccess: []byte("300")},
	}.Execute(context.Background())
	fmt.Println(string(result.Completion.Result))
	// Output: 400
}
