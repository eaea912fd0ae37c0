package bulk

import (
	"context"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/events"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Operation does to one schedule what the request for that schedule would do. The request ID makes it idempotent. The error has the code
// not_found if there is no such schedule.
type Operation func(ctx context.Context, key schedule.Key, requestID string, task *schedule.BulkTask) (jobs.ItemResult, error)

// Config is what a [Service] needs. All fields are required.
type Config struct {
	// Jobs holds the operations. Keys lists the schedules of a namespace.
	Jobs *jobs.Store
	Keys *listing.KeyLists
	// Events reads and writes the event history.
	Events *events.Publisher
	Logger *slog.Logger
	// Now is the clock; NewID makes unique IDs.
	Now   func() time.Time
	NewID func() string
	// Operations has an entry for each operation of schedule.BulkOperations.
	Operations map[schedule.BulkOperation]Operation
	// ParseQuery reads a query. Find returns the schedules that match one, whose IDs come after an ID, in order: at most limit.
	ParseQuery func(text string) (*query.Query, error)
	Find       func(ctx context.Context, namespace, text, after string, limit int) ([]string, error)
}

// Service carries out the verbs about bulk operations. Requests come validated. It keeps nothing between requests, and is safe for
// concurrent use.
type Service struct{ config Config }

// New returns a service.
func New(config Config) *Service { return &Service{config} }

// Works returns what the background jobs of each kind do. Jobs that go by a query need a search index; a frontend without one leaves them
// to others.
func (s *Service) Works(indexed bool) map[string]jobs.Work {
	works := map[string]jobs.Work{}
	for operation := range s.config.Operations {
		works[bulkKind+string(operation)] = work{s}
		if indexed {
			works[queryKind+string(operation)] = work{s}
		}
	}
	return works
}
