package frontend

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/frontend/internal/schedules"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/jobs"
	"github.com/carillon-scheduler/carillon/internal/taskqueue"
	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// LocalConfig is what a [Local] needs. All fields are required.
type LocalConfig struct {
	Bus   bus.Bus
	Store *kv.Store
	// Cluster holds the named calendars and the background jobs.
	Cluster *kv.Cluster
	Names   subjects.Names
	Logger  *slog.Logger
	// Now is the clock; NewID makes unique IDs of one subject token.
	Now   func() time.Time
	NewID func() string
}

// Local carries out the verbs that change something, without a service around them. The simulation uses it, which has no
// connection. The verb of a thing other than a schedule has the name of the thing before it, as in "calendar-create". Local
// assumes that every namespace exists, reads no task queues, and has no search index. It is safe for concurrent use.
type Local struct {
	jobs  jobs.Config
	verbs map[string]handler
}

// NewLocal returns a frontend without a service.
func NewLocal(config LocalConfig) *Local {
	store := jobs.NewStore(config.Cluster)
	s := schedules.New(schedules.Config{
		Names: config.Names, Bus: config.Bus, Store: config.Store, Cluster: config.Cluster, Jobs: store,
		Logger: config.Logger, Acts: config.Logger, Now: config.Now, NewID: config.NewID, GuardDelay: DefaultGuardDelay,
		MaxReply: func() int { return int(config.Bus.MaxPayload()) - replyOverhead },
		Queue: func(context.Context, string, string) (taskqueue.Status, error) {
			return taskqueue.Status{Pulling: true}, nil
		},
	})
	l := &Local{jobs: jobs.Config{Store: store, Works: s.Works(), Logger: config.Logger, Now: config.Now}, verbs: map[string]handler{}}
	for _, e := range slices.Concat(writeEndpoints(s), runEndpoints(s), calendarEndpoints(s), bulkEndpoints(s)) {
		l.verbs[e.name()] = e.handle
	}
	return l
}

// RunJobs works on background jobs until ctx ends. It returns when the jobs that it then has are given back. owner is a name that
// no other runner has. It may be called once.
func (l *Local) RunJobs(ctx context.Context, owner string) {
	config := l.jobs
	config.Owner = owner
	jobs.NewRunner(config).Run(ctx)
}

// Answer carries out one request with a JSON body, within the time that the service gives it. The reply is the value that the
// service would encode.
func (l *Local) Answer(ctx context.Context, namespace, verb, identity string, body []byte) (any, error) {
	handler, ok := l.verbs[verb]
	if !ok {
		return nil, schedule.Errorf(schedule.CodeInvalidArgument, "there is no verb %q", verb)
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultRequestTimeout)
	defer cancel()
	return handler.answer(request.WithIdentity(ctx, identity), namespace, body, apitext.DecodeJSON)
}
