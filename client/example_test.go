package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
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
	if errors.Is(err, client.ErrNotFound) {
		fmt.Println(err)
	}
	// Output: id: namespace "default" has no schedule "nightly-report"
}

func ExampleClient_Create() {
	conn, stop := startCarillon()
	defer stop()
	ctx := context.Background()

	carillon, err := client.New(conn, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	report := schedule.CreateRequest{ID: "report", Schedule: schedule.Schedule{
		Spec: schedule.Spec{Cron: []string{"0 6 * * mon-fri"}, TimeZone: "Europe/Berlin"},
		Action: schedule.Action{
			Type: "report", TaskQueue: "reports", Input: json.RawMessage(`{"format": "pdf"}`),
			RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 3},
		},
	}}
	if _, err = carillon.Create(ctx, report); err != nil {
		log.Fatal(err)
	}
	_, err = carillon.Create(ctx, report)
	fmt.Println("taken:", errors.Is(err, client.ErrAlreadyExists))

	report.ID, report.Spec.Cron[0] = "report-2", "0 25 * * *"
	_, err = carillon.Create(ctx, report)
	if refused, ok := errors.AsType[*schedule.Error](err); ok {
		fmt.Println(refused.Code, "at", refused.Field)
	}
	// Output:
	// taken: true
	// invalid_argument at spec.cron[0]
}

func ExampleClient_Describe() {
	conn, stop := startCarillon()
	defer stop()
	ctx := context.Background()

	carillon, err := client.New(conn, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	createReport(ctx, carillon)
	report, err := carillon.Describe(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Action.Type, report.Spec.Cron, "paused:", report.State.Paused)
	fmt.Println("has run", report.Info.ActionCount, "times")
	// Output:
	// report [0 6 * * *] paused: false
	// has run 0 times
}

// Whoever has read a schedule changes it only if nobody else has done so meanwhile.
func ExampleClient_Update() {
	conn, stop := startCarillon()
	defer stop()
	ctx := context.Background()

	carillon, err := client.New(conn, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	createReport(ctx, carillon)
	report, err := carillon.Describe(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	if err := carillon.Pause(ctx, "report", "somebody else was faster"); err != nil {
		log.Fatal(err)
	}
	change := schedule.UpdateRequest{ID: report.ID, Schedule: report.Schedule, ConflictToken: report.ConflictToken}
	change.Spec.Cron = []string{"0 7 * * *"}
	_, err = carillon.Update(ctx, change)
	if errors.Is(err, client.ErrFailedPrecondition) { // read it again, and make the change anew
		report, err = carillon.Describe(ctx, "report")
		if err != nil {
			log.Fatal(err)
		}
		change.Schedule, change.ConflictToken = report.Schedule, report.ConflictToken
		change.Spec.Cron = []string{"0 7 * * *"}
		report, err = carillon.Update(ctx, change)
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Spec.Cron, "paused:", report.State.Paused)
	// Output: [0 7 * * *] paused: true
}

func ExampleClient_TriggerAndWait() {
	conn, stop := startCarillon()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	carillon, err := client.New(conn, client.Config{})
	if err != nil {
		log.Fatal(err)
	}
	createReport(ctx, carillon)
	run, err := carillon.TriggerAndWait(ctx, schedule.TriggerRequest{
		ID: "report", Trigger: schedule.Trigger{Input: json.RawMessage(`{"format": "csv"}`)},
	})
	if err != nil {
		log.Fatal(err) // there is no run
	}
	fmt.Println(run.Status, string(run.Result))
	// Output: completed {"file":"report.csv"}
}

func ExampleClient_Watch() {
	conn, stop := startCarillon()
	defer stop()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	carillon, err := client.New(conn, client.Config{Identity: "ann@desk"})
	if err != nil {
		log.Fatal(err)
	}
	events, err := carillon.Watch(ctx, "report") // what happens from now on
	if err != nil {
		log.Fatal(err)
	}
	createReport(ctx, carillon)
	if err := carillon.Pause(ctx, "report", "year-end closing"); err != nil {
		log.Fatal(err)
	}
	for event, err := range events {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Kind, "by", event.Identity)
		if event.Kind == schedule.EventPaused {
			break
		}
	}
	// Output:
	// created by ann@desk
	// paused by ann@desk
}

// createReport creates a schedule for the examples.
func createReport(ctx context.Context, carillon *client.Client) {
	_, err := carillon.Create(ctx, schedule.CreateRequest{ID: "report", Schedule: schedule.Schedule{
		Spec:   schedule.Spec{Cron: []string{"0 6 * * *"}},
		Action: schedule.Action{Type: "report", TaskQueue: "reports", Input: json.RawMessage(`{"format": "pdf"}`)},
	}})
	check(err)
}

// report is the action of the examples.
func report(_ context.Context, in struct{ Format string }) (map[string]string, error) {
	return map[string]string{"file": "report." + in.Format}, nil
}

var quiet = slog.New(slog.DiscardHandler)

// startCarillon runs a NATS server, every role, and a worker.
func startCarillon() (conn *nats.Conn, stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	dir, err := os.MkdirTemp("", "carillon-example-")
	check(err)
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
	roles, err := pools(conn, js, store, subjects.Default())
	check(err)
	w, err := worker.New(conn, worker.Config{TaskQueue: "reports", Logger: quiet})
	check(err)
	worker.Handle(w, "report", report)
	end := together(append(roles, w))
	return conn, func() {
		check(end())
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
