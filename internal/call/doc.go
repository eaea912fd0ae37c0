// Package call makes and serves requests between the processes of an installation: a protobuf message goes over NATS to whoever
// serves its subject, and a protobuf message comes back.
//
// An error of the server comes back as what it was: a value of package serviceerror, with its details. It travels as a
// google.rpc.Status, which a header marks.
//
// Three rules hold for every request:
//
//   - It is sent once. [Ask] sends it again only if NATS says that nobody has received it, because a role may be restarting. [Read], for
//     requests that change nothing, also sends it again if the answer does not come.
//   - The server learns how much time the caller has left, and does no work for a caller that has stopped waiting.
//   - The trace of the caller goes on in the server.
//
// The package knows no subject and no message. It must never decide what a request means. It may import schedule, internal/bus,
// internal/flood, internal/sleep and internal/telemetry.
package call
