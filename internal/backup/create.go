package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Progress reports the current step, such as "copy CARILLON_EVENTS", and how many of the steps are done.
type Progress func(step string, done, of int)

func (p Progress) tell(step string, done, of int) {
	if p != nil {
		p(step, done, of)
	}
}

// CreateConfig is what [Create] needs. JS, Names and Facts are required.
type CreateConfig struct {
	JS    jetstream.JetStream
	Names subjects.Names
	Facts topology.Facts
	// Version is the version of the program.
	Version  string
	Progress Progress
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Create makes a backup in a folder that does not exist yet. The folder appears when the backup is complete; a backup that fails
// leaves nothing.
func Create(ctx context.Context, config CreateConfig, dir string) (*Manifest, error) {
	if config.Now == nil {
		config.Now = time.Now //permit:time.Now the default
	}
	if _, err := os.Lstat(dir); err == nil {
		return nil, schedule.Errorf(schedule.CodeAlreadyExists, "%s exists already", dir)
	}
	dir = filepath.Clean(dir)
	partial, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-partial-")
	if err != nil {
		return nil, err
	}
	c := creation{CreateConfig: config, api: newAPI(config.JS), dir: partial}
	manifest, err := c.run(ctx)
	if err == nil {
		err = os.Rename(partial, dir)
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(partial))
	}
	return manifest, syncDir(filepath.Dir(dir))
}

// syncDir ensures that the name of the backup is on the disk.
func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// creation is a backup in progress.
type creation struct {
	CreateConfig
	api  api
	dir  string
	done int
}

func (c *creation) run(ctx context.Context) (*Manifest, error) {
	m := &Manifest{
		Format: Format, FormatVersion: topology.FormatVersion, Version: c.Version, Prefix: c.Names.Prefix(),
		Shards: c.Facts.Shards, Replicas: c.Facts.Replicas, Begun: c.Now().UTC(),
	}
	streams := streamNames(c.Names, m.Shards)
	for _, name := range streams {
		c.Progress.tell("copy "+name, c.done, 2*len(streams))
		stream, err := c.snapshot(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("copy %s: %w", name, err)
		}
		m.Streams = append(m.Streams, stream)
		c.done++
	}
	if err := c.complete(ctx, m); err != nil {
		return nil, err
	}
	m.Moment = c.Now().UTC()
	c.Progress.tell("done", c.done, c.done)
	return m, writeManifest(c.dir, m)
}

func (c *creation) snapshot(ctx context.Context, name string) (Stream, error) {
	var s snapshot
	file, err := writeFile(c.dir, name+".snapshot", func(w io.Writer) (err error) {
		s, err = c.api.download(ctx, name, w)
		return err
	})
	if err != nil {
		return Stream{}, err
	}
	state, err := s.sequences()
	return Stream{Name: name, Config: s.Config, State: s.State, Messages: state.Messages, Snapshot: file}, err
}

// complete copies what the streams have got since their snapshots. The order makes the copies consistent. A pool writes a record,
// then publishes what follows from it, then its events. A worker reports, then acknowledges, and a report stays until it has been
// recorded. So whatever has left one of the streams is in one that is copied later.
func (c *creation) complete(ctx context.Context, m *Manifest) error {
	order := append(bucketStreams(c.Names, m.Shards), c.Names.ControlStream(), c.Names.ProgressStream(), c.Names.ActionStream(),
		c.Names.BacklogStream(), c.Names.HeartbeatStream())
	for shard := range m.Shards {
		order = append(order, c.Names.CallbackStream(shard), c.Names.TaskStream(shard), c.Names.JournalStream(shard))
	}
	order = append(order, c.Names.DeadLetterStream(), c.Names.WorkerDeadLetterStream(), c.Names.EventStream())
	for _, name := range order {
		c.Progress.tell("complete "+name, c.done, 2*len(order))
		stream, err := m.stream(name)
		if err == nil {
			err = c.tail(ctx, stream)
		}
		if err != nil {
			return fmt.Errorf("complete %s: %w", name, err)
		}
		c.done++
	}
	return nil
}

func (c *creation) lastSequence(ctx context.Context, name string) (uint64, error) {
	var last uint64
	err := patiently(ctx, func() error {
		stream, err := c.JS.Stream(ctx, name)
		if err == nil {
			last = stream.CachedInfo().State.LastSeq
		}
		return err
	})
	return last, err
}

func (c *creation) tail(ctx context.Context, stream *Stream) error {
	var state sequences
	if err := json.Unmarshal(stream.State, &state); err != nil {
		return err
	}
	file, err := writeFile(c.dir, stream.Name+".tail", func(w io.Writer) error {
		return c.since(ctx, stream, state.LastSeq, func(m *message) error {
			stream.TailMessages++
			return writeTail(w, m)
		})
	})
	stream.Tail = file
	return err
}

// since visits the messages that a stream has got after a sequence.
func (c *creation) since(ctx context.Context, stream *Stream, after uint64, visit func(*message) error) error {
	var config struct {
		Retention string   `json:"retention"`
		Subjects  []string `json:"subjects"`
	}
	if err := json.Unmarshal(stream.Config, &config); err != nil {
		return err
	}
	if config.Retention != "workqueue" {
		return c.api.follow(ctx, stream.Name, after, visit)
	}
	last, err := c.lastSequence(ctx, stream.Name)
	if err != nil {
		return err
	}
	for _, subject := range c.needed(stream.Name) {
		if err := c.api.walk(ctx, stream.Name, after+1, last, subject, visit); err != nil {
			return err
		}
	}
	return nil
}

// needed returns the subjects of a work queue whose messages nothing else can restore. Wakes and timers follow from the records,
// and hand-offs are made again. But a start request, a completion, and the timer that ends a run in spite of its worker are
// nowhere else.
func (c *creation) needed(stream string) []string {
	for shard := range c.Facts.Shards {
		switch stream {
		case c.Names.TaskStream(shard):
			return []string{c.Names.Callbacks(shard), c.Names.TimeoutTimers(shard), c.Names.Timeouts(shard)}
		case c.Names.CallbackStream(shard):
			return []string{c.Names.Callbacks(shard)}
		}
	}
	return []string{c.Names.Actions("*")}
}
