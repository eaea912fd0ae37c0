package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/carillon-scheduler/carillon/internal/backup"
	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/schedule"
)

// clusterRestore holds the flags of cluster restore.
type clusterRestore struct {
	data       string
	replicas   int
	resumeFrom time.Time
	binder
}

func (a *app) clusterRestoreCommand() *cobra.Command {
	var output outputFlag
	var flags clusterRestore
	cmd := &cobra.Command{
		Use:   "restore DIR [flags]",
		Short: "Bring an installation back from a folder that cluster backup has made",
		Long: `Brings an installation back from the folder DIR, which "carillon cluster backup" has
made, into a NATS server or cluster that has none of its prefix. No process of the
installation may run until that is done, workers included. With --data it goes into
the data folder of "carillon server", which must not run.

What is known to have ended does not run again, and what was waiting or running goes
on. What was due since the backup was made is started now, as after an outage, if it
is within the catch-up window of its schedule. --resume-from counts it as done up to
a time instead. docs/backup.md says more.`,
		Example: `  carillon cluster restore /backup/2030-01-31 --data ./carillon-data
  carillon cluster restore /backup/2030-01-31 --nats nats://n1:4222 --replicas 3
  carillon cluster restore /backup/2030-01-31 --resume-from now`,
		Args: exactly("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.apply(); err != nil {
				return err
			}
			data, err := a.dataFolder(cmd, flags.data)
			if err != nil {
				return err
			}
			steps := a.steps()
			config := backup.RestoreConfig{
				Replicas: flags.replicas, ResumeFrom: flags.resumeFrom, Progress: steps.show, Now: a.env.Now,
			}
			if cmd.Flags().Changed("prefix") {
				config.Prefix = a.global.prefix
			}
			summary, err := a.restore(cmd.Context(), data, config, args[0])
			steps.end()
			if err != nil {
				return explainRestore(err)
			}
			return a.print(output, summary, func(w io.Writer) error { return writeSummary(w, &summary) })
		},
	}
	addFlags(cmd, otherGroup, func(set *pflag.FlagSet) {
		flags.flags = set
		set.StringVar(&flags.data, "data", "", "restore into the data folder `DIR` of carillon server")
		set.IntVar(&flags.replicas, "replicas", 0, "let `N` NATS servers keep all data: 1, 3 or 5; 0 takes what the backup has")
		parsed(&flags.binder, "resume-from", "count what was due since the backup and up to `TIME` as done: now, -10m, or RFC 3339",
			&flags.resumeFrom, a.resumeTime)
	})
	output.define(cmd)
	return cmd
}

// resumeTime reads a time, or "now".
func (a *app) resumeTime(text string) (time.Time, error) {
	if text == "now" {
		return a.env.Now().UTC(), nil
	}
	return timeParser(a.env.Now)(text)
}

// restore restores into the data folder if one is given, otherwise into NATS.
func (a *app) restore(ctx context.Context, data string, config backup.RestoreConfig, dir string) (backup.Summary, error) {
	js, done, err := a.connectRestore(ctx, data)
	if err != nil {
		return backup.Summary{}, err
	}
	defer done()
	config.JS = js
	return backup.Restore(ctx, config, dir)
}

func (a *app) connectRestore(ctx context.Context, data string) (jetstream.JetStream, func(), error) {
	if data == "" {
		conn, js, err := a.connectToChange(ctx)
		if err != nil {
			return nil, nil, err
		}
		return js, conn.Close, nil
	}
	dir, err := filepath.Abs(data)
	if err != nil {
		return nil, nil, err
	}
	server, err := natsserver.Start(ctx, natsserver.Options{Dir: dir, Port: -1, Logger: a.logger()})
	if err != nil {
		return nil, nil, err
	}
	conn, err := server.Connect(nats.Name("carillon-cli"))
	if err != nil {
		server.Shutdown()
		return nil, nil, err
	}
	done := func() { conn.Close(); server.Shutdown() }
	js, err := jetstream.New(conn)
	if err != nil {
		done()
		return nil, nil, err
	}
	return js, done, nil
}

func explainRestore(err error) error {
	if schedule.CodeOf(err) == schedule.CodeFailedPrecondition && strings.Contains(err.Error(), "there is an installation") {
		return withHint(err, "a backup is restored into an empty place: another server or data folder, or this one after its streams are deleted")
	}
	return err
}

// writeSummary says what was restored, and what was adapted to make it fit together.
func writeSummary(w io.Writer, s *backup.Summary) error {
	if _, err := fmt.Fprintf(w, "restored %s as of %s: %s in %s\n", s.Prefix, s.Moment.Format(time.RFC3339),
		plural(s.Schedules, "schedule"), plural(s.Streams, "stream")); err != nil {
		return err
	}
	var rows [][]string
	for _, row := range []struct {
		count int
		text  string
	}{
		{s.Deferred, "starts had begun to wait while the backup was made"},
		{s.Started, "runs had begun while the backup was made"},
		{s.Completed, "runs had ended while the backup was made"},
		{s.GivenUp, "actions had been skipped, missed or dropped while the backup was made"},
		{s.Paused, "schedules had been paused on failure while the backup was made"},
		{s.Deleted, "schedules had been deleted while the backup was made"},
		{s.Withdrawn, "start requests withdrawn, of runs that had ended"},
		{s.Requeued, "runs that had just begun are started again"},
		{s.HandOffs, "hand-offs to the invoker made again"},
		{s.Forgotten, "starts forgotten that were requested too late to be in the backup"},
		{s.Assumed, "actions taken for done"},
	} {
		if row.count > 0 {
			rows = append(rows, []string{"", fmt.Sprint(row.count), row.text})
		}
	}
	for _, lost := range s.Lost {
		rows = append(rows, []string{"", "lost", fmt.Sprintf("%s/%s: %s at %s, too late to be in the backup",
			render.Printable(lost.Namespace), render.Printable(lost.ScheduleID), lost.Kind, lost.Time.Format(time.RFC3339))})
	}
	for _, gone := range s.Gone {
		rows = append(rows, []string{"", "removed", fmt.Sprintf("%s/%s: %s at %s, while the backup was made",
			render.Printable(gone.Namespace), render.Printable(gone.ScheduleID), gone.Kind, gone.Time.Format(time.RFC3339))})
	}
	if len(rows) > 0 {
		if err := render.Table(w, rows); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "start the processes of the installation now")
	return err
}
