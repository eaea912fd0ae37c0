package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/worker"
	"github.com/carillon-scheduler/carillon/worker/workertest"
)

// failing is a payment service that is down for a while.
type failing struct {
	payments
	times int
}

func (f *failing) Charge(ctx context.Context, key, customer string, cents int) (string, error) {
	if f.times--; f.times >= 0 {
		return "", errors.New("the payment service is down")
	}
	return f.payments.Charge(ctx, key, customer, cents)
}

func TestCharge(t *testing.T) {
	s := &shop{payments: &failing{payments: newFakePayments(), times: 2}}
	result := workertest.Run(t, worker.HandlerOf(s.charge), workertest.Request{
		Input:       Invoice{Customer: "ann", Cents: 1999},
		NominalTime: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC),
		RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 5},
	})
	var receipt Receipt
	require.NoError(t, result.Decode(&receipt))
	assert.Equal(t, Receipt{Payment: "payment-1", Month: "2026-03"}, receipt)
	require.Len(t, result.Attempts, 3)
	assert.Equal(t, "the payment service is down", result.Attempts[1].Failure.Message)
	assert.Equal(t, 2*time.Second, result.Attempts[1].Delay)
}

func TestChargesThatNoRetryCanMend(t *testing.T) {
	s := &shop{payments: newFakePayments()}
	for input, want := range map[any]string{
		Invoice{Customer: "ann"}:                 "cents: 0 must be more than 0",
		Invoice{Customer: "ann", Cents: 100_001}: "the card was declined",
		"ann":                                    `the input does not fit action type "charge": it must be an object, not a string`,
	} {
		result := workertest.Run(t, worker.HandlerOf(s.charge), workertest.Request{
			Type: "charge", Input: input, RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 5},
		})
		assert.Equal(t, schedule.StatusFailed, result.Status)
		assert.Equal(t, want, result.Failure.Message)
		assert.Len(t, result.Attempts, 1)
	}
}

func TestExportGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // time passes at once
		s := &shop{orders: 5_000}
		result := workertest.Run(t, worker.HandlerOf(s.export), workertest.Request{
			LastResult:  Cursor{Order: 1_000},
			TaskTimeout: 2500 * time.Millisecond,
			RetryPolicy: &schedule.RetryPolicy{MaximumAttempts: 5},
		})
		var cursor Cursor
		require.NoError(t, result.Decode(&cursor))
		assert.Equal(t, Cursor{Order: 5_000}, cursor)
		require.Len(t, result.Attempts, 2, "4,000 orders take 4 s")
		assert.Equal(t, worker.TypeTimeout, result.Attempts[0].Failure.Type)
	})
}

func TestExportIsCanceled(t *testing.T) {
	s := &shop{orders: 1_000_000}
	run := workertest.Start(t, worker.HandlerOf(s.export), workertest.Request{})
	run.NextHeartbeat() // it has begun
	run.Cancel()
	assert.Equal(t, schedule.StatusCanceled, run.Wait().Status)
}
