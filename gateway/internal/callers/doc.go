// Package callers finds out what the clients of a gateway may do. NATS decides that: the gateway has no users of its own.
//
// A client sends the credentials of a NATS user. [Callers] opens a connection to NATS with them. If NATS refuses the connection, nobody is
// known by these credentials. A right is the permission to publish on a subject, such as carillon.api.billing.workflow.read. Callers asks
// for it by trying: it sends a message with a random number on that subject, as the user. If the gateway hears the number on its own
// connection, NATS has let the message through, over all permissions, exports and imports there are. Nothing else happens with such a
// message, and no request of a client is ever sent as the user.
//
// # What it keeps
//
// Connections and answers are kept for a while, in memory and bounded: see [Callers]. Credentials are not logged, and are no text of an error.
//
// Only the gateway imports this package. It may import schedule, subjects, internal/bus and internal/flood. It must never know which method needs which
// right.
package callers
