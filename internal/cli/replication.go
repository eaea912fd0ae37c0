package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/internal/site"
	"github.com/carillon-scheduler/carillon/subjects"
)

// replicationCommand runs the role replication on its own.
func (a *app) replicationCommand() *cobra.Command {
	var http httpOptions
	cmd := &cobra.Command{
		Use:   "replication [flags]",
		Short: "Run the role that keeps the two sites of an installation together",
		Long: `Runs the role that keeps the two sites of an installation together, on the NATS
cluster of one of them. Each site needs at least one process with it; carillon
server has it too. It does nothing until carillon site link has made two sites of an
installation. It is the only role that deletes streams, so its NATS user must be
allowed to.`,
		Example: "  carillon replication --nats nats://n1:4222,nats://n2:4222,nats://n3:4222",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runAlone(cmd.Context(), subjects.RoleReplication, roleGrace, http,
				func(_ context.Context, log *slog.Logger, conn *roles.Connection, _ *site.Elsewhere) (roles.Role, error) {
					return a.replication(conn, log)
				})
		},
	}
	http.define(cmd)
	return cmd
}

func (a *app) replication(conn *roles.Connection, log *slog.Logger) (roles.Role, error) {
	return roles.Replication(conn, a.global.names, log, readBuild().semantic())
}
