// Package access finds out who sends a request to the console, and how much they may send. NATS decides what they may do.
//
// There are three ways, and [Config] chooses one:
//
//   - Everybody who gets through acts as the process. That is for an address that only this machine reaches.
//   - People log in with the credentials of a NATS user. A session remembers the credentials, in memory, under a random number that only the browser
//     knows. A program sends its credentials with each request. Either way, requests go to NATS over a connection of that user.
//   - A proxy has found out who somebody is, and says so in a header. That counts only if the request comes from an address of the proxy. The rights are
//     those of the process.
//
// [Access] stands around all other handlers. They ask [Of] who has sent a request.
//
// Nothing here may end in a log or in an error: neither credentials, nor the numbers of sessions.
//
// Only package console imports this one. It may import console/internal/refusal, schedule and internal/callers. It must never decide what a user may do.
package access
