package bench

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The kinds of measured workflows, which are the names of their types.
const (
	kindEmpty    = "empty"
	kindActivity = "activity"
	kindTimer    = "timer"
	kindSignal   = "signal"

	kindSleeping  = "sleeping"
	kindLong      = "long"
	kindCollector = "collector"
	kindFan       = "fan"
	kindChain     = "chain"
)

const (
	// activityName is the name of the activity.
	activityName = "stamp"
	// shortTimer is how long the workflow of the kind timer waits.
	shortTimer = 10 * time.Millisecond
	// longTimer is how long a sleeping workflow waits.
	longTimer = 24 * time.Hour
)

// measured is the code of the measured workflows, and what is known of those that it runs. It is safe for concurrent use.
type measured struct {
	workerCounts
	// began is when the code of each workflow began, by run. A replay does not change that.
	began sync.Map
}

func (m *measured) register(w sdkworker.Registry) {
	for kind, code := range map[string]func(workflow.Context) error{
		kindEmpty: nothing, kindActivity: oneActivity, kindTimer: oneTimer, kindSignal: oneSignal, kindSleeping: sleeper,
	} {
		w.RegisterWorkflowWithOptions(m.timed(code), workflow.RegisterOptions{Name: kind})
	}
	for kind, code := range map[string]any{kindLong: long, kindCollector: collector, kindFan: fan, kindChain: chain} {
		w.RegisterWorkflowWithOptions(code, workflow.RegisterOptions{Name: kind})
	}
	w.RegisterActivityWithOptions(m.stamp, activity.RegisterOptions{Name: activityName})
}

// timed makes a workflow of some code, whose result is when the code began, in nanoseconds since 1970 by the clock of this machine.
func (m *measured) timed(code func(workflow.Context) error) func(workflow.Context) (int64, error) {
	return func(ctx workflow.Context) (int64, error) {
		run := workflow.GetInfo(ctx).WorkflowExecution.RunID
		at, again := m.began.LoadOrStore(run, time.Now().UnixNano())
		if !again {
			m.begun.Add(1)
		}
		err := code(ctx)
		m.began.Delete(run)
		m.ended.Add(1)
		return at.(int64), err
	}
}

// stamp is the activity. It returns when it ran, in nanoseconds since 1970.
func (m *measured) stamp(context.Context) (int64, error) {
	m.activities.Add(1)
	return time.Now().UnixNano(), nil
}

func nothing(workflow.Context) error { return nil }

func oneActivity(ctx workflow.Context) error {
	return workflow.ExecuteActivity(withActivities(ctx, ""), activityName).Get(ctx, nil)
}

// withActivities lets activities run on a task queue; "" is that of the workflow.
func withActivities(ctx workflow.Context, queue string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, TaskQueue: queue})
}

func oneTimer(ctx workflow.Context) error { return workflow.Sleep(ctx, shortTimer) }

func oneSignal(ctx workflow.Context) error { return collector(ctx, 1) }

// collector waits for a number of signals.
func collector(ctx workflow.Context, signals int) error {
	for ; signals > 0; signals-- {
		workflow.GetSignalChannel(ctx, signalName).Receive(ctx, nil)
	}
	return nil
}

// fan runs activities on a task queue, all of them at once, and returns when each of them ran.
func fan(ctx workflow.Context, queue string, activities int) ([]int64, error) {
	ctx = withActivities(ctx, queue)
	running := make([]workflow.Future, activities)
	for i := range running {
		running[i] = workflow.ExecuteActivity(ctx, activityName)
	}
	return stampsOf(ctx, running)
}

func stampsOf(ctx workflow.Context, running []workflow.Future) ([]int64, error) {
	stamps := make([]int64, len(running))
	for i, future := range running {
		if err := future.Get(ctx, &stamps[i]); err != nil {
			return nil, err
		}
	}
	return stamps, nil
}

// chain runs activities on request: so many, one after the other or at once. A signal ends it.
func chain(ctx workflow.Context) error {
	err := workflow.SetUpdateHandler(ctx, updateName, func(ctx workflow.Context, activities int, atOnce bool) ([]int64, error) {
		if atOnce {
			return fan(ctx, "", activities)
		}
		ctx = withActivities(ctx, "")
		stamps := make([]int64, activities)
		for i := range stamps {
			if err := workflow.ExecuteActivity(ctx, activityName).Get(ctx, &stamps[i]); err != nil {
				return nil, err
			}
		}
		return stamps, nil
	})
	if err != nil {
		return err
	}
	return collector(ctx, 1)
}

// sleeper waits for a day, or for a signal that wakes it.
func sleeper(ctx workflow.Context) error {
	timer, stop := workflow.WithCancel(ctx)
	defer stop()
	woken := false
	workflow.NewSelector(ctx).
		AddFuture(workflow.NewTimer(timer, longTimer), func(workflow.Future) {}).
		AddReceive(workflow.GetSignalChannel(ctx, signalName), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			woken = true
		}).
		Select(ctx)
	if !woken {
		return errors.New("nobody has woken it for a day")
	}
	return nil
}

// long takes signals forever, and tells how many it has taken.
func long(ctx workflow.Context) error {
	taken := 0
	if err := workflow.SetQueryHandler(ctx, queryName, func() (int, error) { return taken, nil }); err != nil {
		return err
	}
	for signals := workflow.GetSignalChannel(ctx, signalName); ; taken++ {
		signals.Receive(ctx, nil)
	}
}
