package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (a *app) clusterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Look after an installation and what it has stored",
		Long: `Looks after an installation and what it has stored. These commands talk to NATS
directly and need no other process of Carillon.`,
		Example: `  carillon cluster health
  carillon cluster info
  carillon cluster check
  carillon cluster check --repair`,
	}
	makeParent(cmd)
	cmd.AddCommand(
		a.clusterInfoCommand(), a.clusterHealthCommand(),
		a.clusterCheckCommand(), a.clusterBackupCommand(), a.clusterRestoreCommand(), a.clusterRecreateCommand(),
	)
	return cmd
}

// callCluster connects to NATS, reads the facts of the installation, makes a call and closes the connection.
func (a *app) callCluster(ctx context.Context, call func(context.Context, jetstream.JetStream, topology.Facts) error) error {
	conn, js, err := a.connectOwner()
	if err != nil {
		return err
	}
	defer conn.Close()
	facts, err := a.clusterFacts(ctx, js)
	if err != nil {
		return err
	}
	return call(ctx, js, facts)
}

// clusterFacts reads the settings that all processes of the installation share. Unlike topology.Ensure it creates nothing: a wrong prefix
// is more likely than a new installation.
func (a *app) clusterFacts(ctx context.Context, js jetstream.JetStream) (topology.Facts, error) {
	facts, err := topology.Read(ctx, js, a.global.names)
	if schedule.CodeOf(err) == schedule.CodeNotFound {
		return facts, schedule.Errorf(schedule.CodeFailedPrecondition, "there is no bucket %s: no installation has this prefix", a.global.names.ClusterBucket())
	}
	if err != nil {
		return facts, fmt.Errorf("read the facts of the installation: %w", err)
	}
	if facts.FormatVersion != topology.FormatVersion {
		return facts, schedule.Errorf(schedule.CodeFailedPrecondition,
			"the installation stores format version %d, and this program knows version %d", facts.FormatVersion, topology.FormatVersion)
	}
	return facts, nil
}

func (a *app) clusterInfoCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "info [flags]",
		Short: "Show what an installation consists of",
		Long: `Shows what an installation consists of: the NATS servers, the facts that all processes
agree on, its streams and buckets with their sizes and leaders, the frontends and
processes that answer with the time zone data that each has, and its task queues.`,
		Example: `  carillon cluster info
  carillon cluster info -o json | jq '.streams[] | {name, bytes, leader}'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			facts, err := a.gatherFacts(cmd.Context())
			if err != nil {
				return err
			}
			return a.print(output, facts, func(w io.Writer) error { return render.Cluster(w, facts, a.env.Zone, a.view()) })
		},
	}
	output.define(cmd)
	return cmd
}
