package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/carillon-scheduler/carillon/worker"
)

// shop has the handlers, and what they need.
type shop struct {
	payments payments
	orders   int // how many orders there are to export
}

// payments is a service that takes money, once for each key.
type payments interface {
	Charge(ctx context.Context, key, customer string, cents int) (payment string, err error)
}

// errDeclined: the customer's bank refuses.
var errDeclined = errors.New("the card was declined")

// Invoice is the input of the action "charge".
type Invoice struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

// Receipt is its result.
type Receipt struct {
	Payment string `json:"payment"`
	Month   string `json:"month"`
}

// charge takes the money for an invoice. It may be called again for a run that has charged already, as when its worker died
// before it could say so; the request ID keeps the customer from paying twice.
func (s *shop) charge(ctx context.Context, in Invoice) (Receipt, error) {
	if in.Cents <= 0 {
		return Receipt{}, worker.InvalidInput("cents: %d must be more than 0", in.Cents)
	}
	run, _ := worker.FromContext(ctx)
	payment, err := s.payments.Charge(ctx, run.RequestID, in.Customer, in.Cents)
	if errors.Is(err, errDeclined) {
		return Receipt{}, worker.NonRetryable(err) // to try again would not help
	}
	return Receipt{Payment: payment, Month: run.NominalTime.Format("2006-01")}, err
}

// Cursor is how far the export has come: the result of each run, and what its heartbeats record.
type Cursor struct {
	Order int `json:"order"`
}

// export copies the orders that have come since the last run. An attempt goes on where the one before it stopped.
func (s *shop) export(ctx context.Context, _ struct{}) (Cursor, error) {
	cursor, err := whereToBegin(ctx)
	for err == nil && cursor.Order < s.orders {
		if err = s.copyOrder(ctx, cursor.Order); err == nil {
			cursor.Order++
			err = worker.Heartbeat(ctx, cursor) // why the run is over, if it is
		}
	}
	return cursor, err
}

// whereToBegin returns what an earlier attempt of this run has recorded, or else where the last run ended.
func whereToBegin(ctx context.Context) (Cursor, error) {
	cursor, ok, err := worker.LastHeartbeat[Cursor](ctx)
	if ok || err != nil {
		return cursor, err
	}
	cursor, _, err = worker.LastResult[Cursor](ctx)
	return cursor, err
}

// copyOrder stands for work that takes a while.
func (s *shop) copyOrder(ctx context.Context, _ int) error {
	select {
	case <-time.After(time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// fakePayments keeps its payments in memory.
type fakePayments struct {
	mu   sync.Mutex
	made map[string]string // by key
}

func newFakePayments() *fakePayments { return &fakePayments{made: map[string]string{}} }

// Charge declines what is more than 1,000.00.
func (f *fakePayments) Charge(_ context.Context, key, _ string, cents int) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if cents > 100_000 {
		return "", errDeclined
	}
	if _, known := f.made[key]; !known {
		f.made[key] = fmt.Sprintf("payment-%d", len(f.made)+1)
	}
	return f.made[key], nil
}
