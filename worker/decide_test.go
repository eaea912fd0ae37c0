package worker

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/carillon-scheduler/carillon/schedule"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func attempts(n int, nonRetryable ...string) *schedule.RetryPolicy {
	return &schedule.RetryPolicy{MaximumAttempts: n, NonRetryableErrorTypes: nonRetryable}
}

func TestBefore(t *testing.T) {
	t.Parallel()
	known := []string{"a", "b"}
	for name, test := range map[string]struct {
		policy   *schedule.RetryPolicy
		deadline time.Time
		arrival  arrival
		want     verdictKind
		status   schedule.Status
		failure  string
		delay    time.Duration
	}{
		"first delivery":         {arrival: arrival{delivery: 1, types: known}, want: execute},
		"redelivery, no policy":  {arrival: arrival{delivery: 7, types: known}, want: execute},
		"redelivery, unbounded":  {policy: attempts(0), arrival: arrival{delivery: 7, types: known}, want: execute},
		"last attempt":           {policy: attempts(3), arrival: arrival{delivery: 3, types: known}, want: execute},
		"attempts used up":       {policy: attempts(3), arrival: arrival{delivery: 4, types: known}, want: report, status: schedule.StatusFailed, failure: TypeWorkerLost},
		"canceled while queued":  {arrival: arrival{delivery: 1, types: known, cause: ErrCanceled}, want: report, status: schedule.StatusCanceled, failure: TypeCanceled},
		"canceled and used up":   {policy: attempts(1), arrival: arrival{delivery: 2, types: known, cause: ErrCanceled}, want: report, status: schedule.StatusCanceled, failure: TypeCanceled},
		"terminated":             {policy: attempts(1), arrival: arrival{delivery: 2, types: known, cause: ErrTerminated}, want: drop},
		"deadline to come":       {deadline: noon.Add(1), arrival: arrival{delivery: 1, types: known}, want: execute},
		"deadline now":           {deadline: noon, arrival: arrival{delivery: 1, types: known}, want: report, status: schedule.StatusTimedOut, failure: TypeTimeout},
		"stopping":               {arrival: arrival{delivery: 1, types: known, stopping: true}, want: giveBack},
		"stopping, attempt left": {policy: attempts(2), arrival: arrival{delivery: 1, types: known, stopping: true}, want: giveBack},
		"stopping, last attempt": {policy: attempts(1), arrival: arrival{delivery: 1, types: known, stopping: true}, want: execute},
		"no room for its type":   {policy: attempts(1), arrival: arrival{delivery: 1, types: known, crowded: true}, want: giveBack},
		"no room, but canceled":  {arrival: arrival{delivery: 1, types: known, crowded: true, cause: ErrCanceled}, want: report, status: schedule.StatusCanceled, failure: TypeCanceled},
		"unknown":                {arrival: arrival{delivery: 1}, want: giveBack, delay: 200 * time.Millisecond},
		"unknown again":          {arrival: arrival{delivery: 3}, want: giveBack, delay: 800 * time.Millisecond},
		"unknown, longest wait":  {arrival: arrival{delivery: 19}, want: giveBack, delay: 5 * time.Second},
		"unknown to all":         {arrival: arrival{delivery: 20}, want: report, status: schedule.StatusFailed, failure: TypeUnknownAction},
		"unknown, last attempt":  {policy: attempts(2), arrival: arrival{delivery: 2}, want: report, status: schedule.StatusFailed, failure: TypeUnknownAction},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &schedule.ActionRequest{Type: "a", TaskQueue: "q", RetryPolicy: test.policy, Deadline: test.deadline}
			test.arrival.now = noon
			got := before(req, test.arrival)
			assert.Equal(t, test.want, got.kind)
			assert.Equal(t, test.status, got.status)
			assert.Equal(t, test.delay, got.delay)
			assertFailureType(t, test.failure, got.failure)
		})
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	failed := &schedule.Failure{Type: "boom", Message: "it went boom"}
	for name, test := range map[string]struct {
		policy   *schedule.RetryPolicy
		deadline time.Time
		ending   ending
		want     verdictKind
		status   schedule.Status
		failure  string
		delay    time.Duration
	}{
		"success":                      {ending: ending{attempt: 1}, want: report, status: schedule.StatusCompleted},
		"success after cancel":         {ending: ending{attempt: 1, cause: ErrCanceled}, want: report, status: schedule.StatusCompleted},
		"success after deadline":       {ending: ending{attempt: 1, cause: ErrRunTimeout}, want: report, status: schedule.StatusCompleted},
		"success while stopping":       {ending: ending{attempt: 1, cause: ErrShutdown}, want: report, status: schedule.StatusCompleted},
		"success after terminate":      {ending: ending{attempt: 1, cause: ErrTerminated}, want: drop},
		"error after terminate":        {policy: attempts(0), ending: ending{attempt: 1, failure: failed, cause: ErrTerminated}, want: drop},
		"error, no policy":             {ending: ending{attempt: 1, failure: failed}, want: report, status: schedule.StatusFailed, failure: "boom"},
		"error, attempts left":         {policy: attempts(3), ending: ending{attempt: 2, failure: failed}, want: giveBack, failure: "boom", delay: 2 * time.Second},
		"error, unbounded":             {policy: attempts(0), ending: ending{attempt: 3, failure: failed}, want: giveBack, failure: "boom", delay: 4 * time.Second},
		"error, last attempt":          {policy: attempts(3), ending: ending{attempt: 3, failure: failed}, want: report, status: schedule.StatusFailed, failure: "boom"},
		"error, marked final":          {policy: attempts(3), ending: ending{attempt: 1, failure: failed, final: true}, want: report, status: schedule.StatusFailed, failure: "boom"},
		"error, listed final":          {policy: attempts(3, "x", "boom"), ending: ending{attempt: 1, failure: failed}, want: report, status: schedule.StatusFailed, failure: "boom"},
		"error, retry past deadline":   {policy: attempts(3), deadline: noon.Add(time.Second), ending: ending{attempt: 1, failure: failed}, want: report, status: schedule.StatusFailed, failure: "boom"},
		"error, retry before deadline": {policy: attempts(3), deadline: noon.Add(time.Second + 1), ending: ending{attempt: 1, failure: failed}, want: giveBack, failure: "boom", delay: time.Second},
		"canceled":                     {policy: attempts(3), ending: ending{attempt: 1, failure: failed, cause: ErrCanceled}, want: report, status: schedule.StatusCanceled, failure: "boom"},
		"deadline":                     {policy: attempts(3), ending: ending{attempt: 1, failure: failed, cause: ErrRunTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeTimeout},
		"attempt timed out, no policy": {ending: ending{attempt: 1, failure: failed, cause: ErrTaskTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeTimeout},
		"attempt timed out, retry":     {policy: attempts(2), ending: ending{attempt: 1, failure: failed, cause: ErrTaskTimeout}, want: giveBack, failure: TypeTimeout, delay: time.Second},
		"attempt timed out, last":      {policy: attempts(2), ending: ending{attempt: 2, failure: failed, cause: ErrTaskTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeTimeout},
		"attempt timed out, listed":    {policy: attempts(2, TypeTimeout), ending: ending{attempt: 1, failure: failed, cause: ErrTaskTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeTimeout},
		"silent, no policy":            {ending: ending{attempt: 1, failure: failed, cause: ErrHeartbeatTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeHeartbeatTimeout},
		"silent, retry":                {policy: attempts(2), ending: ending{attempt: 1, failure: failed, cause: ErrHeartbeatTimeout}, want: giveBack, failure: TypeHeartbeatTimeout, delay: time.Second},
		"silent, last":                 {policy: attempts(2), ending: ending{attempt: 2, failure: failed, cause: ErrHeartbeatTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeHeartbeatTimeout},
		"silent, listed":               {policy: attempts(2, TypeHeartbeatTimeout), ending: ending{attempt: 1, failure: failed, cause: ErrHeartbeatTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeHeartbeatTimeout},
		"silent, other type listed":    {policy: attempts(2, TypeTimeout, "boom"), ending: ending{attempt: 1, failure: failed, cause: ErrHeartbeatTimeout}, want: giveBack, failure: TypeHeartbeatTimeout, delay: time.Second},
		"silent, retry past deadline":  {policy: attempts(2), deadline: noon.Add(time.Second), ending: ending{attempt: 1, failure: failed, cause: ErrHeartbeatTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeHeartbeatTimeout},
		"silent, final error":          {policy: attempts(2), ending: ending{attempt: 1, failure: failed, final: true, cause: ErrHeartbeatTimeout}, want: report, status: schedule.StatusTimedOut, failure: TypeHeartbeatTimeout},
		"silent, but a success":        {ending: ending{attempt: 1, cause: ErrHeartbeatTimeout}, want: report, status: schedule.StatusCompleted},
		"left in the clean-up":         {policy: attempts(3), ending: ending{attempt: 1, failure: stillRunning(ErrTaskTimeout, nil), cause: ErrCanceled}, want: report, status: schedule.StatusCanceled, failure: TypeTimeout},
		"left silent in the clean-up":  {policy: attempts(3), ending: ending{attempt: 1, failure: stillRunning(ErrHeartbeatTimeout, nil), cause: ErrCanceled}, want: report, status: schedule.StatusCanceled, failure: TypeHeartbeatTimeout},
		"shutdown, no policy":          {ending: ending{attempt: 1, failure: failed, cause: ErrShutdown}, want: giveBack},
		"shutdown, final error":        {ending: ending{attempt: 1, failure: failed, final: true, cause: ErrShutdown}, want: giveBack},
		"shutdown, attempts left":      {policy: attempts(2), ending: ending{attempt: 1, failure: failed, cause: ErrShutdown}, want: giveBack},
		"shutdown in the last attempt": {policy: attempts(2), ending: ending{attempt: 2, failure: failed, cause: ErrShutdown}, want: report, status: schedule.StatusFailed, failure: TypeWorkerLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &schedule.ActionRequest{Type: "a", RetryPolicy: test.policy, Deadline: test.deadline}
			test.ending.now = noon
			test.ending.result = json.RawMessage(`"r"`)
			got := after(req, test.ending)
			assert.Equal(t, test.want, got.kind)
			assert.Equal(t, test.status, got.status)
			assert.Equal(t, test.delay, got.delay)
			assertFailureType(t, test.failure, got.failure)
			if test.status == schedule.StatusCompleted {
				assert.Equal(t, json.RawMessage(`"r"`), got.result)
			} else {
				assert.Empty(t, got.result)
			}
		})
	}
}

func TestTimeoutsKeepTheDetails(t *testing.T) {
	t.Parallel()
	for cause, message := range map[error]string{
		ErrTaskTimeout:      "the attempt has timed out: the handler ignores the end of its context and was left",
		ErrHeartbeatTimeout: "the attempt has shown no sign of life: the handler ignores the end of its context and was left",
	} {
		failure := stillRunning(cause, json.RawMessage(`{"row":3}`))
		got := after(&schedule.ActionRequest{}, ending{attempt: 1, failure: failure, cause: cause, now: noon}).failure
		assert.Equal(t, &schedule.Failure{Type: failure.Type, Message: message, Details: failure.Details}, got)
	}
}

func TestFirstLimit(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, test := range map[string]struct {
		deadline        time.Duration // after noon
		task, heartbeat time.Duration
		alive           time.Duration // after noon
		at              time.Duration // after noon
		limit           error
	}{
		"none":                       {},
		"deadline":                   {deadline: 3 * s, at: 3 * s, limit: ErrRunTimeout},
		"task":                       {deadline: 3 * s, task: 2 * s, at: 2 * s, limit: ErrTaskTimeout},
		"heartbeat":                  {deadline: 3 * s, task: 2 * s, heartbeat: s, at: s, limit: ErrHeartbeatTimeout},
		"heartbeat alone":            {heartbeat: s, alive: 5 * s, at: 6 * s, limit: ErrHeartbeatTimeout},
		"beats do not move the task": {task: 2 * s, heartbeat: s, alive: 1500 * time.Millisecond, at: 2 * s, limit: ErrTaskTimeout},
		"all at once":                {deadline: s, task: s, heartbeat: s, at: s, limit: ErrRunTimeout},
		"both of the attempt":        {task: s, heartbeat: s, at: s, limit: ErrTaskTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req := &schedule.ActionRequest{
				TaskTimeout: schedule.Duration(test.task), HeartbeatTimeout: schedule.Duration(test.heartbeat),
			}
			if test.deadline > 0 {
				req.Deadline = noon.Add(test.deadline)
			}
			at, limit := firstLimit(req, noon, noon.Add(test.alive))
			assert.Equal(t, test.limit, limit)
			if limit != nil {
				assert.Equal(t, noon.Add(test.at), at)
			}
		})
	}
}

func assertFailureType(t *testing.T, want string, got *schedule.Failure) {
	t.Helper()
	if want == "" {
		assert.Nil(t, got)
	} else if assert.NotNil(t, got) {
		assert.Equal(t, want, got.Type)
		assert.NotEmpty(t, got.Message)
	}
}

func TestUnknownTypeSaysWhatIsRegistered(t *testing.T) {
	t.Parallel()
	req := &schedule.ActionRequest{Type: "typo", TaskQueue: "reports"}
	message := before(req, arrival{delivery: 20, types: []string{"daily", "monthly"}}).failure.Message
	assert.Equal(t, `no worker of task queue "reports" knows the action type "typo"; `+
		`this one has registered: daily, monthly`, message)
	assert.Contains(t, before(req, arrival{delivery: 20}).failure.Message, "registered: none")
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, test := range map[string]struct {
		policy schedule.RetryPolicy
		want   map[int]time.Duration
	}{
		"defaults":  {schedule.RetryPolicy{}, map[int]time.Duration{1: s, 2: 2 * s, 3: 4 * s, 7: 64 * s, 8: 100 * s, 5000: 100 * s}},
		"initial":   {schedule.RetryPolicy{InitialInterval: schedule.Duration(3 * s)}, map[int]time.Duration{1: 3 * s, 2: 6 * s, 99: 300 * s}},
		"fraction":  {schedule.RetryPolicy{BackoffCoefficient: 1.5}, map[int]time.Duration{2: 1500 * time.Millisecond, 3: 2250 * time.Millisecond}},
		"constant":  {schedule.RetryPolicy{BackoffCoefficient: 1}, map[int]time.Duration{1: s, 1_000_000: s}},
		"maximum":   {schedule.RetryPolicy{MaximumInterval: schedule.Duration(3 * s)}, map[int]time.Duration{1: s, 2: 2 * s, 3: 3 * s, 9: 3 * s}},
		"below":     {schedule.RetryPolicy{InitialInterval: schedule.Duration(5 * s), MaximumInterval: schedule.Duration(s)}, map[int]time.Duration{1: s}},
		"very long": {schedule.RetryPolicy{InitialInterval: math.MaxInt64}, map[int]time.Duration{1: math.MaxInt64 / 2, 9: math.MaxInt64 / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for attempt, want := range test.want {
				got := backoff(&test.policy, attempt)
				assert.InDelta(t, float64(want), float64(got), 1e-6*float64(want), "attempt %d", attempt)
				assert.Positive(t, got)
			}
		})
	}
}
