package roster

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/worker/v1"

	"github.com/carillon-scheduler/carillon/internal/flood"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// TTL is how long a worker is known after its last heartbeat. Workers send one each minute, or more often.
	TTL = 5 * time.Minute
	// maxWorkers is how many workers of a namespace are known. Clients choose their keys, so somebody may invent any number.
	maxWorkers = 20_000
	// sweepEvery is how often silent workers are forgotten.
	sweepEvery = 15 * time.Second
)

// Config is what a roster needs. All fields are required.
type Config struct {
	// Conn reaches the other gateways.
	Conn   *nats.Conn
	Names  subjects.Names
	Logger *slog.Logger
	// Now is the clock by which workers are silent.
	Now func() time.Time
}

// Roster knows the workers of all namespaces. Its methods are safe for concurrent use. [New] makes one.
type Roster struct {
	config Config
	log    *slog.Logger

	mu sync.Mutex
	// of has the workers of each namespace, by their instance keys.
	of map[string]map[string]entry
}

// entry is a worker that is known.
type entry struct {
	beat *worker.WorkerHeartbeat
	// at is when it was heard of, by the clock of this gateway.
	at time.Time
}

// New returns a roster that knows nobody yet.
func New(config Config) *Roster {
	return &Roster{config: config, log: flood.Limit(config.Logger), of: map[string]map[string]entry{}}
}

// All returns the last heartbeats of the workers of a namespace, in the order of their instance keys. The caller must not change them.
func (r *Roster) All(namespace string) []*worker.WorkerHeartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now()
	all := make([]*worker.WorkerHeartbeat, 0, len(r.of[namespace]))
	for _, known := range r.of[namespace] {
		if !known.isSilent(now) {
			all = append(all, known.beat)
		}
	}
	slices.SortFunc(all, func(a, b *worker.WorkerHeartbeat) int { return cmp.Compare(a.WorkerInstanceKey, b.WorkerInstanceKey) })
	return all
}

// Find returns the last heartbeat of a worker, which the caller must not change; nil if it is not known.
func (r *Roster) Find(namespace, instanceKey string) *worker.WorkerHeartbeat {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.of[namespace][instanceKey]
	if !ok || known.isSilent(r.config.Now()) {
		return nil
	}
	return known.beat
}

func (e entry) isSilent(now time.Time) bool { return now.Sub(e.at) >= TTL }

// take notes a heartbeat that was heard some time ago. What is not newer than what is known changes nothing.
func (r *Roster) take(namespace string, beat *worker.WorkerHeartbeat, ago time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	workers, key := r.of[namespace], beat.WorkerInstanceKey
	before, isKnown := workers[key]
	if ago >= TTL || isKnown && !isNewer(beat, before.beat) {
		return
	}
	if beat.Status == enums.WORKER_STATUS_SHUTDOWN {
		delete(workers, key)
		return
	}
	if !isKnown && len(workers) >= maxWorkers {
		r.log.Warn("worker not listed: its namespace has too many", "namespace", namespace, "limit", maxWorkers)
		return
	}
	if workers == nil {
		workers = map[string]entry{}
		r.of[namespace] = workers
	}
	workers[key] = entry{completed(beat, before.beat), r.config.Now().Add(-ago)}
}

// isNewer compares heartbeats of one worker by its own clock. A gateway hears its own messages, too, and the same heartbeat again when another gateway
// begins. One that does not say when it was sent counts as new.
func isNewer(beat, before *worker.WorkerHeartbeat) bool {
	return beat.HeartbeatTime == nil || beat.HeartbeatTime.AsTime().After(before.GetHeartbeatTime().AsTime())
}

// completed returns a heartbeat with what a worker says only once.
func completed(beat, before *worker.WorkerHeartbeat) *worker.WorkerHeartbeat {
	if beat.Environment == nil {
		beat.Environment = before.GetEnvironment()
	}
	return beat
}

// forget forgets the workers that are silent.
func (r *Roster) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.config.Now()
	for namespace, workers := range r.of {
		for key, known := range workers {
			if known.isSilent(now) {
				delete(workers, key)
			}
		}
		if len(workers) == 0 {
			delete(r.of, namespace)
		}
	}
}
