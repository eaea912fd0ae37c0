package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/topology"
)

func (a *app) clusterBackupCommand() *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "backup DIR [flags]",
		Short: "Copy an installation into a folder, while it runs",
		Long: `Copies everything an installation has stored into the folder DIR, which must not
exist: schedules and workflows, their state, what is due and running, the event
history and dead letters. It is made by JetStream snapshots, while the installation goes on. The
folder is there when all of it is. "carillon cluster restore" brings it back.
docs/backup.md says more.`,
		Example: `  carillon cluster backup /backup/2030-01-31
  carillon cluster backup "/backup/$(date +%F)" -o json | jq .moment`,
		Args: exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var manifest *backup.Manifest
			steps := a.steps()
			err := a.callCluster(cmd.Context(), func(ctx context.Context, js jetstream.JetStream, facts topology.Facts) (err error) {
				manifest, err = backup.Create(ctx, backup.CreateConfig{
					JS: js, Names: a.global.names, Facts: facts, Version: readBuild().Version, Progress: steps.show, Now: a.env.Now,
				}, args[0])
				return err
			})
			steps.end()
			if err != nil {
				return err
			}
			return a.print(output, manifest, func(w io.Writer) error { return writeBackup(w, args[0], manifest) })
		},
	}
	output.define(cmd)
	return cmd
}

func writeBackup(w io.Writer, dir string, m *backup.Manifest) error {
	var messages uint64
	for i := range m.Streams {
		messages += m.Streams[i].Messages + uint64(m.Streams[i].TailMessages)
	}
	_, err := fmt.Fprintf(w, "%s holds all of %s as of %s: %s, %s, %s\n", dir, m.Prefix, m.Moment.Format(time.RFC3339),
		plural(len(m.Streams), "stream"), plural(int(messages), "message"), megabytes(m.Bytes()))
	return err
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// steps shows the current step of a backup or restore on a terminal. Elsewhere it shows nothing.
type steps struct {
	out   io.Writer
	shown bool
}

func (a *app) steps() *steps {
	if !isTerminal(a.env.Stderr) {
		return &steps{}
	}
	return &steps{out: a.env.Stderr}
}

func (s *steps) show(step string, done, of int) {
	if s.out != nil {
		_, _ = fmt.Fprintf(s.out, "\r%d of %d: %s\x1b[K", done, of, step)
		s.shown = true
	}
}

// end clears the line.
func (s *steps) end() {
	if s.shown {
		_, _ = fmt.Fprint(s.out, "\r\x1b[K")
	}
}
