package backup

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// RestoreConfig is what [Restore] needs. JS is required.
type RestoreConfig struct {
	JS jetstream.JetStream
	// Prefix is the prefix of the installation. Empty means the prefix in the backup; no other one is possible.
	Prefix string
	// Replicas is how many NATS servers keep all data. 0 means as many as before.
	Replicas int
	// ResumeFrom is when the restored schedules continue: what was due between the moment of the backup and ResumeFrom counts as
	// done. Zero means the moment itself: what was due since is started, as after an outage, if it lies within the catch-up
	// window.
	ResumeFrom time.Time
	Progress   Progress
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Summary is the result of a restore.
type Summary struct {
	Prefix string    `json:"prefix"`
	Moment time.Time `json:"moment"`
	// ResumeFrom is the time that the restore was given, zero if none.
	ResumeFrom time.Time `json:"resumeFrom,omitzero"`
	Streams    int       `json:"streams"`
	Schedules  int       `json:"schedules"`
	Counts
	// Lost are the changes that were made during the backup, too late for their record to be in it. Never nil.
	Lost []Lost `json:"lost"`
	// Gone are the schedules that were deleted or closed during the backup, and whose records the restore has removed; as many as
	// Deleted counts. Never nil.
	Gone []Lost `json:"gone"`
}

// Lost is a change that the history knew and that is not in the records of the backup.
type Lost struct {
	Namespace  string             `json:"namespace"`
	ScheduleID string             `json:"scheduleId"`
	Kind       schedule.EventKind `json:"kind"`
	Time       time.Time          `json:"time"`
	Identity   string             `json:"identity,omitempty"`
}

// Restore restores an installation from a backup. No process of the installation may run until Restore returns, not even a
// worker. A restore that fails removes what it has made. The backup stays as it is.
func Restore(ctx context.Context, config RestoreConfig, dir string) (Summary, error) {
	if config.Now == nil {
		config.Now = time.Now //permit:time.Now the default
	}
	manifest, err := Read(dir)
	if err != nil {
		return Summary{}, err
	}
	if err := config.validate(manifest); err != nil {
		return Summary{}, err
	}
	names, err := manifest.names()
	if err != nil {
		return Summary{}, err
	}
	own := bus.New(config.JS)
	defer own.Close()
	r := &restoration{
		RestoreConfig: config, api: newAPI(config.JS), bus: own, names: names, manifest: manifest, dir: dir,
		summary: Summary{Prefix: manifest.Prefix, Moment: manifest.Moment, ResumeFrom: config.ResumeFrom, Lost: []Lost{}, Gone: []Lost{}},
	}
	if cmp.Or(config.Replicas, manifest.Replicas) > 1 && config.JS.Conn().ConnectedClusterName() == "" {
		return Summary{}, tooFewServers("this server is on its own")
	}
	if err := r.expectNothing(ctx); err != nil {
		return Summary{}, err
	}
	if err := r.run(ctx); err != nil {
		return Summary{}, errors.Join(err, r.undo(ctx))
	}
	return r.summary, nil
}

func (c *RestoreConfig) validate(m *Manifest) error {
	switch {
	case c.Prefix != "" && c.Prefix != m.Prefix:
		return schedule.Errorf(schedule.CodeFailedPrecondition,
			"the backup is of prefix %s, not %s: names of streams and subjects are part of it", m.Prefix, c.Prefix)
	case !slices.Contains([]int{0, 1, 3, 5}, c.Replicas):
		return schedule.Invalid("replicas", "%d must be 1, 3 or 5, or 0 for the number the backup has", c.Replicas)
	case c.ResumeFrom.After(c.Now()):
		return schedule.Invalid("resumeFrom", "%s is in the future", c.ResumeFrom.UTC().Format(time.RFC3339))
	case !c.ResumeFrom.IsZero() && c.ResumeFrom.Before(m.Moment):
		return schedule.Invalid("resumeFrom", "%s is before the moment of the backup, %s: what is known to have run would run again",
			c.ResumeFrom.UTC().Format(time.RFC3339), m.Moment.Format(time.RFC3339))
	}
	return nil
}

// restoration is a restore in progress.
type restoration struct {
	RestoreConfig
	api      api
	bus      *bus.NATS
	names    subjects.Names
	manifest *Manifest
	dir      string
	// made are the streams that the restore has begun to restore.
	made    []string
	done    int
	summary Summary
}

// expectNothing ensures that there is no installation, and that none is being created.
func (r *restoration) expectNothing(ctx context.Context) error {
	var there []string
	for _, name := range streamNames(r.names, r.manifest.Shards) {
		_, err := r.JS.Stream(ctx, name)
		switch {
		case err == nil:
			there = append(there, name)
		case !errors.Is(err, jetstream.ErrStreamNotFound):
			return fmt.Errorf("look for %s: %w", name, err)
		}
	}
	if len(there) > 0 {
		return schedule.Errorf(schedule.CodeFailedPrecondition, "there is an installation of prefix %s: stream %s", r.manifest.Prefix, some(there))
	}
	ping, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := r.JS.Conn().RequestWithContext(ping, "$SRV.PING."+r.names.ServiceName(), nil)
	switch {
	case err == nil:
		return schedule.Errorf(schedule.CodeFailedPrecondition,
			"a process of the installation is running: stop all of them, workers too, until it is restored")
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return nil
	}
	return fmt.Errorf("look for processes of the installation: %w", err)
}

// some lists a few of many names.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(names[:few], ", "), len(names)-few)
}

// run restores the streams, makes their contents consistent, and opens the installation last: without its facts no process begins
// to work.
func (r *restoration) run(ctx context.Context) error {
	facts := subjects.BucketStream(r.names.ClusterBucket())
	for _, name := range r.manifest.restorable(r.names) {
		if name == facts {
			continue
		}
		if err := r.stream(ctx, name); err != nil {
			return fmt.Errorf("restore %s: %w", name, explain(err))
		}
		if name == r.names.EventStream() {
			continue // its tail depends on how the records are settled
		}
		if err := r.complete(ctx, name); err != nil {
			return fmt.Errorf("complete %s: %w", name, err)
		}
	}
	r.Progress.tell("reconcile", r.done, len(r.manifest.Streams)+1)
	forget, err := r.reconcile(ctx)
	if err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	if err := r.tail(ctx, r.names.EventStream(), forget); err != nil {
		return fmt.Errorf("complete %s: %w", r.names.EventStream(), err)
	}
	if err := errors.Join(r.stream(ctx, facts), r.tail(ctx, facts, nil)); err != nil {
		return fmt.Errorf("restore %s: %w", facts, explain(err))
	}
	// An archive is no part of a backup. What it has lost since is written again, and what it has stays as it is.
	if err := r.bus.Purge(ctx, facts, subjects.BucketSubject(r.names.ClusterBucket(), subjects.ArchivedKeys("*"))); err != nil {
		return fmt.Errorf("restore %s: %w", facts, explain(err))
	}
	if _, err := topology.Ensure(ctx, r.JS, r.names, topology.Settings{Replicas: r.Replicas}); err != nil {
		return err
	}
	r.summary.Streams = len(r.made)
	r.Progress.tell("done", r.done, r.done)
	return nil
}

// explain adds advice to the error of a stream that cannot be placed.
func explain(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == bus.CodeNoPeers {
		return tooFewServers(api.Description)
	}
	return err
}

func tooFewServers(why string) error {
	return schedule.Errorf(schedule.CodeFailedPrecondition,
		"%s: each replica needs a NATS server of its own, with room; --replicas 1 makes do with one", why)
}

// stream restores one stream from its snapshot.
func (r *restoration) stream(ctx context.Context, name string) error {
	r.Progress.tell("restore "+name, r.done, len(r.manifest.Streams)+1)
	r.done++
	stream, err := r.manifest.stream(name)
	if err != nil {
		return err
	}
	config, err := r.config(stream)
	if err != nil {
		return err
	}
	file, err := stream.Snapshot.open(r.dir)
	if err != nil {
		return err
	}
	defer file.Close()
	err = r.api.upload(ctx, name, config, stream.State, bufio.NewReaderSize(file, 1<<20))
	if bus.CodeOf(err) != bus.CodeRestoredExists {
		r.made = append(r.made, name)
	}
	return err
}

// config returns the configuration of the stream as it was, except for the replicas. It copies the JSON, because it may have
// settings that this program does not know.
func (r *restoration) config(stream *Stream) (json.RawMessage, error) {
	if r.Replicas == 0 {
		return stream.Config, nil
	}
	var config map[string]any
	if err := json.Unmarshal(stream.Config, &config); err != nil {
		return nil, err
	}
	config["num_replicas"] = r.Replicas
	return json.Marshal(config)
}

// tailPublish is how many messages are in flight at once.
const tailPublish = 256

// tail stores what a stream got after its snapshot, without the messages that have the given IDs.
func (r *restoration) tail(ctx context.Context, name string, forget map[string]bool) error {
	stream, err := r.manifest.stream(name)
	if err != nil {
		return err
	}
	var batch []*nats.Msg
	flush := func() error {
		err := patiently(ctx, func() error { return r.bus.PublishAll(ctx, batch) })
		batch = batch[:0]
		return err
	}
	err = readTail(r.dir, stream, func(m *message) error {
		if forget[m.Header.Get(nats.MsgIdHdr)] || m.Header.Get(jetstream.MarkerReasonHeader) != "" {
			return nil // the server makes its own markers
		}
		batch = append(batch, m.again())
		if len(batch) < tailPublish {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// again returns the message to store once more, without what its publisher expected of the stream, which was true only then.
func (m *message) again() *nats.Msg {
	header := nats.Header{}
	for name, values := range m.Header {
		if !strings.HasPrefix(name, "Nats-Expected-") {
			header[name] = values
		}
	}
	return &nats.Msg{Subject: m.Subject, Header: header, Data: m.Data}
}

// undoTimeout limits the removal of what a restore has made.
const undoTimeout = time.Minute

// undo removes the streams that the restore has made, so that it can be tried again.
func (r *restoration) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	var failed []string
	for _, name := range r.made {
		if err := r.JS.DeleteStream(ctx, name); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			failed = append(failed, name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("what was restored could not be removed again: delete the stream %s", some(failed))
	}
	return nil
}
