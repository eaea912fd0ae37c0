package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/archival"
	"github.com/carillon-scheduler/carillon/internal/roles"
	"github.com/carillon-scheduler/carillon/subjects"
)

// archivalOptions are the flags of the commands that archive.
type archivalOptions struct{ roles.ArchivalConfig }

func (o *archivalOptions) define(cmd *cobra.Command) {
	addFlags(cmd, "Archive", func(flags *pflag.FlagSet) {
		flags.StringArrayVar(&o.Allowed, "archive-allow", nil, "let namespaces archive to the bucket `URL`, such as file:///var/lib/archive or s3://NAME, and "+
			"to what is below it; repeatable; jetstream:// is always allowed")
		flags.Float64Var(&o.RunsPerSecond, "archive-runs-per-second", archival.DefaultRunsPerSecond, "archive `N` runs of workflows in a second at most")
		flags.Float64Var(&o.BytesPerSecond, "archive-bytes-per-second", archival.DefaultBytesPerSecond, "write `N` bytes to archives in a second at most")
	})
}

// archivalCommand runs the role that archives on its own.
func (a *app) archivalCommand() *cobra.Command {
	var o archivalOptions
	cmd := a.poolCommand(subjects.RoleArchival, "Run the role that archives closed workflows", func(c *roles.Cluster) (roles.Role, error) {
		return c.Archival(o.ArchivalConfig)
	})
	o.define(cmd)
	return cmd
}
