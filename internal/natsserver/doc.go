// Package natsserver runs a NATS server with JetStream inside this process, so that Carillon works without a NATS installation.
// [Start] returns when the server is ready for use, and [Server.Shutdown] when nothing of it is left.
//
// The package knows how to start a NATS server safely. By default the server listens on loopback, and syncs every write before it
// acknowledges it. Only one process may use a data folder, and the log goes to slog. The package knows nothing of schedules:
// internal/topology makes the streams and buckets. The command line and the tests import it. A pool must never do so, because it
// works the same on a NATS cluster elsewhere.
//
// The package may import schedule, internal/flood and internal/loopback.
package natsserver
