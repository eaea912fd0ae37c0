package worker

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
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
)

// Config says what a worker serves and how. Only TaskQueue is required.
type Config struct {
	// Namespace is the namespace of the task queue: 1 to 63 of a-z, 0-9 and '-'. Empty means DefaultNamespace.
	Namespace string
	// TaskQueue is the queue to take runs from: 1 to 255 bytes without control characters. Required.
	TaskQueue string
	// Prefix is the prefix of the installation's NATS names. Empty means subjects.DefaultPrefix.
	Prefix string
	// JetStreamAPIPrefix is for a worker in a NATS account of its own. It is the beginning of the subjects under which the account imports
	// the JetStream API of the installation, for example "js.carillon.API". Empty means "$JS.API", the API of the worker's own account.
	// Without a NATS connection it is not used.
	JetStreamAPIPrefix string
	// Concurrency is how many runs the worker executes at once, at most 10,000. The worker never takes more runs from the queue than it can
	// execute. Runs that have ended and are only being reported do not count. Zero means DefaultConcurrency.
	Concurrency int
	// ConcurrencyByType is how many runs of an action type the worker executes at once, in addition to Concurrency: at least 1. A run that
	// waits for this limit stays with the worker and uses one of the places of Concurrency. If runs of one type could fill all places, give
	// that type a task queue of its own. Handlers that were left do not count. A type that is not listed has no limit of its own.
	ConcurrencyByType map[string]int
	// Middleware wraps each handler, the first one outermost. The worker handles panics of handlers outside of all middleware.
	Middleware []Middleware
	// Identity names the worker in completions and logs, for people. Empty means host name and process ID.
	Identity string
	// DrainTimeout is how long handlers may continue after the worker began to stop. Then the worker cancels their contexts with
	// ErrShutdown and gives their runs back; Run returns within half a second. Zero means DefaultDrainTimeout. A negative value cancels at
	// once. The maximum is one hour.
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

// validate checks a Config that has its defaults, and returns the subject names of the worker.
func (c Config) validate() (subjects.Names, error) {
	names, err := subjects.New(c.Prefix)
	return names, cmp.Or(
		err,
		schedule.ValidateNamespace(c.Namespace),
		schedule.ValidateID("taskQueue", c.TaskQueue),
		within("concurrency", c.Concurrency, 1, maxConcurrency),
		c.validateTypes(),
		c.validateMiddleware(),
		atMost("drainTimeout", c.DrainTimeout, maxDrainTimeout),
	)
}

// validateAPIPrefix refuses a prefix that cannot begin a subject: messages published there would be lost.
func (c Config) validateAPIPrefix() error {
	if c.JetStreamAPIPrefix == "" {
		return nil
	}
	for token := range strings.SplitSeq(strings.TrimSuffix(c.JetStreamAPIPrefix, "."), ".") {
		if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r == '*' || r == '>' || r == 0x7f }) {
			return schedule.Invalid("jetStreamAPIPrefix", "%q cannot begin a NATS subject: use tokens with dots between them, without * and >",
				c.JetStreamAPIPrefix)
		}
	}
	return nil
}

func (c Config) validateTypes() error {
	for _, name := range slices.Sorted(maps.Keys(c.ConcurrencyByType)) {
		if err := within("concurrencyByType["+name+"]", c.ConcurrencyByType[name], 1, maxConcurrency); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) validateMiddleware() error {
	for i, middleware := range c.Middleware {
		if middleware == nil {
			return schedule.Invalid(fmt.Sprintf("middleware[%d]", i), "is nil")
		}
	}
	return nil
}

func within(field string, value, least, most int) error {
	if value < least || value > most {
		return schedule.Invalid(field, "%d must be %d to %d", value, least, most)
	}
	return nil
}

func atMost(field string, value, most time.Duration) error {
	if value > most {
		return schedule.Invalid(field, "%s must be at most %s", value, most)
	}
	return nil
}

func defaultIdentity() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s-%d", host, os.Getpid())
}
