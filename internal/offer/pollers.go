package offer

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/subjects"
)

// maxSeen bounds how many workers of a queue a gateway tells of. Workers choose their identities.
const maxSeen = 200

// Seen is a worker that has polled a queue in the last minutes.
type Seen struct {
	Identity string `json:"identity,omitempty"`
	BuildID  string `json:"buildId,omitempty"`
	// Access is when its last poll began.
	Access time.Time `json:"access,omitzero"`
}

// Polling is who polls a queue.
type Polling struct {
	// Workers are in the order of their identities.
	Workers []Seen
	// Limited says that the rate which workers have set kept a task from a poll in the last 30 s.
	Limited bool
}

// pollersAnswer is what a gateway answers to [WhoPolls].
type pollersAnswer struct {
	All     []Seen `json:"all,omitempty"`
	Limited bool   `json:"limited,omitempty"`
}

// WhoPolls asks all gateways who has polled a queue in the last minutes. It collects answers until ctx ends, which should be soon: nobody
// knows how many gateways there are. Errors: the queue is not valid, or those of NATS.
func WhoPolls(ctx context.Context, conn *nats.Conn, names subjects.Names, q Queue) (polling Polling, err error) {
	if err := q.Validate(); err != nil {
		return polling, err
	}
	newest := map[string]Seen{}
	err = presence.Ask(ctx, bus.Plain{Conn: conn}, names.Pollers(q), func(data []byte) {
		var one pollersAnswer
		if codec.Unmarshal(data, &one) != nil {
			return
		}
		polling.Limited = polling.Limited || one.Limited
		for _, s := range one.All {
			if known, is := newest[s.Identity]; !is || known.Access.Before(s.Access) {
				newest[s.Identity] = s
			}
		}
	})
	polling.Workers = slices.SortedFunc(maps.Values(newest), func(a, b Seen) int { return cmp.Compare(a.Identity, b.Identity) })
	return polling, err
}

// seen remembers the workers that have polled a queue in one gateway. It is pure.
type seen struct {
	remember time.Duration
	workers  map[string]Seen
}

func newSeen(remember time.Duration) *seen { return &seen{remember, map[string]Seen{}} }

// note notes a poll. If there are too many workers, the one that was here longest ago is forgotten.
func (s *seen) note(now time.Time, worker Poller) {
	if _, known := s.workers[worker.Identity]; !known && len(s.workers) >= maxSeen {
		oldest := Seen{Access: now.Add(time.Hour)}
		for _, one := range s.workers {
			if one.Access.Before(oldest.Access) {
				oldest = one
			}
		}
		delete(s.workers, oldest.Identity)
	}
	s.workers[worker.Identity] = Seen{Identity: worker.Identity, BuildID: worker.BuildID, Access: now}
}

// all returns the workers, in no order, and forgets those that have not been here for a while.
func (s *seen) all(now time.Time) []Seen {
	all := make([]Seen, 0, len(s.workers))
	for identity, one := range s.workers {
		if now.Sub(one.Access) >= s.remember {
			delete(s.workers, identity)
			continue
		}
		all = append(all, one)
	}
	return all
}
