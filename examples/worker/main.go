// Command worker is a complete worker, to copy and to change: two actions, middleware, and a clean end. Its tests show how
// handlers are tested without a server. docs/workers.md explains it.
//
//	carillon server &
//	go run ./examples/worker
//	carillon schedule create invoice --every 1m --type charge --task-queue billing --input '{"customer": "ann", "cents": 1999}'
//	carillon schedule create export --every 10s --type export --task-queue billing
//
// The program may import worker, and nothing else of Carillon.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/worker"
)

func main() {
	url := flag.String("nats", nats.DefaultURL, "`URL` of the NATS server")
	flag.Parse()
	if err := run(*url); err != nil {
		slog.Error("the worker has failed", "error", err)
		os.Exit(1)
	}
}

// run serves the task queue until the process is asked to end.
func run(url string) error {
	nc, err := nats.Connect(url, nats.MaxReconnects(-1)) // the worker survives any outage of NATS
	if err != nil {
		return err
	}
	defer nc.Close()
	w, err := newWorker(nc)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return w.Run(ctx)
}

// newWorker registers the handlers.
func newWorker(nc *nats.Conn) (*worker.Worker, error) {
	w, err := worker.New(nc, worker.Config{
		TaskQueue:         "billing",
		Concurrency:       50,                          // runs at once, of all types
		ConcurrencyByType: map[string]int{"charge": 5}, // what the payment service can bear
		Middleware:        []worker.Middleware{logged},
	})
	if err != nil {
		return nil, err
	}
	shop := &shop{payments: newFakePayments(), orders: 1_000}
	worker.Handle(w, "charge", shop.charge)
	worker.Handle(w, "export", shop.export)
	return w, nil
}
