package offer

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/presence"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	// maxCounted bounds the queues whose tasks a process counts: those that had tasks last. They take about 4 MB. Workers choose the names of queues.
	maxCounted = 10_000
	// quietFor is after how long without tasks a queue is forgotten: nothing of them weighs anything then.
	quietFor = 10 * time.Minute
)

// Rates are how many tasks in a second come to a queue, and how many of its tasks go to workers: on average over about the last 30 s, and the newest
// tasks count most. They are about all tasks of the queue, also those that a worker got at once. They are not about activities that a worker
// got with the answer to its workflow task: these never come to the queue.
type Rates struct {
	Added      float64 `json:"added,omitempty"`
	Dispatched float64 `json:"dispatched,omitempty"`
}

// prioritized are the rates of the tasks with one priority.
type prioritized struct {
	Priority int   `json:"priority,omitempty"`
	Rates    Rates `json:"rates,omitzero"`
}

// ratesAnswer is what a process answers to [AskRates].
type ratesAnswer struct {
	All []prioritized `json:"all,omitempty"`
}

// AskRates asks all processes that offer tasks how many of a queue they have added and dispatched, and adds it up by priority, from
// subjects.FirstPriority to subjects.LastPriority. A priority that had no tasks of late is missing. It collects answers until ctx ends, which should be soon, as for
// [WhoPolls]. Errors: the queue is not valid, or those of NATS.
func AskRates(ctx context.Context, conn *nats.Conn, names subjects.Names, q Queue) (map[int]Rates, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	sum := map[int]Rates{}
	return sum, presence.Ask(ctx, bus.Plain{Conn: conn}, names.TaskRates(q), func(data []byte) {
		var one ratesAnswer
		if codec.Unmarshal(data, &one) != nil {
			return
		}
		for _, of := range one.All {
			if of.Priority >= subjects.FirstPriority && of.Priority <= subjects.LastPriority {
				has := sum[of.Priority]
				sum[of.Priority] = Rates{has.Added + of.Rates.Added, has.Dispatched + of.Rates.Dispatched}
			}
		}
	})
}

// Count counts how many tasks with a priority, 0 for the usual one, have been added to a queue and dispatched from it. Each task is counted once when
// it comes; [Offerer.Store] does that by itself. It is counted once when it goes: a worker has got it, or a poll was found for it and nobody
// wanted it any more. Only [AskRates] tells of it.
func (o *Offerer) Count(q Queue, priority, added, dispatched int) {
	o.counts.count(o.config.Now(), q, priority, added, dispatched)
}

// tellRates answers [AskRates].
func (o *Offerer) tellRates(question *nats.Msg) {
	q, err := o.config.Names.ParseQueue(question.Subject)
	if err != nil || question.Reply == "" || o.config.Names.IsOwn(question.Reply) { // on such a subject, an answer would have an effect
		return
	}
	all := o.counts.of(o.config.Now(), q)
	if len(all) == 0 {
		return
	}
	if data, err := codec.Marshal(&ratesAnswer{All: all}); err == nil {
		_ = o.config.Conn.PublishMsg(&nats.Msg{Subject: question.Reply, Data: data}) // the asker may ask again
	}
}

// counts counts the tasks of queues. It is safe for concurrent use.
type counts struct {
	began time.Time

	mu     sync.Mutex
	queues *simplelru.LRU[Queue, *flows] // the one that had a task last is the newest
}

// flows are the tasks of a queue, by priority.
type flows struct {
	added, dispatched [subjects.LastPriority + 1]decaying
	last              time.Duration // when there was one
}

func newCounts(began time.Time, most int) *counts {
	queues, _ := simplelru.NewLRU[Queue, *flows](max(most, 1), nil) // fails only for a size below 1
	return &counts{began: began, queues: queues}
}

// count counts tasks. A priority that is none counts as the usual one.
func (c *counts) count(now time.Time, q Queue, priority, added, dispatched int) {
	if priority < subjects.FirstPriority || priority > subjects.LastPriority {
		priority = subjects.DefaultPriority
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := now.Sub(c.began)
	f, known := c.queues.Get(q)
	if !known {
		c.forget(at)
		f = &flows{}
		c.queues.Add(q, f)
	}
	f.last = at
	if added > 0 {
		f.added[priority] = f.added[priority].add(at, added)
	}
	if dispatched > 0 {
		f.dispatched[priority] = f.dispatched[priority].add(at, dispatched)
	}
}

// forget forgets the queues that have been quiet. The caller has the lock.
func (c *counts) forget(at time.Duration) {
	for {
		_, oldest, any := c.queues.GetOldest()
		if !any || at-oldest.last < quietFor {
			return
		}
		c.queues.RemoveOldest()
	}
}

// of returns the rates of a queue, of each priority that had tasks of late.
func (c *counts) of(now time.Time, q Queue) (all []prioritized) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, known := c.queues.Peek(q)
	if !known {
		return nil
	}
	at := now.Sub(c.began)
	for priority := range f.added {
		if r := (Rates{f.added[priority].perSecond(at), f.dispatched[priority].perSecond(at)}); r != (Rates{}) {
			all = append(all, prioritized{priority, r})
		}
	}
	return all
}
