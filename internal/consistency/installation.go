package consistency

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/deadletter"
	"github.com/carillon-scheduler/carillon/internal/owners"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/internal/workflows"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Installation is how a check reaches what it inspects: an installation on NATS, or one of the simulation (internal/simulation),
// which implements it differently and with faults. The simulation must model everything that is added here.
type Installation struct {
	Bus     bus.Bus
	Buckets kv.Buckets
	Streams Streams
	Letters Letters
	// Executions may be nil; then no execution of a workflow is missed.
	Executions Executions
	// Journals has the journals of workflows, and the backlog of their tasks. It may be nil; then no workflow is looked at.
	Journals bus.Streams
}

// Streams are the requests of a check to streams and workers that a bus does not have. It is safe for concurrent use. Errors are
// those of nats.go. Any replica may answer a question about a stream of a shard. It may lag behind, even behind its own earlier
// answers.
type Streams interface {
	// Listed returns the subjects of a stream with messages that match a filter, in any order, as its leader has them.
	Listed(ctx context.Context, stream, filter string) ([]string, error)
	// Floor returns the sequence of a stream up to which a consumer counts every message as acknowledged.
	Floor(ctx context.Context, stream, consumer string) (uint64, error)
	// End returns the sequence of the newest message that a stream of a shard ever had.
	End(ctx context.Context, shard int, stream string) (uint64, error)
	// Newest returns the last message of each subject of a stream of a shard that matches one of the filters. If more subjects
	// match than an answer may have, rest is true, and the messages are some of them, or none.
	Newest(ctx context.Context, shard int, stream string, filters ...string) (found []bus.Message, rest bool, err error)
	// Since returns the messages of a stream of a shard with a sequence greater than after, in order, at most limit. rest is true
	// if there may be more.
	Since(ctx context.Context, shard int, stream string, after uint64, limit int) (found []bus.Message, rest bool, err error)
	// Next returns the first message of a stream from a sequence on whose subject matches a filter, as the leader has it. The
	// sequence is 1 or more. The error is bus.ErrNone if there is no such message.
	Next(ctx context.Context, stream, filter string, from uint64) (bus.Message, error)
	// Waiting visits the runs on a subject of the action stream in order of their sequences, from one sequence to another, both
	// inclusive; to 0 means to the end. The subject may have wildcards. It returns the first error, of visit or of NATS.
	Waiting(ctx context.Context, subject string, from, to uint64, visit func(*taskqueue.WaitingRun) error) error
	// RequestWithContext is as in [WorkerAsker].
	RequestWithContext(ctx context.Context, subject string, data []byte) (*nats.Msg, error)
}

// Letters are the dead letters of an installation. A *deadletter.Reader implements it.
type Letters interface {
	// List returns the letters that match a filter, the newest last.
	List(ctx context.Context, filter deadletter.Filter) ([]deadletter.Letter, error)
	// Get returns one letter. The error has schedule.CodeNotFound if there is none.
	Get(ctx context.Context, number deadletter.Number) (deadletter.Message, error)
	// Replay sends the message of a letter again and removes the letter. It refuses a letter that does not prove its origin.
	Replay(ctx context.Context, number deadletter.Number) (deadletter.Replayed, error)
}

// onNATS returns the installation of a connection. The caller must close its bus.
func onNATS(ctx context.Context, c *Config) (*Installation, error) {
	buckets, err := kv.OpenLanes(ctx, c.JS, c.Lanes, c.Names, c.Shards)
	if err != nil {
		return nil, err
	}
	access := bus.New(c.JS)
	return &Installation{
		Bus: access, Journals: access, Buckets: buckets, Letters: deadletter.NewReader(c.JS, c.Names).As(c.Identity),
		Executions: workflows.NewClient(owners.Anybody(c.JS.Conn()), c.Names, c.Shards),
		Streams:    streams{js: c.JS, lanes: c.Lanes, readers: bus.NewReaders(c.JS, c.Lanes), names: c.Names},
	}, nil
}

// streams implements Streams by a connection.
type streams struct {
	js      jetstream.JetStream
	lanes   *bus.Lanes
	readers *bus.Readers
	names   subjects.Names
}

func (s streams) Listed(ctx context.Context, stream, filter string) ([]string, error) {
	opened, err := s.js.Stream(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", stream, err)
	}
	info, err := opened.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return nil, err
	}
	listed := make([]string, 0, len(info.State.Subjects))
	for subject := range info.State.Subjects {
		listed = append(listed, subject)
	}
	return listed, nil
}

func (s streams) Floor(ctx context.Context, stream, consumer string) (uint64, error) {
	c, err := s.js.Consumer(ctx, stream, consumer) // asks the leader of the consumer
	if err != nil {
		return 0, err
	}
	return c.CachedInfo().AckFloor.Stream, nil
}

func (s streams) End(ctx context.Context, shard int, stream string) (uint64, error) {
	opened, err := s.lanes.Of(shard, s.js).Stream(ctx, stream)
	if err != nil {
		return 0, err
	}
	return opened.CachedInfo().State.LastSeq, nil
}

func (s streams) Newest(
	ctx context.Context, shard int, stream string, filters ...string,
) (found []bus.Message, rest bool, err error) {
	return s.readers.Of(shard).Last(ctx, stream, filters...)
}

func (s streams) Since(
	ctx context.Context, shard int, stream string, after uint64, limit int,
) (found []bus.Message, rest bool, err error) {
	return s.readers.Of(shard).Since(ctx, stream, after, limit)
}

func (s streams) Next(ctx context.Context, stream, filter string, from uint64) (bus.Message, error) {
	return bus.LeaderNext(ctx, s.js, stream, filter, from)
}

func (s streams) Waiting(ctx context.Context, subject string, from, to uint64, visit func(*taskqueue.WaitingRun) error) error {
	return taskqueue.Each(ctx, s.js, s.names, subject, from, to, visit)
}

func (s streams) RequestWithContext(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	return s.js.Conn().RequestWithContext(ctx, subject, data)
}

var errNoInstallation = errors.New("consistency: Config.Shards is required, and Config.JS or Config.Installation")
