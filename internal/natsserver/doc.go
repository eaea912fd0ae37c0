// Package natsserver runs a NATS server with JetStream inside this process, so that Carillon works without one to
// install. [Start] returns when the server is ready to be used, and [Server.Shutdown] when nothing of it is left.
//
// The package knows how a NATS server is started safely: on loopback unless told otherwise, with every write synced
// before it is acknowledged unless told otherwise, one process to a data folder, a log that goes to slog. It knows
// nothing of schedules: the streams and buckets are made by internal/topology. The command line and the tests import
// it; a pool must never do so, since it works the same on a NATS cluster elsewhere.
//
// The package may import schedule and internal/flood.
package natsserver
