package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/roles"
)

// searchOptions are the flags of the commands that run a frontend.
type searchOptions struct{ roles.SearchOptions }

func (o *searchOptions) define(cmd *cobra.Command, dirDefault string) {
	addFlags(cmd, "Search index", func(flags *pflag.FlagSet) {
		flags.StringVar(&o.Dir, "search-dir", "", "keep the search index in `DIR`, for this process alone, so that it need not be "+
			"built anew after a restart; by default in "+dirDefault)
		flags.BoolVar(&o.Off, "no-search", false, "keep no search index: queries are refused")
	})
}

// frontendCommand runs the frontend on its own.
func (a *app) frontendCommand() *cobra.Command {
	var search searchOptions
	cmd := a.poolCommand("frontend", "Run the role that answers the API", func(c *roles.Cluster) (roles.Role, error) {
		role, _, err := c.Frontend(search.SearchOptions)
		return role, err
	})
	search.define(cmd, "a temporary folder")
	return cmd
}
