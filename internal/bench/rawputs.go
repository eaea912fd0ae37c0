package bench

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/carillon-scheduler/carillon/internal/sleep"
	"github.com/carillon-scheduler/carillon/subjects"
)

const (
	rawPublishers = 64
	rawBytes      = 600
	// rawWarmup is the fraction of the time that is added before, and not measured.
	rawWarmup = 4
)

// rawPuts measures the server without Carillon: how many messages it stores per second, from publishers that wait for each
// acknowledgement. The stream it uses is removed again.
func rawPuts(
	ctx context.Context, js jetstream.JetStream, names subjects.Names, replicas, size int, d time.Duration,
) (rate Rate, err error) {
	config := jetstream.StreamConfig{
		Name: rawStream(names), Subjects: []string{names.Prefix() + ".bench.>"},
		Storage: jetstream.FileStorage, Replicas: replicas, AllowDirect: true,
	}
	if _, err := js.CreateStream(ctx, config); err != nil {
		return 0, fmt.Errorf("bench: create a scratch stream: %w", err)
	}
	defer func() {
		err = errors.Join(err, js.DeleteStream(context.WithoutCancel(ctx), config.Name))
	}()
	var stored atomic.Int64
	publishing, stop := context.WithCancel(ctx)
	defer stop()
	var publishers errgroup.Group
	for i := range rawPublishers {
		subject, payload := rawSubject(names, i), make([]byte, size)
		publishers.Go(func() error {
			for publishing.Err() == nil {
				// The context of the run ends a publish; the end of the measurement only ends the loop.
				if _, err := js.Publish(ctx, subject, payload); err != nil {
					return fmt.Errorf("bench: publish: %w", err)
				}
				stored.Add(1)
			}
			return nil
		})
	}
	rate = rateOver(ctx, &stored, d)
	stop()
	return rate, errors.Join(publishers.Wait(), ctx.Err())
}

// rateOver returns how fast a counter grows, after its warm-up.
func rateOver(ctx context.Context, counter *atomic.Int64, d time.Duration) Rate {
	_ = sleep.For(ctx, d/rawWarmup)
	before, from := counter.Load(), time.Now()
	_ = sleep.For(ctx, d)
	return Rate(float64(counter.Load()-before) / time.Since(from).Seconds())
}
