package natsserver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natsserver"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestMain(m *testing.M) { natstest.Main(m) }

func TestSyncModeReachesTheServer(t *testing.T) {
	t.Parallel()
	require.True(t, start(t, natsserver.Options{}).SyncAlways(), "the default")
	require.True(t, start(t, natsserver.Options{Sync: natsserver.SyncAlways}).SyncAlways())
	require.False(t, start(t, natsserver.Options{Sync: natsserver.SyncInterval}).SyncAlways())
}

// TestLimitStore: the server refuses what exceeds the limit, as long as there is one.
func TestLimitStore(t *testing.T) {
	t.Parallel()
	server := start(t, natsserver.Options{})
	conn, err := server.Connect()
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
	require.NoError(t, err)
	store := func() error {
		_, err := js.Publish(t.Context(), "s", []byte("text"))
		return err
	}
	require.NoError(t, store())
	require.NoError(t, server.LimitStore(1))
	var refused *jetstream.APIError
	require.ErrorAs(t, store(), &refused)
	require.NoError(t, server.LimitStore(0))
	require.NoError(t, store())
}

// TestWhereTheServerIs: a connection within the process tells people where others connect.
func TestWhereTheServerIs(t *testing.T) {
	t.Parallel()
	server := start(t, natsserver.Options{})
	conn, err := server.Connect()
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, server.ClientURL(), conn.ConnectedUrl())
}

func TestDataFolderIsForTheOwner(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "data")
	start(t, natsserver.Options{Dir: dir})
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

func TestListensOnLoopback(t *testing.T) {
	t.Parallel()
	require.Contains(t, start(t, natsserver.Options{}).ClientURL(), "nats://127.0.0.1:")
}

// TestListensForOthers: the server does so only with authentication and TLS, or if Insecure is set.
func TestListensForOthers(t *testing.T) {
	t.Parallel()
	config := func(text string) string {
		path := filepath.Join(t.TempDir(), "nats.conf")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, o := range map[string]natsserver.Options{
		"anybody":       {Host: "0.0.0.0"},
		"an address":    {Host: "192.0.2.1"},
		"a name":        {Host: "server.example.com"},
		"every address": {Host: "::"},
		"without TLS":   {Host: "0.0.0.0", ConfigFile: config(`authorization { user: a, password: b }`)},
	} {
		o.Dir, o.Port = t.TempDir(), -1
		_, err := natsserver.Start(t.Context(), o)
		require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument}, name)
		require.ErrorContains(t, err, "--insecure", name)
	}
	start(t, natsserver.Options{Host: "0.0.0.0", Insecure: true})
	start(t, natsserver.Options{Host: "localhost"})
	start(t, natsserver.Options{Host: "127.0.0.2"})

	_, err := natsserver.Start(t.Context(), natsserver.Options{Dir: t.TempDir(), Port: -1, ConfigFile: config("authorization {")})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument})
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	port := portOf(t, start(t, natsserver.Options{}))
	dir := filepath.Join(t.TempDir(), "data")
	_, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir, Port: port})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, "--nats nats://127.0.0.1:"+strconv.Itoa(port))
	require.ErrorContains(t, err, "--port")
	require.NoDirExists(t, dir)
}

func TestDataFolderInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, natsserver.Options{Dir: dir})
	_, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir, Port: -1})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeFailedPrecondition})
	require.ErrorContains(t, err, dir+" is in use")

	first.Shutdown()
	start(t, natsserver.Options{Dir: dir})
}

// TestKilledServerLetsGoOfItsFolder starts a server on the folder of a process that was killed.
func TestKilledServerLetsGoOfItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := natstest.Cluster(t, 1, func(o *natsserver.Options) { o.Dir = dir })
	_, err := natsserver.Start(t.Context(), natsserver.Options{Dir: dir, Port: -1})
	require.ErrorContains(t, err, "is in use")

	c.Kill(0)
	require.FileExists(t, filepath.Join(dir, "carillon.lock"))
	start(t, natsserver.Options{Dir: dir})
}

func TestStartHonoursItsContext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	reason := errors.New("changed my mind")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	_, err := natsserver.Start(ctx, natsserver.Options{Dir: dir, Port: -1})
	require.ErrorIs(t, err, reason)
	start(t, natsserver.Options{Dir: dir}) // nothing is left of the first attempt
}

// TestStartCanBeInterrupted ends the context at many moments of the start. goleak detects whether anything is left.
func TestStartCanBeInterrupted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for after := time.Duration(0); after < 20*time.Millisecond; after += time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		server, err := natsserver.Start(ctx, options(t, natsserver.Options{Dir: dir}))
		if err == nil {
			server.Shutdown()
		} else {
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		cancel()
	}
	start(t, natsserver.Options{Dir: dir})
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for field, o := range map[string]natsserver.Options{
		"data":      {},
		"port":      {Dir: "x", Port: 65536},
		"sync":      {Dir: "x", Sync: "sometimes"},
		"name":      {Dir: "x", Name: "two words"},
		"max_store": {Dir: "x", MaxStore: -1},
		"cluster":   {Dir: "x", Cluster: &natsserver.ClusterOptions{Name: "c"}},
	} {
		_, err := natsserver.Start(t.Context(), o)
		var invalid *schedule.Error
		require.ErrorAs(t, err, &invalid, field)
		require.Equal(t, schedule.CodeInvalidArgument, invalid.Code)
		require.Equal(t, field, invalid.Field)
	}
}

func TestDataFolderThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := natsserver.Start(t.Context(), natsserver.Options{Dir: filepath.Join(file, "data"), Port: -1})
	require.ErrorIs(t, err, &schedule.Error{Code: schedule.CodeInvalidArgument})
	require.ErrorContains(t, err, "cannot be created")
}

// TestFatalErrorsOfTheServerAreReturned gives the server a store that it cannot use. A server in its own process would exit then.
func TestFatalErrorsOfTheServerAreReturned(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "jetstream"), []byte("not a folder"), 0o600))
	_, err := natsserver.Start(t.Context(), options(t, natsserver.Options{Dir: dir}))
	require.ErrorContains(t, err, "JetStream")
}

// TestLargestMessage sends an action request with an input and a last result of the largest size, in the worst case: each of
// their bytes is escaped.
func TestLargestMessage(t *testing.T) {
	t.Parallel()
	const largest, escaped, envelope = 512 << 10, len(`\u003c`), 64 << 10
	conn, err := start(t, natsserver.Options{}).Connect()
	require.NoError(t, err)
	defer conn.Close()
	require.EqualValues(t, natsserver.MaxPayload, conn.MaxPayload())
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "LARGE", Subjects: []string{"large"}})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), "large", bytes.Repeat([]byte("x"), 2*largest*escaped+envelope))
	require.NoError(t, err)
}

// TestShutdownKeepsEverything also shuts down twice, and from many goroutines at once.
func TestShutdownKeepsEverything(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := start(t, natsserver.Options{Dir: dir})
	bucket, closeFirst := openBucket(t, first)
	_, err := bucket.PutString(t.Context(), "key", "value")
	require.NoError(t, err)
	closeFirst()
	var group sync.WaitGroup
	for range 4 {
		group.Go(first.Shutdown)
	}
	group.Wait()

	bucket, closeSecond := openBucket(t, start(t, natsserver.Options{Dir: dir}))
	defer closeSecond()
	entry, err := bucket.Get(t.Context(), "key")
	require.NoError(t, err)
	require.Equal(t, "value", string(entry.Value()))
}

func TestLogGoesToSlog(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	server := start(t, natsserver.Options{Logger: slog.New(slog.NewTextHandler(&log, level))})
	server.Shutdown()
	require.Contains(t, log.String(), "level=DEBUG msg=\"Server is ready\" component=nats")
	require.NotContains(t, log.String(), "level=INFO", "an ordinary start is not worth a line")
	require.NotContains(t, log.String(), "level=WARN")
}

func start(t *testing.T, o natsserver.Options) *natsserver.Server {
	t.Helper()
	server, err := natsserver.Start(t.Context(), options(t, o))
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	return server
}

func options(t *testing.T, o natsserver.Options) natsserver.Options {
	o.Port = -1
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Logger == nil {
		o.Logger = natstest.Logger(t)
	}
	return o
}

func portOf(t *testing.T, server *natsserver.Server) int {
	t.Helper()
	port, err := strconv.Atoi(server.ClientURL()[strings.LastIndex(server.ClientURL(), ":")+1:])
	require.NoError(t, err)
	return port
}

func openBucket(t *testing.T, server *natsserver.Server) (jetstream.KeyValue, func()) {
	t.Helper()
	conn, err := server.Connect(nats.NoReconnect())
	require.NoError(t, err)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	bucket, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "bucket"})
	require.NoError(t, err)
	return bucket, conn.Close
}

// lockedBuffer can be read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
