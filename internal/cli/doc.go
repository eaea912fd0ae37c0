// Package cli is the command line of Carillon.
//
// The file of a command is named after it, such as schedule_create.go. A command of a few lines is in the file of its noun
// (schedule.go, run.go, cluster.go, dlq.go) or beside its opposite (schedule_skip.go); roles.go has the commands that run
// one role. Other files are what commands share.
//
// [Main] runs one command line in an [Env], which holds what a command takes from its process: streams, environment,
// clock. No command takes these from package os, so that tests run whole commands side by side.
//
// Three kinds of command share the tree. The roles (server, frontend, generator, invoker, backfiller, matching, worker) run until
// they are told to stop; internal/roles builds and runs them. The schedule commands are clients: one request, one answer,
// one exit code. What a user sees of schedules is rendered by internal/cli/render, and the live view of the demo by
// internal/cli/live. Settings come from flags, environment and file by one mechanism, internal/cli/flagconf. The files of
// other schedulers are read by internal/importer.
//
// Only the binary imports this package and the ones below it. They hold no decision about schedules.
//
// The package may import everything.
package cli
