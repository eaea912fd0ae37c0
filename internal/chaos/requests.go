package chaos

import (
	"context"
	"errors"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/schedule"
)

const (
	// lanes is how many requests are made at once. Requests about one schedule go one after the other.
	lanes = 16
	// callTimeout bounds one call. A call without an answer is repeated under the same request ID.
	callTimeout = 5 * time.Second
	repeatWait  = 250 * time.Millisecond
)

// caller makes the requests of a workload and remembers their outcomes.
type caller struct {
	client *client.Client
	lanes  [lanes]chan *request

	mu       sync.Mutex
	requests []*request
}

func newCaller(api *client.Client, operations []operation) *caller {
	c := &caller{client: api}
	for i := range c.lanes {
		c.lanes[i] = make(chan *request, len(operations)) // so that sending to it never waits
	}
	return c
}

// run makes the requests that it is given until done is called and all are answered, or ctx ends.
func (c *caller) run(ctx context.Context) {
	var group sync.WaitGroup
	for _, lane := range c.lanes {
		group.Go(func() {
			for request := range lane {
				c.make(ctx, request)
			}
		})
	}
	group.Wait()
}

// request hands over an operation; done says that no other will come.
func (c *caller) request(o operation) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(o.ID)) // it never fails
	c.lanes[hash.Sum32()%lanes] <- &request{operation: o}
}

func (c *caller) done() {
	for _, lane := range c.lanes {
		close(lane)
	}
}

// make makes one request until it is answered.
func (c *caller) make(ctx context.Context, r *request) {
	if ctx.Err() != nil {
		return
	}
	c.mu.Lock()
	r.Sent = time.Now()
	c.requests = append(c.requests, r)
	c.mu.Unlock()
	for ctx.Err() == nil {
		answer, err := c.call(ctx, r)
		if err == nil || !again(err) {
			c.answered(r, answer, err)
			return
		}
		_ = sleep.For(ctx, repeatWait)
	}
}

// again reports whether the outcome of a request is open.
func again(err error) bool {
	code := schedule.CodeOf(err)
	return code == schedule.CodeUnavailable || code == schedule.CodeInternal || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, context.Canceled)
}

func (c *caller) answered(r *request, answer request, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.Answered, r.Source, r.Since = time.Now(), answer.Source, answer.Since
	if err != nil {
		r.Refused = err.Error()
	}
}

// call makes a request once. The answer has the fields that the reply contains.
func (c *caller) call(ctx context.Context, r *request) (answer request, err error) {
	var d schedule.Description
	switch r.Verb {
	case Create:
		d, err = c.client.Create(ctx, schedule.CreateRequest{ID: r.ID, Schedule: r.Schedule, RequestID: r.RequestID})
		answer.Since = d.Info.CreateTime
	case Update:
		d, err = c.client.Update(ctx, schedule.UpdateRequest{ID: r.ID, Schedule: r.Schedule, RequestID: r.RequestID})
		answer.Since = d.Info.UpdateTime
	case Pause:
		_, err = c.client.Patch(ctx, schedule.PatchRequest{ID: r.ID, Pause: &schedule.Note{}, RequestID: r.RequestID})
	case Unpause:
		_, err = c.client.Patch(ctx, schedule.PatchRequest{ID: r.ID, Unpause: &schedule.Note{}, RequestID: r.RequestID})
	case Trigger:
		var reply schedule.TriggerReply
		reply, err = c.client.Trigger(ctx,
			schedule.TriggerRequest{ID: r.ID, Trigger: schedule.Trigger{Overlap: r.Overlap}, RequestID: r.RequestID})
		answer.Source = reply.TriggerID
	case Backfill:
		var reply schedule.BackfillReply
		reply, err = c.client.Backfill(ctx, schedule.BackfillRequest{ID: r.ID, BackfillRange: r.Range, RequestID: r.RequestID})
		answer.Source = reply.BackfillID
	}
	return answer, err
}

// all returns the requests so far, in the order in which they were sent.
func (c *caller) all() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	requests := make([]request, len(c.requests))
	for i, r := range c.requests {
		requests[i] = *r
	}
	slices.SortStableFunc(requests, func(a, b request) int { return a.Sent.Compare(b.Sent) })
	return requests
}

// open counts the requests that were sent and are not answered.
func (c *caller) open() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	open := 0
	for _, r := range c.requests {
		if r.Answered.IsZero() {
			open++
		}
	}
	return open
}
