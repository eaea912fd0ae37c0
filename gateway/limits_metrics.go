package gateway

import (
	"context"

	"golang.org/x/time/rate"

	"github.com/carillon-scheduler/carillon/internal/metrics"
)

// The limits that the metrics tell apart.
const (
	ofRequests = iota
	ofLists
	ofPolls
)

// limitNames are the limits in the metrics.
var limitNames = [ofPolls + 1]string{metrics.LimitRequests, metrics.LimitLists, metrics.LimitPolls}

// admission is how many requests a limit has let through and refused.
type admission struct{ admitted, refused int64 }

// note counts a request, and returns what it is given.
func (a *admission) note(admitted bool) bool {
	if admitted {
		a.admitted++
	} else {
		a.refused++
	}
	return admitted
}

// observe shows the limits, and how many requests they let through and refused. The counting costs requests nothing that way, because they have the lock
// anyhow.
func (l *limits) observe(_ context.Context, o metrics.Observer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for namespace, u := range l.of {
		for limit, counted := range u.admissions {
			if counted != (admission{}) {
				o.Total(metrics.GatewayAdmissions, counted.admitted, namespace, limitNames[limit], metrics.AdmittedYes)
				o.Total(metrics.GatewayAdmissions, counted.refused, namespace, limitNames[limit], metrics.AdmittedNo)
			}
		}
		for limit, of := range [...]*rate.Limiter{ofRequests: u.requests, ofLists: u.lists} {
			if of != nil {
				o.Gauge(metrics.GatewayLimit, float64(of.Limit()), namespace, limitNames[limit])
			}
		}
	}
}
