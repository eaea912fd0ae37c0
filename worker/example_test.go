package worker_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/worker"
)

// A worker for one task queue, with one action, that runs until it is interrupted.
func Example() {
	type input struct {
		Month string `json:"month"`
	}
	type result struct {
		Rows int `json:"rows"`
	}
	nc, err := nats.Connect(nats.DefaultURL, nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	w, err := worker.New(nc, worker.Config{TaskQueue: "reports"})
	if err != nil {
		log.Fatal(err)
	}
	worker.Handle(w, "monthly_report", func(ctx context.Context, in input) (result, error) {
		if in.Month == "" {
			return result{}, worker.InvalidInput("month is missing")
		}
		for row := range 312 {
			if err := worker.Heartbeat(ctx, fmt.Sprintf("row %d", row)); err != nil {
				return result{}, err // canceled, timed out, or the worker stops
			}
		}
		return result{Rows: 312}, nil
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := w.Run(ctx); err != nil {
		log.Print(err)
	}
}
