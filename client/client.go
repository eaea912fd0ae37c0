package client

import (
	"os"
	"os/user"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The defaults of [Config].
const (
	DefaultNamespace = "default"
	DefaultTimeout   = 15 * time.Second
	// DefaultMaximumAttempts is how often a request is sent at most.
	DefaultMaximumAttempts = 5
)

// Config says how a [Client] connects and what it asks for. Each zero field means its default.
type Config struct {
	// Namespace is where the schedules live. Default: "default".
	Namespace string
	// Prefix is the prefix of the installation's NATS names. Default: "carillon".
	Prefix string
	// Identity names the caller in the event history: text of at most 255 bytes. Default: the user and the host, "ann@desk".
	Identity string
	// Timeout bounds one call with its retries; a context may end it earlier. Default: 15 s.
	Timeout time.Duration
	// MaximumAttempts is how often a request is sent at most. The pauses between attempts begin with 100 ms and double. 1 means once.
	// Default: 5.
	MaximumAttempts int
	// Refusals tell requests that NATS refuses them, if they handle the errors of the connection. Nil: such a request ends when its time is over.
	Refusals *Refusals
}

// Client sends requests to the frontends of one installation, for one namespace. [New] makes one. It is safe for concurrent use.
type Client struct {
	conn      *nats.Conn
	names     subjects.Names
	namespace string
	identity  string
	timeout   time.Duration

	maximumAttempts int
	refusals        *Refusals
}

// New returns a client that uses a connection. The caller still owns the connection. New sends nothing; its errors are about the
// configuration.
func New(conn *nats.Conn, config Config) (*Client, error) {
	if conn == nil {
		return nil, schedule.Invalid("conn", "is missing: a client needs a connection to NATS")
	}
	if config.Namespace == "" {
		config.Namespace = DefaultNamespace
	}
	if err := schedule.ValidateNamespace(config.Namespace); err != nil {
		return nil, err
	}
	if config.Prefix == "" {
		config.Prefix = subjects.DefaultPrefix
	}
	names, err := subjects.New(config.Prefix)
	if err != nil {
		return nil, err
	}
	if config.Timeout < 0 {
		return nil, schedule.Invalid("timeout", "%s is negative: use a positive duration, or 0 for the default", config.Timeout)
	}
	if config.Timeout == 0 {
		config.Timeout = DefaultTimeout
	}
	if config.MaximumAttempts < 0 {
		return nil, schedule.Invalid("maximumAttempts", "%d is negative: use 1 or more, or 0 for the default", config.MaximumAttempts)
	}
	if config.MaximumAttempts == 0 {
		config.MaximumAttempts = DefaultMaximumAttempts
	}
	if config.Identity == "" {
		config.Identity = defaultIdentity()
	}
	return &Client{
		conn: conn, names: names, namespace: config.Namespace, identity: config.Identity, timeout: config.Timeout,
		maximumAttempts: config.MaximumAttempts, refusals: config.Refusals,
	}, nil
}

// In returns a client on the same connection that speaks for another namespace.
func (c *Client) In(namespace string) (*Client, error) { return c.With(namespace, c.identity) }

// With returns a client on the same connection that speaks for another namespace and names another caller.
func (c *Client) With(namespace, identity string) (*Client, error) {
	if err := schedule.ValidateNamespace(namespace); err != nil {
		return nil, err
	}
	other := *c
	other.namespace, other.identity = namespace, identity
	return &other, nil
}

// Namespace returns the namespace the client speaks for.
func (c *Client) Namespace() string { return c.namespace }

// defaultIdentity names the user and the host, as far as the system knows them.
func defaultIdentity() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, err := os.Hostname()
	if err != nil {
		return name
	}
	return name + "@" + host
}

// headerText makes text fit for a header. The frontend cuts text that is too long.
func headerText(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
}
