package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
	"github.com/carillon-scheduler/carillon/worker"
)

// process is a carillon process of a test. Its methods are for the goroutine of the test.
type process struct {
	t      *testing.T
	binary string
	args   []string
	// env is added to the environment of the test.
	env []string
	cmd *exec.Cmd
	log *logBuffer
}

// binaryDir contains the binary; TestMain removes it.
var binaryDir string

// carillon builds the binary once for all tests of the package.
var carillon = sync.OnceValues(func() (binary string, err error) {
	if binaryDir, err = os.MkdirTemp("", "carillon"); err != nil {
		return "", err
	}
	binary = filepath.Join(binaryDir, "carillon")
	out, err := exec.Command("go", "build", "-o", binary, "github.com/carillon-scheduler/carillon/cmd/carillon").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build carillon: %w: %s", err, out)
	}
	return binary, nil
})

// newProcess prepares a process that is killed at the end of the test. In short mode the test is skipped: short mode is for the
// race detector, which does not see into other processes.
func newProcess(t *testing.T, args ...string) *process {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts processes")
	}
	binary, err := carillon()
	require.NoError(t, err)
	p := &process{t: t, binary: binary, args: args, log: &logBuffer{}}
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("output of carillon %s:\n%s", strings.Join(args, " "), p.log.tail(8000))
		}
	})
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(p.binary, p.args...)
	p.cmd.Env = append(append(os.Environ(), "CARILLON_GRPC=off", "CARILLON_CONSOLE=off"), p.env...) // many servers run side by side
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	require.NoError(p.t, p.cmd.Start())
}

// kill ends the process by SIGKILL: it has no time to write anything.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	p.cmd = nil
}

// logBuffer keeps what processes print.
type logBuffer struct {
	mu   sync.Mutex
	data bytes.Buffer
}

func (b *logBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(data)
}

func (b *logBuffer) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	data := b.data.Bytes()
	return string(data[max(len(data)-n, 0):])
}

// TestKillTheServerInTheMiddleOfFiring kills the whole server, embedded NATS and all roles, again and again while actions fire,
// and requires every action to have run exactly once in a worker that lives on.
func TestKillTheServerInTheMiddleOfFiring(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	url := "nats://127.0.0.1:" + strconv.Itoa(port)
	server := newProcess(t, "server", "--data", t.TempDir(), "--port", strconv.Itoa(port), "--task-queue", "builtin")
	server.start()

	conn := connectWhenUp(t, url)
	s := &system{t: t, names: subjects.Default(), conn: conn}
	var err error
	s.client, err = client.New(conn, client.Config{Timeout: 30 * time.Second})
	require.NoError(t, err)
	runs := s.work(conn, "q", func(ctx context.Context, _ *worker.Run) (any, error) {
		wait(ctx, 200*time.Millisecond) // so that kills hit runs in progress as well
		return nil, nil
	})

	policies := []schedule.OverlapPolicy{schedule.OverlapAllowAll, schedule.OverlapBufferAll}
	const schedules = 8
	var created [schedules]time.Time
	for i := range created {
		sched := every(time.Second)
		sched.Policies.Overlap = policies[i%len(policies)]
		created[i] = s.create(id(i), sched).Info.CreateTime
	}
	awaitRuns(t, runs, schedules, 2)
	random := rand.New(rand.NewPCG(1, 2))
	const kills = 5
	for range kills {
		// Just after a whole second everything is due.
		now := time.Now()
		moment := now.Truncate(time.Second).Add(time.Second).Add(time.Duration(random.IntN(60)) * time.Millisecond)
		wait(t.Context(), moment.Sub(now))
		server.kill()
		before := len(runs.of(id(0)))
		server.start()
		awaitRuns(t, runs, schedules, before+2)
	}
	end := time.Now()
	requireOnce(t, runs, created[:], end)
	for i := range created {
		info := s.describe(id(i)).Info
		assert.Zero(t, info.MissedCatchupWindow+info.OverlapSkipped+info.BufferDropped, id(i))
	}
}

// connectWhenUp connects to a server that may not be up yet, and reconnects forever.
func connectWhenUp(t *testing.T, url string) *nats.Conn {
	t.Helper()
	conn, err := nats.Connect(url, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.ReconnectJitter(0, 0))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	natstest.Eventually(t, natstest.Patience, "the server to be up", conn.IsConnected)
	return conn
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// wait lets real time pass: the tests kill at chosen moments of the clock.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
