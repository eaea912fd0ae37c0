// Package bus is what the roles need of JetStream to send each other messages: few operations, each of which either
// happens or does not, and whose outcome may be unknown to who asked.
//
// [NATS] is the bus of a connection. The simulation (internal/simulation) has another, with faults; that is why the
// roles do not use the client library directly, and why the interface must stay small: what is added here has to be
// modelled there, and compared with the server.
//
// The package knows streams, subjects and headers, not what is sent. Reads for people, such as the event history and
// the state of task queues, do not belong here: they ask NATS themselves.
package bus
