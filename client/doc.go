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
// Every error is a *[schedule.Error]. [errors.Is] matches it with one of the names here, such as [ErrNotFound]; [errors.As] finds its field
// and message. If the context ended before there was an answer, the error also matches the context's error.
//
// NATS does not answer a request that its user may not make. With [Refusals], such a request fails at once, and says which permission is missing.
//
// # What is tried again
//
// The client tries a request again if there was no answer, if the answer was "unavailable", or if it was refused with a time to wait. It
// makes at most [Config.MaximumAttempts] attempts. Retries are safe: reads change nothing, and changes have a request ID and are carried
// out once. A caller that repeats a change sets a request ID of its own.
//
// # Who asks
//
// Every request names its caller: [Config.Identity]. The name is for the event history and proves nothing.
//
// # What happens
//
// [Client.Events] reads the event history; [Client.Watch] delivers events as they happen. Both deliver each event once.
// [Client.TriggerAndWait] and [Client.WaitForRun] wait for the end of one run.
//
// Any package may import this one. It must use only the API: it knows subjects and headers, but no streams and buckets. Events are part of
// the API: their subjects are where they are published.
//
// The package may import schedule, subjects, internal/apitext and internal/telemetry.
package client
