package gateway

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// tidyEvery is how often namespaces that do not exist any more are forgotten.
const tidyEvery = time.Minute

// listing are the methods that look through many executions or schedules. They have a limit of their own.
var listing = map[string]bool{
	"ListOpenWorkflowExecutions": true, "ListClosedWorkflowExecutions": true, "ListWorkflowExecutions": true,
	"ListArchivedWorkflowExecutions": true, "ScanWorkflowExecutions": true, "CountWorkflowExecutions": true,
	"ListSchedules": true, "CountSchedules": true, "ListWorkers": true, "CountWorkers": true, "ListBatchOperations": true,
	"ListActivityExecutions": true, "CountActivityExecutions": true, "ListNexusOperationExecutions": true, "CountNexusOperationExecutions": true,
}

// isUnlimited reports whether a method has no limits: an administrator reaches a namespace that is too busy, and every client may begin.
func isUnlimited(method string) bool {
	needed := needs[method]
	return len(needed.anyOf) == 0 || needed.everywhere || slices.Contains(needed.anyOf, subjects.RightAdmin)
}

// waits says who waits with a request for something to happen.
type waits int

const (
	nobodyWaits waits = iota
	clientWaits
	workerWaits
)

// whoWaits says who may wait with a request.
func whoWaits(request any) waits {
	switch r := request.(type) {
	case *workflowservice.PollWorkflowTaskQueueRequest, *workflowservice.PollActivityTaskQueueRequest, *workflowservice.PollNexusTaskQueueRequest:
		return workerWaits
	case *workflowservice.QueryWorkflowRequest, *workflowservice.UpdateWorkflowExecutionRequest, *workflowservice.PollWorkflowExecutionUpdateRequest,
		*workflowservice.ExecuteMultiOperationRequest:
		return clientWaits
	case *workflowservice.GetWorkflowExecutionHistoryRequest:
		if r.WaitNewEvent {
			return clientWaits
		}
	}
	return nobodyWaits
}

// limits holds the requests of each namespace to what this gateway accepts. Other gateways accept as much. The zero value is ready. It is safe
// for concurrent use.
type limits struct {
	mu sync.Mutex
	of map[string]*usage
}

// usage is what one namespace uses.
type usage struct {
	requests, lists *rate.Limiter // nil before the first
	// waiting are the requests that wait, by who waits: clients that wait for results must not keep out the workers that bring them.
	waiting [workerWaits + 1]int
	// admissions are how many requests each limit has let through or refused.
	admissions [ofPolls + 1]admission
}

// enter admits a request of a namespace. The caller calls leave when it has been answered.
func (l *limits) enter(n *schedule.Namespace, method string, request any, now time.Time) (leave func(), err error) {
	if isUnlimited(method) {
		return func() {}, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.usage(n.Name)
	limit, perSecond, field := &u.requests, cmp.Or(n.Limits.WorkflowRequestsPerSecond, schedule.DefaultWorkflowRequestsPerSecond), "workflowRequestsPerSecond"
	counted := &u.admissions[ofRequests]
	if listing[method] {
		limit, perSecond, field = &u.lists, cmp.Or(n.Limits.WorkflowListsPerSecond, schedule.DefaultWorkflowListsPerSecond), "workflowListsPerSecond"
		counted = &u.admissions[ofLists]
	}
	if !counted.note(take(limit, perSecond, now)) {
		return nil, exhausted(enums.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "namespace %s has had its %v requests of this second (limits.%s)", n.Name, perSecond, field)
	}
	who := whoWaits(request)
	if who == nobodyWaits {
		return func() {}, nil
	}
	most := cmp.Or(n.Limits.MaxWorkflowPolls, schedule.DefaultMaxWorkflowPolls)
	if !u.admissions[ofPolls].note(u.waiting[who] < most) {
		return nil, exhausted(enums.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT, "%d requests of namespace %s wait already (limits.maxWorkflowPolls)", most, n.Name)
	}
	u.waiting[who]++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.waiting[who]--
	}), nil
}

func (l *limits) usage(namespace string) *usage {
	if l.of == nil {
		l.of = map[string]*usage{}
	}
	u := l.of[namespace]
	if u == nil {
		u = &usage{}
		l.of[namespace] = u
	}
	return u
}

// take takes a request out of a limit, which becomes one of perSecond first. As many as in a second may come at once.
func take(limit **rate.Limiter, perSecond float64, now time.Time) bool {
	burst := max(1, int(math.Ceil(perSecond)))
	switch {
	case *limit == nil:
		*limit = rate.NewLimiter(rate.Limit(perSecond), burst)
	case (*limit).Limit() != rate.Limit(perSecond):
		(*limit).SetLimitAt(now, rate.Limit(perSecond))
		(*limit).SetBurstAt(now, burst)
	}
	return (*limit).AllowN(now, 1)
}

// tidy forgets namespaces that do not exist any more, until ctx ends.
func (g *Gateway) tidy(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			g.limits.forget(func(namespace string) bool {
				_, exists := g.config.Known.Get(namespace)
				return exists
			})
		}
	}
}

// forget forgets the namespaces that do not exist any more.
func (l *limits) forget(exists func(namespace string) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, u := range l.of {
		if u.waiting == [workerWaits + 1]int{} && !exists(name) {
			delete(l.of, name)
		}
	}
}

func exhausted(cause enums.ResourceExhaustedCause, format string, arguments ...any) error {
	return &serviceerror.ResourceExhausted{
		Cause: cause, Scope: enums.RESOURCE_EXHAUSTED_SCOPE_NAMESPACE, Message: fmt.Sprintf(format, arguments...),
	}
}
