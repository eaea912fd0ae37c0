package cli

import (
	"context"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/roles"
)

// roleCommands are the commands that run one role on an existing NATS cluster.
func (a *app) roleCommands() []*cobra.Command {
	return []*cobra.Command{
		a.frontendCommand(),
		a.poolCommand("generator", "Run the role that finds out what is due", (*roles.Cluster).Generator),
		a.invokerCommand(),
		a.poolCommand("backfiller", "Run the role that works on manual requests", (*roles.Cluster).Backfiller),
		a.workerCommand(),
	}
}

func (a *app) poolCommand(name, short string, build func(*roles.Cluster) (roles.Role, error)) *cobra.Command {
	var o clusterOptions
	var http httpOptions
	cmd := &cobra.Command{
		Use:   name + " [flags]",
		Short: short,
		Long: short + `, on an existing NATS cluster. It may start before
NATS does. Any number of processes share the work; one that is told to stop
hands its share over at once.`,
		Example: "  carillon " + name + " --nats nats://n1:4222,nats://n2:4222,nats://n3:4222",
		Args:    exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.runPool(cmd.Context(), name, o, http, build)
		},
	}
	o.define(cmd)
	http.define(cmd)
	return cmd
}

func (a *app) runPool(
	ctx context.Context, name string, o clusterOptions, http httpOptions, build func(*roles.Cluster) (roles.Role, error),
) error {
	return a.runAlone(ctx, name, roleDrain+roleGrace, http, func(log *slog.Logger, conn *roles.Connection) (roles.Role, error) {
		cluster, err := a.openCluster(ctx, log, conn, o, roleDrain)
		if err != nil {
			return roles.Role{}, err
		}
		role, err := build(cluster)
		if err != nil {
			return roles.Role{}, err
		}
		return cluster.Announced(role), nil
	})
}
