package scheduleproto

import (
	"cmp"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/carillon-scheduler/carillon/schedule"
)

// The defaults of a retry policy: see [schedule.RetryPolicy].
const (
	defaultInterval    = time.Second
	defaultCoefficient = 2
	defaultLongest     = 100 // times the initial interval
)

// withDefaults fills in what a retry policy leaves out, as Temporal's answers do.
func withDefaults(p *commonpb.RetryPolicy) *commonpb.RetryPolicy {
	if p == nil {
		return nil
	}
	initial := cmp.Or(p.InitialInterval.AsDuration(), defaultInterval)
	p.InitialInterval, p.BackoffCoefficient = durationpb.New(initial), cmp.Or(p.BackoffCoefficient, defaultCoefficient)
	p.MaximumInterval = durationpb.New(cmp.Or(p.MaximumInterval.AsDuration(), defaultLongest*initial))
	return p
}

func parseRetries(p *commonpb.RetryPolicy) (*schedule.RetryPolicy, error) {
	if p == nil {
		return nil, nil
	}
	policy := &schedule.RetryPolicy{
		BackoffCoefficient: p.BackoffCoefficient, MaximumAttempts: int(p.MaximumAttempts), NonRetryableErrorTypes: p.NonRetryableErrorTypes,
	}
	var err error
	if policy.InitialInterval, err = parseDuration("initialInterval", p.InitialInterval); err != nil {
		return nil, err
	}
	policy.MaximumInterval, err = parseDuration("maximumInterval", p.MaximumInterval)
	return policy, err
}
