package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
)

// TestLostQuestions: a server that dies takes with it what it was asked. Whoever asks then learns so soon, however long its own caller would wait.
func TestLostQuestions(t *testing.T) {
	t.Parallel()
	conn, _ := natstest.Connect(t, natstest.Shared(t))
	lost := natstest.Names(t).Prefix() + "-lost"
	_, err := conn.SubscribeSync(lost + ".>") // so that nobody says that nobody answers
	require.NoError(t, err)
	js, err := jetstream.NewWithAPIPrefix(conn, lost)
	require.NoError(t, err)
	b := bus.New(js)
	t.Cleanup(b.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	defer cancel()
	soon, stop := context.WithTimeout(t.Context(), natstest.Patience)
	defer stop()
	questions := map[string]func(ctx context.Context) error{
		"last":      func(ctx context.Context) error { _, err := b.Last(ctx, "S", "s"); return err },
		"latest":    func(ctx context.Context) error { _, err := b.Latest(ctx, "S", "s"); return err },
		"next":      func(ctx context.Context) error { _, err := b.Next(ctx, "S", "s", 1); return err },
		"at":        func(ctx context.Context) error { _, err := b.At(ctx, "S", 1); return err },
		"subject":   func(ctx context.Context) error { _, err := b.Subject(ctx, "S", "s", 1, 2); return err },
		"counts":    func(ctx context.Context) error { _, err := b.Counts(ctx, "S", "s"); return err },
		"subjects":  func(ctx context.Context) error { _, err := b.Subjects(ctx, "S", "s"); return err },
		"floor":     func(ctx context.Context) error { _, err := b.Floor(ctx, "S", "c"); return err },
		"backlog":   func(ctx context.Context) error { _, err := b.Backlog(ctx, "S", "c"); return err },
		"delivered": func(ctx context.Context) error { _, err := b.Delivered(ctx, "S", "c"); return err },
		"remove":    func(ctx context.Context) error { return b.Remove(ctx, "S", 1) },
		"purge":     func(ctx context.Context) error { return b.Purge(ctx, "S", "s") },
		"consumer": func(ctx context.Context) error {
			_, err := b.Consumer(ctx, "S", jetstream.ConsumerConfig{Durable: "c"})
			return err
		},
		"pull": func(ctx context.Context) error {
			_, err := b.Pull(ctx, "S", jetstream.ConsumerConfig{Durable: "c"})
			return err
		},
	}
	failed := make(map[string]chan error, len(questions))
	for name, ask := range questions {
		answer := make(chan error, 1)
		failed[name] = answer
		go func() { answer <- ask(ctx) }()
	}
	for name, answer := range failed {
		select {
		case err := <-answer:
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
		case <-soon.Done():
			t.Fatalf("%s waits as long as its caller", name)
		}
	}
}
