// Package client is the Go client of Carillon's API.
//
// A [Client] speaks for one namespace over a NATS connection that the caller owns:
//
//	carillon, err := client.New(conn, client.Config{Namespace: "payments"})
//	…
//	_, err = carillon.Create(ctx, schedule.CreateRequest{ID: "nightly", Schedule: …})
//
// Requests and replies are the types of package schedule. Errors are a *[schedule.Error], whose code says what to do:
//
//	if errors.Is(err, &schedule.Error{Code: schedule.CodeNotFound}) { … }
//
// Where the context ended before there was an answer, the error matches the error of the context as well.
//
// # What is tried again
//
// A request that no frontend has received is tried again a few times. One whose outcome is not known, because the answer
// is missing or was unavailable, is tried again if it may be carried out twice without harm: reads, and changes that
// carry a request ID and are carried out once for it, which is all of them but delete. Delete then returns unavailable,
// and the caller decides. A caller that repeats a change on its own gives it a request ID of its own.
//
// # Who asks
//
// Every request says who makes it: [Config.Identity]. It stands in the event history, and proves nothing.
//
// # What happens
//
// [Client.Events] reads the event history, [Client.Watch] delivers what happens while it does. Both give an event once.
//
// Everybody may import this package. It must never reach around the API: it knows subjects and headers, and neither
// streams nor buckets. Events are part of the API: their subjects are where they are published.
package client
