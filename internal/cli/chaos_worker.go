package cli

import (
	"context"
	"errors"
	"log/slog"

	"github.com/carillon-scheduler/carillon/internal/chaos"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/worker"
)

// runChaosWorker runs a worker as the worker command does, whose actions note in a ledger that they run.
func (a *app) runChaosWorker(ctx context.Context, ledger string) (err error) {
	closeLedger := func() error { return nil }
	defer func() { err = errors.Join(err, closeLedger()) }()
	config := worker.Config{Namespace: a.global.namespace, Prefix: a.global.prefix, TaskQueue: chaos.TaskQueue}
	return a.runAlone(ctx, workerRole, worker.DefaultDrainTimeout+roleGrace, httpOptions{},
		func(log *slog.Logger, conn *roles.Connection) (roles.Role, error) {
			config.Logger = log
			w, err := worker.New(conn.Conn, config)
			if err != nil {
				return roles.Role{}, err
			}
			if closeLedger, err = chaos.RegisterWork(w, ledger); err != nil {
				return roles.Role{}, err
			}
			return roles.Role{Name: "worker", Run: w.Run}, nil
		})
}
