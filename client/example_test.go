package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/frontend"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

func Example() {
	conn, stop := startCarillon() // elsewhere: nats.Connect(url)
	defer stop()
	ctx := context.Background()

	carillon, err := client.New(conn, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = carillon.Create(ctx, schedule.CreateRequest{
		ID: "nightly-report",
		Schedule: schedule.Schedule{
			Spec: schedule.Spec{
				Calendars: []schedule.Calendar{{Hour: "2", Minute: "30", DayOfWeek: "mon-fri"}},
				TimeZone:  "Europe/Berlin",
			},
			Action:   schedule.Action{Type: "report", TaskQueue: "reports"},
			Policies: schedule.Policies{Overlap: schedule.OverlapBufferOne},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := carillon.Pause(ctx, "nightly-report", "year-end closing"); err != nil {
		log.Fatal(err)
	}
	report, err := carillon.Describe(ctx, "nightly-report")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.ID, report.State.Paused, report.State.Notes)
	// Output: nightly-report true year-end closing
}

func ExampleClient_All() {
	conn, stop := startCarillon()
	defer stop()
	ctx := context.Background()

	carillon, err := client.New(conn, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	for _, id := range []string{"report-eu", "cleanup", "report-us"} {
		_, err := carillon.Create(ctx, schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{
			Spec:   schedule.Spec{Cron: []string{"@daily"}},
			Action: schedule.Action{Type: "report", TaskQueue: "reports"},
		}})
		if err != nil {
			log.Fatal(err)
		}
	}
	for description, err := range carillon.All(ctx, "report-") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(description.ID)
	}
	// Output:
	// report-eu
	// report-us
}

func ExampleClient_Trigger() {
	conn, stop := startCarillon()
	defer stop()

	carillon, err := client.New(conn, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = carillon.Trigger(context.Background(), schedule.TriggerRequest{ID: "nightly-report"})
	if errors.Is(err, &schedule.Error{Code: schedule.CodeNotFound}) {
		fmt.Println(err)
	}
	// Output: id: namespace "default" has no schedule "nightly-report"
}

// startCarillon runs a NATS server and a frontend.
func startCarillon() (conn *nats.Conn, stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "carillon-example-")
	check(err)
	quiet := slog.New(slog.DiscardHandler)
	server, err := natsserver.Start(ctx, natsserver.Options{Dir: dir, Port: -1, Sync: natsserver.SyncInterval, Logger: quiet})
	check(err)
	conn, err = server.Connect()
	check(err)
	js, err := jetstream.New(conn)
	check(err)
	facts, err := topology.Ensure(ctx, js, subjects.Default(), topology.Settings{Shards: 1})
	check(err)
	store, err := kv.Open(ctx, js, subjects.Default(), facts.Shards)
	check(err)
	api, err := frontend.New(frontend.Config{Conn: conn, Store: store, Logger: quiet})
	check(err)
	running, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Run(running) }()
	return conn, func() {
		end()
		check(<-ended)
		conn.Close()
		server.Shutdown()
		check(os.RemoveAll(dir))
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
