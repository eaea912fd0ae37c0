package execution

import (
	"math"
	"slices"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
)

// The retry policies of activities and of workflows follow the same rules.

// retryPolicy fills in what a retry policy leaves open. The message says what is wrong; it is empty if nothing is.
func retryPolicy(asked *commonpb.RetryPolicy) (_ *commonpb.RetryPolicy, message string) {
	policy := &commonpb.RetryPolicy{}
	if asked != nil {
		policy = proto.CloneOf(asked)
	}
	if policy.GetInitialInterval().AsDuration() == 0 {
		policy.InitialInterval = durationpb.New(time.Second)
	}
	if policy.GetBackoffCoefficient() == 0 {
		policy.BackoffCoefficient = 2
	}
	if policy.GetMaximumInterval().AsDuration() == 0 {
		policy.MaximumInterval = durationpb.New(100 * policy.GetInitialInterval().AsDuration())
	}
	switch {
	case policy.GetInitialInterval().AsDuration() < 0:
		return nil, "InitialInterval is negative"
	case policy.GetBackoffCoefficient() < 1:
		return nil, "BackoffCoefficient is less than 1"
	case policy.GetMaximumInterval().AsDuration() < policy.GetInitialInterval().AsDuration():
		return nil, "MaximumInterval is less than InitialInterval"
	case policy.GetMaximumAttempts() < 0:
		return nil, "MaximumAttempts is negative"
	}
	return policy, ""
}

// workflowRetryPolicy is retryPolicy for workflows, which are not tried again unless a policy is given.
func workflowRetryPolicy(asked *commonpb.RetryPolicy) (_ *commonpb.RetryPolicy, message string) {
	if asked == nil {
		return nil, ""
	}
	return retryPolicy(asked)
}

// nextAttempt decides about another attempt after one, counted from 1, that has failed; after a reset, which counts as 0. The pause comes before it. The state says that there is
// one (in progress), or why there is none. expires is until when it must start; zero for no limit.
func nextAttempt(
	policy *commonpb.RetryPolicy, attempt int32, failure *failurepb.Failure, now, expires time.Time,
) (pause time.Duration, state enumspb.RetryState) {
	if !retryable(failure, policy.GetNonRetryableErrorTypes()) {
		return 0, enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE
	}
	if limit := policy.GetMaximumAttempts(); limit > 0 && attempt >= limit {
		return 0, enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED
	}
	pause = pauseAfter(policy, max(attempt, 1))
	if asked := failure.GetApplicationFailureInfo().GetNextRetryDelay(); asked != nil {
		pause = max(asked.AsDuration(), 0)
	}
	if !expires.IsZero() && now.Add(pause).After(expires) {
		return 0, enumspb.RETRY_STATE_TIMEOUT
	}
	return pause, enumspb.RETRY_STATE_IN_PROGRESS
}

// retryable reports whether a failure allows another attempt.
func retryable(failure *failurepb.Failure, never []string) bool {
	switch info := failure.GetFailureInfo().(type) {
	case *failurepb.Failure_ApplicationFailureInfo:
		return !info.ApplicationFailureInfo.GetNonRetryable() && !slices.Contains(never, info.ApplicationFailureInfo.GetType())
	case *failurepb.Failure_ServerFailureInfo:
		return !info.ServerFailureInfo.GetNonRetryable()
	case *failurepb.Failure_TimeoutFailureInfo:
		kind := info.TimeoutFailureInfo.GetTimeoutType()
		return (kind == enumspb.TIMEOUT_TYPE_START_TO_CLOSE || kind == enumspb.TIMEOUT_TYPE_HEARTBEAT) &&
			!slices.Contains(never, "TemporalTimeout:"+kind.String())
	case *failurepb.Failure_CanceledFailureInfo, *failurepb.Failure_TerminatedFailureInfo:
		return false
	}
	return true
}

// pauseAfter is the pause after an attempt, from 1.
func pauseAfter(policy *commonpb.RetryPolicy, attempt int32) time.Duration {
	pause := float64(policy.GetInitialInterval().AsDuration()) * math.Pow(policy.GetBackoffCoefficient(), float64(attempt-1))
	longest := policy.GetMaximumInterval().AsDuration()
	if longest > 0 && pause > float64(longest) {
		return longest
	}
	if pause > math.MaxInt64/2 {
		return math.MaxInt64 / 2
	}
	return time.Duration(pause)
}
