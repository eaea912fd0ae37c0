package calendars

import (
	"context"
	"log/slog"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/listing"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Config is what a [Service] needs. All fields are required.
type Config struct {
	// Cluster holds the calendars, Store the definitions of the schedules that use them, Jobs the jobs that re-plan these.
	Cluster *kv.Cluster
	Store   *kv.Store
	Jobs    *jobs.Store
	// Keys lists the schedules of a namespace; KeysAndTraces also lists schedules that are gone.
	Keys, KeysAndTraces *listing.KeyLists
	Logger              *slog.Logger
	// Now is the clock; NewID makes unique IDs.
	Now   func() time.Time
	NewID func() string
	// GuardDelay is longer than any request is worked on.
	GuardDelay time.Duration
	// MaxReply returns how many bytes a reply may have.
	MaxReply func() int
}

// Service carries out the verbs about named calendars. Requests come validated. It keeps nothing between requests, and is safe for
// concurrent use.
type Service struct{ config Config }

// New returns a service.
func New(config Config) *Service { return &Service{config} }

// Work returns what the background jobs of [KindReplan] do. The function replan brings one schedule up to date with the newest version of
// a calendar, and reports whether it has changed it.
func (s *Service) Work(replan func(ctx context.Context, key schedule.Key, newest *Calendar) (changed bool, err error)) jobs.Work {
	return work{s, replan}
}
