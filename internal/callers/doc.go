// Package callers finds out what the clients of a gateway and of a console may do. NATS decides that: they have no users of their own.
//
// A client sends the credentials of a NATS user. [Callers] opens a connection to NATS with them. If NATS refuses the connection, nobody is
// known by these credentials.
//
//   - [Callers.May] is for requests that the gateway answers itself. A right is the permission to publish on a subject, such as
//     carillon.api.billing.workflow.read. Callers asks for it by trying: it sends a message with a random number on that subject, as the user.
//     If the gateway hears the number on its own connection, NATS has let the message through, over all permissions, exports and imports
//     there are. Nothing else happens with such a message.
//   - [Callers.Use] is for requests that go on to NATS in the name of the user, over the same connection. NATS lets them through or not.
//
// [NewContext] says in whose name this process calls a method of the gateway.
//
// # What it keeps
//
// Connections and answers are kept for a while, in memory and bounded: see [Callers]. Credentials are not logged, and are no text of an error.
//
// Only the gateway and the console import this package, internal/roles, which brings them together, and internal/cli for the connections of both. It may import client, schedule, subjects, internal/bus and
// internal/flood. It must never know which method needs which right.
package callers
