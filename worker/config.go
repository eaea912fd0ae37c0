package worker

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Defaults and bounds of Config.
const (
	// DefaultNamespace is the namespace of a Config that names none.
	DefaultNamespace = "default"
	// DefaultConcurrency is how many runs a worker executes at once.
	DefaultConcurrency = 100
	// DefaultDrainTimeout is how long a worker that stops waits for its handlers.
	DefaultDrainTimeout = 4 * time.Second

	maxConcurrency  = 10_000
	maxDrainTimeout = time.Hour
	maxNameBytes    = 255
)

// Config says what a worker serves and how. Only TaskQueue is required.
type Config struct {
	// Namespace is the namespace of the task queue: 1 to 63 of a-z, 0-9 and '-'. Empty means DefaultNamespace.
	Namespace string
	// TaskQueue is the queue to take runs from: 1 to 255 bytes without control characters. Required.
	TaskQueue string
	// Prefix is the prefix of the installation's NATS names. Empty means subjects.DefaultPrefix.
	Prefix string
	// Concurrency is how many runs the worker executes at once, at most 10,000; it never takes more from the queue than
	// it can execute. Zero means DefaultConcurrency.
	Concurrency int
	// Identity names the worker in completions and logs, for people. Empty means host name and process ID.
	Identity string
	// DrainTimeout is how long a worker that stops lets handlers run before it cancels their contexts with ErrShutdown
	// and gives their runs back. Run returns within half a second after it. Zero means DefaultDrainTimeout; a negative
	// value means to cancel at once; the most is one hour.
	DrainTimeout time.Duration
	// Logger receives the worker's logs. Nil means slog.Default().
	Logger *slog.Logger
}

// withDefaults returns a copy with every zero field set.
func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = DefaultNamespace
	}
	if c.Prefix == "" {
		c.Prefix = subjects.DefaultPrefix
	}
	if c.Concurrency == 0 {
		c.Concurrency = DefaultConcurrency
	}
	if c.Identity == "" {
		c.Identity = defaultIdentity()
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = DefaultDrainTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// validate checks a Config that has its defaults, and returns the names it works with.
func (c Config) validate() (subjects.Names, error) {
	names, err := subjects.New(c.Prefix)
	switch {
	case err != nil:
		return subjects.Names{}, err
	case !isNamespace(c.Namespace):
		return subjects.Names{}, schedule.Invalid("namespace", "%q must be 1 to 63 of a-z, 0-9 and '-'", c.Namespace)
	case !isName(c.TaskQueue):
		return subjects.Names{}, schedule.Invalid("taskQueue", "%q must be 1 to %d bytes without control characters",
			c.TaskQueue, maxNameBytes)
	case c.Concurrency < 1 || c.Concurrency > maxConcurrency:
		return subjects.Names{}, schedule.Invalid("concurrency", "%d must be 1 to %d", c.Concurrency, maxConcurrency)
	case c.DrainTimeout > maxDrainTimeout:
		return subjects.Names{}, schedule.Invalid("drainTimeout", "%s must be at most %s", c.DrainTimeout, maxDrainTimeout)
	}
	return names, nil
}

func isNamespace(s string) bool {
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return s != "" && len(s) <= 63
}

func isName(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return s != "" && len(s) <= maxNameBytes
}

func defaultIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}
