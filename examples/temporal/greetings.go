package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

func register(w worker.Registry) {
	w.RegisterWorkflow(Hello)
	w.RegisterWorkflow(Order)
	w.RegisterActivity(Greet)
	w.RegisterActivity(Pack)
}

// Hello greets somebody by an activity.
func Hello(ctx workflow.Context, name string) (string, error) {
	if name == "" {
		name = "world"
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var greeting string
	err := workflow.ExecuteActivity(ctx, Greet, name).Get(ctx, &greeting)
	return greeting, err
}

// Greet is the activity of [Hello].
func Greet(_ context.Context, name string) (string, error) {
	return "Hello, " + name + "!", nil
}

// Order packs a number of items, waits for the signal "paid" or gives up after a while, and says how it went. The query "state" tells how far it
// is.
func Order(ctx workflow.Context, items int, patience time.Duration) (string, error) {
	state := "packing"
	if err := workflow.SetQueryHandler(ctx, "state", func() (string, error) { return state, nil }); err != nil {
		return "", err
	}
	packing := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		HeartbeatTimeout:    5 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumAttempts: 5},
	})
	var packed int
	if err := workflow.ExecuteActivity(packing, Pack, items).Get(ctx, &packed); err != nil {
		return "", err
	}
	state = "waiting for the payment"
	paid := false
	timer, cancelTimer := workflow.WithCancel(ctx)
	workflow.NewSelector(ctx).
		AddReceive(workflow.GetSignalChannel(ctx, "paid"), func(c workflow.ReceiveChannel, _ bool) {
			c.Receive(ctx, nil)
			paid = true
			cancelTimer()
		}).
		AddFuture(workflow.NewTimer(timer, patience), func(workflow.Future) {}).
		Select(ctx)
	if !paid {
		state = "given up"
		return "", temporal.NewApplicationError(fmt.Sprintf("%d items packed, but nobody paid within %v", packed, patience), "NotPaid")
	}
	state = "sent"
	return fmt.Sprintf("%d items sent", packed), nil
}

// errJam is what happens to the machine now and then.
var errJam = errors.New("the packing machine is jammed")

// Pack packs items one by one. The machine jams at the first attempt, after half of them; the next attempt goes on where that one was, by the
// details of its last heartbeat.
func Pack(ctx context.Context, items int) (int, error) {
	packed := 0
	if activity.HasHeartbeatDetails(ctx) {
		if err := activity.GetHeartbeatDetails(ctx, &packed); err != nil {
			return 0, err
		}
	}
	for packed < items {
		if packed == items/2 && activity.GetInfo(ctx).Attempt == 1 {
			return packed, errJam
		}
		packed++
		activity.RecordHeartbeat(ctx, packed)
	}
	return packed, nil
}
