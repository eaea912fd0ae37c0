package search

import (
	"context"
	"database/sql"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/execution"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// clockDifference is how much earlier than its namespace an execution may have begun, because the clocks of two machines differ. A namespace
// takes longer to be deleted.
const clockDifference = 2 * time.Second

// journals are the contents of the journals of executions, and of the records of namespaces, which say what executions are gone, and which search
// attributes there are. Every
// entry of a journal counts, so there is nothing to gain from reading less often.
type journals struct {
	put   *statements
	names subjects.Names
	log   *slog.Logger
	// created is when each namespace was created, or deleted if that is later.
	created map[string]time.Time
	// expired is when expired runs were last looked for.
	expired time.Time
	// seen are the search attributes of which the database has a type, by namespace and name.
	seen map[[2]string]bool
}

func newJournals(put *statements, names subjects.Names, log *slog.Logger) *journals {
	return &journals{put: put, names: names, log: log, seen: map[[2]string]bool{}}
}

// journals are the sources of executions.
func (x *Index) journals() []source {
	cluster := x.config.Names.ClusterBucket()
	all := []source{{
		name: cluster, stream: subjects.BucketStream(cluster), reader: x.readers.Main,
		leader: func() jetstream.JetStream { return x.config.JS },
	}}
	for shard := range x.config.Shards {
		stream := x.config.Names.JournalStream(shard)
		all = append(all, x.ofShard(shard, stream, stream))
	}
	return all
}

// AwaitExecutions waits until the index has all entries of journals that NATS had acknowledged before. It returns false if the limit passes
// or ctx ends first, if the leader of a stream does not answer, or if the index is being built.
func (x *Index) AwaitExecutions(ctx context.Context, limit time.Duration) bool {
	return x.executions.await(ctx, limit)
}

func (j *journals) indexes() string { return executionIndexes }

func (j *journals) share() time.Duration { return 2 }

// batch is large, because a run is written once for all its entries in a batch.
func (j *journals) batch() int { return 1024 }

func (j *journals) apply(ctx context.Context, tx *sql.Tx, s *source, found []bus.Message) error {
	if err := j.load(ctx, tx); err != nil {
		return err
	}
	if s.place == 0 {
		return j.records(ctx, tx, s, found)
	}
	w := entryWriter{ctx: ctx, tx: tx, journals: j, runs: map[runKey]*run{}}
	for i := range found {
		m := &found[i]
		if m.Subject == j.names.Fenced(s.stream) { // it marks where a site has handed over
			continue
		}
		_, key, err := j.names.ParseJournal(m.Subject)
		var entry *execution.Entry
		if err == nil {
			entry, err = execution.ParseEntry(m.Data)
		}
		if err != nil {
			j.log.WarnContext(ctx, "search index passes over an entry of a journal", "subject", m.Subject, "sequence", m.Sequence, "error", err)
			continue
		}
		if err := w.entry(key, entry, m.Sequence); err != nil {
			return err
		}
	}
	return w.flush()
}

// load reads when the namespaces were created, at first.
func (j *journals) load(ctx context.Context, tx *sql.Tx) error {
	if j.created != nil {
		return nil
	}
	rows, err := tx.QueryContext(ctx, "SELECT name, created FROM namespaces")
	if err != nil {
		return err
	}
	defer rows.Close()
	j.created = map[string]time.Time{}
	for rows.Next() {
		var name string
		var created int64
		if err := rows.Scan(&name, &created); err != nil {
			return err
		}
		j.created[name] = time.UnixMicro(created)
	}
	return rows.Err()
}

// records applies records of the cluster bucket. It removes the executions of namespaces that have been deleted, even if they have been created
// again since.
func (j *journals) records(ctx context.Context, tx *sql.Tx, s *source, found []bus.Message) error {
	for i := range found {
		m := &found[i]
		key := strings.TrimPrefix(m.Subject, subjects.BucketSubject(s.name, ""))
		if namespace, ok := subjects.NamespaceOfSearchAttributesKey(key); ok {
			if err := j.added(ctx, tx, namespace, m); err != nil {
				return err
			}
			continue
		}
		name := subjects.NamespaceOfKey(key)
		if name == "" || key != subjects.NamespaceKey(name) {
			continue
		}
		var created time.Time
		if kv.IsTombstone(m.Header) {
			created = (cursor{}).after(found[i : i+1]).time
			if err := keeps(ctx, tx, name, nil); err != nil {
				return err
			}
		} else {
			var record schedule.Namespace
			if err := json.Unmarshal(m.Data, &record); err != nil {
				continue // the frontend complains about it
			}
			created = record.CreateTime
			if err := keeps(ctx, tx, name, &record); err != nil {
				return err
			}
		}
		if err := j.remove(ctx, tx, name, created); err != nil {
			return err
		}
	}
	return nil
}

// remove removes what a namespace had before it was created, or deleted.
func (j *journals) remove(ctx context.Context, tx *sql.Tx, namespace string, created time.Time) error {
	if !created.After(j.created[namespace]) {
		return nil
	}
	before := created.Add(-clockDifference).UnixMicro()
	if err := removeExecutions(ctx, tx, "namespace = ? AND start_time < ?", namespace, before); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM attribute_types WHERE namespace = ? AND NOT EXISTS
		(SELECT 1 FROM executions WHERE namespace = ?) AND NOT EXISTS (SELECT 1 FROM schedules WHERE namespace = ?)`,
		namespace, namespace, namespace)
	if err != nil {
		return err
	}
	clear(j.seen)
	j.created[namespace] = created
	_, err = tx.ExecContext(ctx, "INSERT OR REPLACE INTO namespaces VALUES (?, ?)", namespace, created.UnixMicro())
	return err
}

// latest reads the streams up to what their leaders have. If that is much, it is faster to read in batches.
func (j *journals) latest(ctx context.Context, f *follower) error {
	found, last := make([][]bus.Message, len(f.sources)), make([]uint64, len(f.sources))
	var group errgroup.Group
	for i := range f.sources {
		group.Go(func() (err error) {
			s := &f.sources[i]
			if found[i], err = s.newest(ctx, ">", s.cursor.sequence, few); len(found[i]) == few {
				last[i], err = s.last(ctx)
			}
			return err
		})
	}
	failed := group.Wait() // what the others have is read nevertheless
	for i := range f.sources {
		if err := f.storeNext(ctx, &f.sources[i], found[i]); err != nil {
			return err
		}
		if err := f.readTo(ctx, &f.sources[i], last[i]); err != nil {
			return err
		}
	}
	return failed
}

// storeNext stores what comes next in a stream.
func (f *follower) storeNext(ctx context.Context, s *source, found []bus.Message) error {
	if len(found) == 0 {
		return nil
	}
	next := s.cursor.after(found)
	if err := f.store(ctx, s, found, &next); err != nil {
		return err
	}
	s.cursor = next
	return nil
}

// readTo reads a stream up to a sequence that its leader has told.
func (f *follower) readTo(ctx context.Context, s *source, last uint64) error {
	for s.cursor.sequence < last && ctx.Err() == nil {
		before := s.cursor.sequence
		if _, err := f.readBatch(ctx, s, f.index.config.Now(), true); err != nil {
			return err
		}
		if s.cursor.sequence > before {
			continue
		}
		// Either a replica lags behind, or the last messages have been removed. The leader knows.
		found, err := s.newest(ctx, ">", before, 1)
		if err != nil || len(found) == 0 {
			return err
		}
		if err := f.storeNext(ctx, s, found); err != nil {
			return err
		}
	}
	return ctx.Err()
}
