package cli

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/importer/temporal"
)

func (a *app) importTemporalCommand() *cobra.Command {
	var flags importFlags
	cmd := &cobra.Command{
		Use:   "temporal-json FILE [flags]",
		Short: "Turn schedules of Temporal into schedules",
		Long: `Turns schedules of Temporal, as its command line prints them with "-o json", into
schedules: what "temporal schedule describe" says of one, or several such texts after
one another. Times, zone, jitter, workflow type, ID, task queue, input, memo, search
attributes, timeouts, retries, policies, notes and whether it is paused are carried
over. A worker of yours needs a handler for the workflow type: its input is the one
argument, or a list of several.

"describe" does not say the ID of the schedule: it is taken from a field scheduleId
that you add, from the name of the file, or from the workflow. What "temporal schedule
list" prints can be read as well, and says neither task queue nor input.

A cron expression in which both day fields are restricted means days that match both
to Temporal, and either to Carillon: it becomes a calendar that keeps the meaning.`,
		Example: `  temporal schedule describe -s nightly -o json > nightly.json
  carillon import temporal-json nightly.json > nightly.yaml
  for id in $(temporal schedule list -o json | jq -r '.[].scheduleId'); do
      temporal schedule describe -s "$id" -o json | jq --arg id "$id" '. + {scheduleId: $id}'
  done | carillon import temporal-json - | carillon schedule apply --yes --file -`,
		Args: exactly("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			data, err := a.env.readInput(args[0])
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			all, err := temporal.Parse(data, idOfFile(args[0]))
			if err != nil {
				return usagef("%s: %w", args[0], err)
			}
			return a.writeImported(&flags, all)
		},
	}
	flags.define(cmd)
	return cmd
}

// idOfFile returns the ID that the name of a file suggests; it is empty for standard input.
func idOfFile(path string) string {
	if path == "-" {
		return ""
	}
	name := filepath.Base(path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}
