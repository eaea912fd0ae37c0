// Package client is the Go client of Carillon's API.
//
// A [Client] speaks for one namespace over a NATS connection that the caller owns:
//
//	conn, err := nats.Connect("nats://127.0.0.1:4222")
//	if err != nil {
//		return err
//	}
//	defer conn.Close()
//	carillon, err := client.New(conn, client.Config{Namespace: "payments"})
//	if err != nil {
//		return err
//	}
//	_, err = carillon.Create(ctx, schedule.CreateRequest{
//		ID: "nightly",
//		Schedule: schedule.Schedule{
//			Spec:   schedule.Spec{Cron: []string{"30 2 * * mon-fri"}, TimeZone: "Europe/Berlin"},
//			Action: schedule.Action{Type: "report", TaskQueue: "reports"},
//		},
//	})
//	if errors.Is(err, client.ErrAlreadyExists) {
//		…
//	}
//	run, err := carillon.TriggerAndWait(ctx, schedule.TriggerRequest{ID: "nightly"})
//	if err != nil {
//		return err
//	}
//	fmt.Println(run.Status, string(run.Result))
//
// Requests and replies are the types of package schedule. docs/client.md is a guide.
//
// # Errors
//
// Errors are a *[schedule.Error]. Each matches one of the names here by [errors.Is], such as [ErrNotFound]; [errors.As] finds
// its field and message. Where the context ended before there was an answer, the error matches that of the context as well.
//
// # What is tried again
//
// A request without an answer, or that was unavailable, or refused with a time to wait, is tried again, at most
// [Config.MaximumAttempts] times. That does no harm: reads change nothing, and changes carry a request ID and are carried out
// once for it. A caller that repeats a change on its own gives it a request ID of its own.
//
// # Who asks
//
// Every request says who makes it: [Config.Identity]. It stands in the event history, and proves nothing.
//
// # What happens
//
// [Client.Events] reads the event history, [Client.Watch] delivers what happens while it does. Both give an event once.
// [Client.TriggerAndWait] and [Client.WaitForRun] wait for the end of one run.
//
// Everybody may import this package. It must never reach around the API: it knows subjects and headers, and neither
// streams nor buckets. Events are part of the API: their subjects are where they are published.
//
// The package may import schedule, subjects, internal/apitext and internal/telemetry.
package client
