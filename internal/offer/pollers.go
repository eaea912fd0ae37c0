package offer

import (
	"cmp"
	"context"
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

// pollersAnswer is what a gateway answers to [WhoPolls].
type pollersAnswer struct {
	All []Seen `json:"all,omitempty"`
}

// WhoPolls asks all gateways who has polled a queue in the last minutes. It collects answers until ctx ends, which should be soon: nobody
// knows how many gateways there are. The workers are in the order of their identities. Errors: the queue is not valid, or those of NATS.
func WhoPolls(ctx context.Context, conn *nats.Conn, names subjects.Names, q Queue) ([]Seen, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	newest := map[string]Seen{}
	err := presence.Ask(ctx, bus.Plain{Conn: conn}, names.Pollers(q), func(data []byte) {
		var one pollersAnswer
		if codec.Unmarshal(data, &one) != nil {
			return
		}
		for _, s := range one.All {
			if known, is := newest[s.Identity]; !is || known.Access.Before(s.Access) {
				newest[s.Identity] = s
			}
		}
	})
	all := make([]Seen, 0, len(newest))
	for _, s := range newest {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Seen) int { return cmp.Compare(a.Identity, b.Identity) })
	return all, err
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
