package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"
	"modernc.org/sqlite"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/metrics"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// defaultInterval is the default of [Config.Interval].
const defaultInterval = time.Second

// retryDelay is how long the index waits after a failure.
const retryDelay = 2 * time.Second

// Config is what an [Index] needs. JS and Shards are required; the zero value of every other field means its default.
type Config struct {
	JS jetstream.JetStream
	// Lanes read the schedules by shard. Default: JS.
	Lanes *bus.Lanes
	// Names are the names of the installation, Shards is the number of its shards, and Created is when it was set up.
	Names   subjects.Names
	Shards  int
	Created time.Time
	// Dir is the folder of the index. No other process may use it. Default: a temporary folder, which Run removes.
	Dir string
	// Temporary is the parent of temporary folders. Default: the system's.
	Temporary string
	// Interval is how long the index waits before it reads more of what the pools have written. If reading takes long, it waits
	// longer. Default: 1 s.
	Interval time.Duration
	// Logger logs what happens. Default: slog.Default().
	Logger *slog.Logger
	// Now is the clock. Default: time.Now.
	Now func() time.Time
}

// Index is a read model of all schedules and executions of an installation. [New] makes it. It is safe for concurrent use.
type Index struct {
	config  Config
	log     *slog.Logger
	readers *bus.Readers
	// schedules and executions say how far each has been read.
	schedules, executions *progress

	mu sync.RWMutex // read-locked while a query is answered
	db *database    // nil while there is none

	// broken is full when a query has found the file damaged.
	broken chan struct{}
}

// New returns an index that answers nothing until Run is called. An error means that the configuration is wrong.
func New(config Config) (*Index, error) {
	switch {
	case config.JS == nil:
		return nil, schedule.Invalid("js", "is missing: an index needs JetStream")
	case config.Shards < 1:
		return nil, schedule.Invalid("shards", "%d is no number of shards: use that of the installation", config.Shards)
	case config.Interval < 0:
		return nil, schedule.Invalid("interval", "%s is negative", config.Interval)
	}
	if config.Interval == 0 {
		config.Interval = defaultInterval
	}
	if config.Names.Prefix() == "" {
		config.Names = subjects.Default()
	}
	if config.Logger == nil {
		config.Logger = slog.Default()
	}
	if config.Now == nil {
		config.Now = time.Now //permit:time.Now the default
	}
	return &Index{
		config: config, log: config.Logger.With("component", "search"), readers: bus.NewReaders(config.JS, config.Lanes),
		schedules: newProgress(config.Shards), executions: newProgress(config.Shards + 1), broken: make(chan struct{}, 1),
	}, nil
}

// Run builds the index and keeps it up to date until ctx ends. It logs failures and tries again, because only searches depend on
// it. It may be called once.
func (x *Index) Run(ctx context.Context) error {
	x.use(nil)
	dir, kept := x.config.Dir, x.config.Dir != ""
	if !kept {
		temporary, err := makeTemporary(x.config.Temporary, x.config.Now())
		if err != nil {
			x.log.ErrorContext(ctx, "no search: there is no place for the index", "error", err)
			<-ctx.Done()
			return nil
		}
		defer func() { _ = os.RemoveAll(temporary) }() // a later process removes what is left
		dir = temporary
	}
	unlock := x.lock(ctx, dir)
	defer unlock()
	defer x.observe()()
	for ctx.Err() == nil {
		err := x.serve(ctx, dir, kept)
		if ctx.Err() != nil {
			break
		}
		metrics.SearchRebuilt.Add(ctx, 1)
		x.log.WarnContext(ctx, "search index is built anew", "reason", err)
		if err := removeDatabase(dir); err != nil {
			x.log.ErrorContext(ctx, "search index cannot be removed", "dir", dir, "error", err)
		}
		_ = sleep.For(ctx, x.delayAfter(err))
	}
	return nil
}

// lock waits until no other process has the folder, or ctx ends: the process that this one replaces may not have stopped yet.
func (x *Index) lock(ctx context.Context, dir string) (unlock func()) {
	lock := lockOf(dir)
	for ctx.Err() == nil {
		err := os.MkdirAll(dir, 0o700)
		locked := false
		if err == nil {
			locked, err = lock.TryLock()
		}
		if locked {
			break
		}
		x.log.WarnContext(ctx, "no search yet: the folder of the index cannot be had, or another process has it",
			"dir", dir, "error", err)
		_ = sleep.For(ctx, retryDelay)
	}
	return func() { _ = lock.Close() } // the end of the process releases it too
}

// lockOf returns the lock that the process using a folder holds.
func lockOf(dir string) *flock.Flock {
	return flock.New(filepath.Join(dir, "search.lock"), flock.SetPermissions(0o600))
}

// delayAfter returns how long to wait before the index is rebuilt. If the index is only outdated, foreign or damaged, that is not
// at all.
func (x *Index) delayAfter(err error) time.Duration {
	if errors.Is(err, errOther) || errors.Is(err, errOutdated) || isDamage(err) {
		return 0
	}
	return retryDelay
}

// serve opens the index, follows the buckets and answers queries until ctx ends. It returns an error if the index is no longer
// usable.
func (x *Index) serve(ctx context.Context, dir string, kept bool) error {
	db, err := openDatabase(ctx, dir, x.cluster(), kept)
	if err != nil {
		return err
	}
	x.use(db)
	defer func() {
		x.use(nil)
		if err := db.close(); err != nil {
			x.log.WarnContext(ctx, "search index did not close", "error", err)
		}
	}()
	schedules, err1 := newFollower(ctx, x, db, definitions{&db.put, x.log}, x.schedules, x.buckets())
	executions, err2 := newFollower(ctx, x, db, newJournals(&db.put, x.config.Names, x.log), x.executions, x.journals())
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return schedules.run(ctx) })
	group.Go(func() error { return executions.run(ctx) })
	return group.Wait()
}

// cluster identifies the installation: it differs for others, and for an earlier one of the same name.
func (x *Index) cluster() string {
	return fmt.Sprintf("%s %d %s", x.config.Names.Prefix(), x.config.Shards, x.config.Created.UTC().Format(time.RFC3339Nano))
}

// use replaces the database that queries read, once those in progress are answered.
func (x *Index) use(db *database) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.db = db
	for _, p := range []*progress{x.schedules, x.executions} {
		if db == nil {
			p.reset()
		}
		p.status.begin(x.config.Now())
	}
}

// Building returns for how long the index has been built without an end, or has not been there; zero if it answers queries.
func (x *Index) Building() time.Duration {
	p := x.Progress()
	if p.Since.IsZero() || !p.UpTo.IsZero() {
		return 0
	}
	return x.config.Now().Sub(p.Since)
}

// Progress returns how far the index is, with schedules and executions taken together.
func (x *Index) Progress() Progress {
	all, executions := x.schedules.status.progress(), x.executions.status.progress()
	all.Read, all.Total = all.Read+executions.Read, all.Total+executions.Total
	if executions.UpTo.Before(all.UpTo) {
		all.UpTo = executions.UpTo
	}
	return all
}

// read runs a query, if the index is ready for it.
func (x *Index) read(of *progress, do func(*database) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if err := of.status.check(); err != nil {
		return err
	}
	if x.db == nil {
		return errClosed
	}
	err := do(x.db)
	if isDamage(err) {
		select {
		case x.broken <- struct{}{}:
		default:
		}
		return errClosed
	}
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return nil
}

var errClosed = schedule.Errorf(schedule.CodeUnavailable, "the search index is being opened: try again in a moment")

// isDamage reports whether an SQLite error means that the file is damaged.
func isDamage(err error) bool {
	const corrupt, notADatabase, primary = 11, 26, 0xff
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&primary == corrupt || e.Code()&primary == notADatabase)
}
