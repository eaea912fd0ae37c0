package archival

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/internal/namespaces"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// The defaults of [Config].
const (
	DefaultRunsPerSecond  = 500
	DefaultBytesPerSecond = 32 << 20
)

// Source reads executions that have ended: see workflows.Client.
type Source interface {
	Describe(context.Context, *workflowservice.DescribeWorkflowExecutionRequest) (*workflowservice.DescribeWorkflowExecutionResponse, error)
	History(context.Context, *workflowservice.GetWorkflowExecutionHistoryRequest) (*workflowservice.GetWorkflowExecutionHistoryResponse, error)
}

// Config sets up a [Service]. JS, Source, Shards and Namespaces are required; the other zero fields take the defaults that they name.
type Config struct {
	// JS is the connection to NATS. The service does not close it.
	JS jetstream.JetStream
	// Bus is the access to the journals; that of JS by default. The service does not close it.
	Bus bus.Streams
	// Source reads the executions.
	Source Source
	// Names are the names of the installation; subjects.Default() by default.
	Names  subjects.Names
	Shards int
	// Replicas is how many servers keep a bucket of JetStream that the service makes; 1 by default.
	Replicas int
	// Namespaces says which namespaces ask for an archive.
	Namespaces namespaces.Source
	// Allowed are URLs of buckets that namespaces may use, besides the one of the installation: each of them, and what is below it. New refuses what
	// is no URL of a bucket.
	Allowed []string
	// RunsPerSecond and BytesPerSecond bound what a process archives: [DefaultRunsPerSecond] and [DefaultBytesPerSecond] by default. What is written is
	// read back, and counts once.
	RunsPerSecond, BytesPerSecond float64
	// Every is how often to look for runs that have ended; 5 s by default. A process that has been silent for four times that has lost its turn.
	Every time.Duration
	// RetryEvery is how often runs are tried again that were left behind; a minute by default.
	RetryEvery time.Duration
	// Logger is slog.Default() by default.
	Logger *slog.Logger
	// Now is the clock; time.Now by default.
	Now func() time.Time

	// writeLimit bounds how long it may take to write a run, apart from what its size takes; a minute by default.
	writeLimit time.Duration
	// open opens the bucket of a namespace; archive.Store by default.
	open func(ctx context.Context, address string) (*archive.Bucket, error)
}

func (c Config) withDefaults() (Config, error) {
	if c.JS == nil || c.Source == nil || c.Shards < 1 || c.Namespaces == nil {
		return c, errors.New("archival: Config.JS, Config.Source, Config.Shards and Config.Namespaces are required")
	}
	if c.RunsPerSecond < 0 || c.BytesPerSecond < 0 {
		return c, errors.New("archival: Config.RunsPerSecond and Config.BytesPerSecond must not be negative")
	}
	for _, one := range c.Allowed {
		if err := (schedule.NamespaceLimits{Archive: one}).Validate(); err != nil {
			return c, fmt.Errorf("archival: what namespaces may use (--archive-allow): %w", err)
		}
	}
	if c.Names == (subjects.Names{}) {
		c.Names = subjects.Default()
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	c.Logger = flood.Limit(c.Logger.With("pool", subjects.RoleArchival))
	if c.Now == nil {
		c.Now = time.Now //permit:time.Now the default
	}
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.RunsPerSecond, c.BytesPerSecond = cmp.Or(c.RunsPerSecond, DefaultRunsPerSecond), cmp.Or(c.BytesPerSecond, DefaultBytesPerSecond)
	c.Every, c.RetryEvery = cmp.Or(c.Every, 5*time.Second), cmp.Or(c.RetryEvery, time.Minute)
	c.writeLimit = cmp.Or(c.writeLimit, time.Minute)
	return c, nil
}
