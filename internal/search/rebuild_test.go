package search_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/search"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/topology"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// notes is a log that a test can read.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(line []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(line)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.String()
}

// onDisk is an installation with an index in a folder that is kept.
type onDisk struct {
	*installation
	dir string
}

func newOnDisk(t *testing.T) *onDisk { return &onDisk{install(t), t.TempDir()} }

// withoutLog returns the file of the database, without the log of writes beside it: as long as that has all pages, SQLite does not read them from the file.
func (s *onDisk) withoutLog() string {
	file := filepath.Join(s.dir, "search.db")
	natstest.Eventually(s.t, patience, "the index is in its file", func() bool {
		if found, err := os.Stat(file); err == nil && found.Size() > cutTo {
			return true
		}
		s.built(s.t, "before") // a stop while somebody reads leaves all of it in the log
		return false
	})
	require.NoError(s.t, os.RemoveAll(file+"-wal"))
	return file
}

// start runs the index, and returns what it logs.
func (s *onDisk) start(t testing.TB, changes ...func(*search.Config)) (index *search.Index, stop func(), log *notes) {
	t.Helper()
	config, log := s.config(), &notes{}
	config.Dir, config.Logger = s.dir, slog.New(slog.NewTextHandler(log, nil))
	for _, change := range changes {
		change(&config)
	}
	index, stop = run(t, config)
	return index, stop, log
}

// built runs the index until a query finds these, and stops it.
func (s *onDisk) built(t testing.TB, want ...string) {
	t.Helper()
	index, stop, _ := s.start(t)
	eventually(t, index, "", want...)
	stop()
}

// purge removes every trace of a record, as happens after some time.
func (s *onDisk) purge(name string, key schedule.Key) {
	s.t.Helper()
	bucket := s.names.StateBucket(s.store.ShardOf(key))
	stream, err := s.js.Stream(s.t.Context(), "KV_"+bucket)
	require.NoError(s.t, err)
	require.NoError(s.t, stream.Purge(s.t.Context(), jetstream.WithPurgeSubject("$KV."+bucket+"."+name)))
}

// reset makes new buckets, as the restore of an empty backup does.
func (s *onDisk) reset() {
	s.t.Helper()
	buckets := s.names.Buckets(s.facts.Shards)[1:]
	for _, bucket := range buckets {
		require.NoError(s.t, s.js.DeleteKeyValue(s.t.Context(), bucket))
	}
	require.NoError(s.t, topology.Recreate(s.t.Context(), s.js, s.names, s.facts, buckets))
}

const anew = "built anew"

// cutTo is how many bytes are left of a file that is cut short: the beginning of an index, and not an empty one.
const cutTo = 8192

func TestIndexGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	s := newOnDisk(t)
	s.define("kept")
	s.define("deleted", attribute("x", "1"))
	s.built(t, "deleted", "kept")

	s.define("kept", paused)
	s.define("new")
	remove(s.installation, kv.Definition(key("deleted")))
	index, _, log := s.start(t)
	eventually(t, index, "", "kept", "new")
	eventually(t, index, "paused = true", "kept")
	assert.NotContains(t, log.String(), anew)
}

func TestIndexIsBuiltAnew(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// between happens while the index is stopped. A schedule "after" is created in any case.
		between func(*onDisk)
		change  func(*search.Config)
		want    []string
		reason  string
	}{
		"the file is lost": {
			between: func(s *onDisk) { require.NoError(s.t, os.RemoveAll(s.dir)) },
			want:    []string{"after", "before"},
		},
		"the file is damaged": {
			between: func(s *onDisk) {
				file := s.withoutLog()
				require.NoError(s.t, os.WriteFile(file, bytes.Repeat([]byte("damage"), 10_000), 0o600))
			},
			want: []string{"after", "before"}, reason: "not a database",
		},
		"the file is cut short": {
			between: func(s *onDisk) { require.NoError(s.t, os.Truncate(s.withoutLog(), cutTo)) },
			want:    []string{"after", "before"}, reason: anew,
		},
		"it is that of another installation": {
			change: func(c *search.Config) { c.Created = c.Created.Add(time.Second) },
			want:   []string{"after", "before"}, reason: "another version or installation",
		},
		"traces of deletions may have gone": {
			between: func(s *onDisk) { s.purge(kv.Definition(key("before")).String(), key("before")) },
			change: func(c *search.Config) {
				c.Now = func() time.Time { return time.Now().Add(subjects.TombstoneAge) }
			},
			want: []string{"after"}, reason: "nobody has read",
		},
		"the buckets end before the cursor": {
			between: (*onDisk).reset, want: []string{"after"}, reason: "gone back",
		},
		"the buckets have other messages than before": {
			between: func(s *onDisk) {
				s.reset()
				for _, id := range []string{"a", "b", "c", "d", "e", "f"} {
					s.define(id)
				}
			},
			want: []string{"a", "after", "b", "c", "d", "e", "f"}, reason: "is newer than what was read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newOnDisk(t)
			s.define("before")
			s.built(t, "before")
			if test.between != nil {
				test.between(s)
			}
			s.define("after")
			if test.change == nil {
				test.change = func(*search.Config) {}
			}
			index, _, log := s.start(t, test.change)
			eventually(t, index, "", test.want...)
			assert.Contains(t, log.String(), test.reason)
		})
	}
}

// TestOneProcessHasTheFolder starts another index in the folder of a running one.
func TestOneProcessHasTheFolder(t *testing.T) {
	t.Parallel()
	s := newOnDisk(t)
	s.define("a")
	first, stop, _ := s.start(t)
	eventually(t, first, "", "a")
	second, _, log := s.start(t)
	natstest.Eventually(t, patience, "the second waits", func() bool { return strings.Contains(log.String(), "another process") })
	_, err := find(t, second, "")
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
	stop()
	eventually(t, second, "", "a")
}

// TestTemporaryIndexIsRemoved looks into the process's folder for temporary files. The server of all tests must exist before,
// because its files are there as well.
func TestTemporaryIndexIsRemoved(t *testing.T) {
	in := install(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	in.define("a")
	index, stop := run(t, in.config())
	eventually(t, index, "", "a")
	files, err := filepath.Glob(filepath.Join(dir, "carillon-search-*", "search.db"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	stop()
	require.NoDirExists(t, filepath.Dir(files[0]))
	_, err = find(t, index, "")
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeUnavailable})
}

// TestIndexSaysHowFarItIs asks an index that has not begun, and one that has been built.
func TestIndexSaysHowFarItIs(t *testing.T) {
	t.Parallel()
	in := install(t)
	in.define("a")
	config := in.config()
	index, err := search.New(config)
	require.NoError(t, err)
	_, err = index.IDs(t.Context(), "default", &query.Query{}, "", 10)
	require.ErrorContains(t, err, "the search index is being built, 0 % of it is there")

	assert.Zero(t, index.Progress())

	begin := time.Now()
	index, stop := run(t, config)
	eventually(t, index, "", "a")
	natstest.Eventually(t, patience, "executions are there, too", func() bool { return !index.Progress().UpTo.IsZero() })
	p := index.Progress()
	assert.Positive(t, p.Read)
	assert.Equal(t, p.Total, p.Read)
	assert.False(t, p.Since.Before(begin))
	_, upTo, err := index.Count(t.Context(), "default", "", &query.Query{})
	require.NoError(t, err)
	assert.False(t, upTo.Before(begin))
	natstest.Eventually(t, patience, "the index goes on", func() bool {
		_, later, err := index.List(t.Context(), "default", "", &query.Query{}, search.Position{}, 1)
		return err == nil && later.After(upTo)
	})
	stop()
	assert.Zero(t, index.Progress().UpTo)
	assert.Zero(t, index.Progress().Read)

	config.Dir = t.TempDir()
	index, stop = run(t, config)
	eventually(t, index, "", "a")
	natstest.Eventually(t, patience, "executions are there, too", func() bool { return !index.Progress().UpTo.IsZero() })
	stop()
	index, _ = run(t, config)
	natstest.Eventually(t, patience, "it is open again", func() bool { return !index.Progress().UpTo.IsZero() })
	assert.Zero(t, index.Progress().Total, "a kept index has read it all")
}

func TestIDs(t *testing.T) {
	t.Parallel()
	in := install(t)
	for _, id := range []string{"c", "a", "b", "d"} {
		in.define(id)
	}
	in.define("x", paused)
	index, _ := run(t, in.config())
	eventually(t, index, "", "a", "b", "c", "d", "x")
	q := parse(t, "paused = false order by createTime desc")
	ids, err := index.IDs(t.Context(), "default", q, "", 3)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, ids)
	ids, err = index.IDs(t.Context(), "default", q, "c", 3)
	require.NoError(t, err)
	require.Equal(t, []string{"d"}, ids)
	ids, err = index.IDs(t.Context(), "other", q, "", 3)
	require.NoError(t, err)
	require.Empty(t, ids)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = index.IDs(canceled, "default", q, "", 3)
	require.ErrorIs(t, err, context.Canceled)
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	in := install(t)
	for field, change := range map[string]func(*search.Config){
		"js":       func(c *search.Config) { c.JS = nil },
		"shards":   func(c *search.Config) { c.Shards = 0 },
		"interval": func(c *search.Config) { c.Interval = -1 },
	} {
		config := in.config()
		change(&config)
		_, err := search.New(config)
		var refused *schedule.Error
		require.ErrorAs(t, err, &refused)
		require.Equal(t, field, refused.Field)
	}
}
