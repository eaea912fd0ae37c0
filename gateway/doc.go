// Package gateway lets the clients of Temporal speak to Carillon: their command line, their SDKs and their web UI, unchanged. It is a gRPC
// server with Temporal's WorkflowService and OperatorService, health and reflection, and an HTTP server with the same methods as JSON.
//
// # What it does
//
// The gateway translates. For each method it checks what needs no state of an execution (fields that are missing, text and payloads that are
// too long, search attributes of another type than that in the namespace, a task token that does not fit its request), and then passes the
// request on:
//
//   - about an execution: to the owner of its shard, with Temporal's own messages, by internal/call;
//   - a poll: to internal/offer, which finds it a task;
//   - about the workers that send heartbeats: to gateway/internal/roster, which tells them to all gateways;
//   - to change a namespace: to the frontend, by package client. The gateway itself only reads namespaces;
//   - about schedules: to the frontend, by package client. internal/scheduleproto knows both forms of a schedule.
//
// A method that is not here answers Unimplemented, in a sentence that names the feature and says what to do instead: one table has them. What
// [Gateway] tells about itself in GetSystemInfo is only what works.
//
// # What a client sends
//
// It is a claim. Who somebody is and what they may do, NATS decides: internal/callers asks it, and one table says what each method needs. A
// namespace must exist, and the namespace of a task token must be that of the request. A request that names none is about that of its
// token, and its client needs the right there. Every word of a client that becomes part of a NATS subject is escaped, so no client reaches beyond its namespace.
//
// # At a standby
//
// Where the installation is active at another site (internal/site), the gateway answers what reads, and refuses the rest with NamespaceNotActive. A poll
// waits its time and gets no task, so workers may be connected before the site becomes active.
//
// # What it keeps
//
// Nothing that another gateway would need and does not have. Any number of them may run, and any may die at any instruction. [Gateway.Run]
// stops in order: polls end with an empty answer, and requests in progress are finished, within [Config.Drain].
//
// Only internal/roles imports this package. It may import internal/callers, gateway/internal/roster, client, execution, kv, schedule, subjects,
// internal/attributes, internal/bus, internal/call, internal/flood, internal/metrics, internal/namespaces, internal/offer, internal/owners,
// internal/scheduleproto, internal/search/query, internal/site, internal/telemetry and internal/webserver, never a pool. It must never hold a rule about executions: those live
// in package execution.
package gateway
