package cli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

func TestMain(m *testing.M) { natstest.Main(m) }

// process is one run of the program in a test.
type process struct {
	env    map[string]string
	files  map[string]string
	stdin  string
	stdout buffer
	stderr buffer
	now    time.Time
	width  int
}

// run runs a command line to its end and returns the exit code.
func (p *process) run(ctx context.Context, args ...string) int { return Main(ctx, p.Env(), args) }

// Env returns the surroundings of the process. If the test has set a time, the clock stands still.
func (p *process) Env() Env {
	now := time.Now
	if !p.now.IsZero() {
		now = func() time.Time { return p.now }
	}
	return Env{
		Stdin: strings.NewReader(p.stdin), Stdout: &p.stdout, Stderr: &p.stderr,
		UseZones:  func(*zonedata.Data) {}, // all tests share the zones of the test process
		LookupEnv: func(name string) (string, bool) { value, ok := p.env[name]; return value, ok },
		ReadFile: func(path string) ([]byte, error) {
			if text, ok := p.files[path]; ok {
				return []byte(text), nil
			}
			if filepath.IsAbs(path) { // a file that the test has written
				return os.ReadFile(path)
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		},
		Width: func() int { return p.width },
		Now:   now, Zone: time.UTC,
	}
}

// buffer is a bytes.Buffer that can be read while a process writes to it.
type buffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.String()
}
