package natstest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// Stored returns how many messages of each subject a stream has. It leaves out the pulse of a task stream, which always exists.
func Stored(ctx context.Context, js jetstream.JetStream, stream string) (map[string]uint64, error) {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return nil, err
	}
	stored := map[string]uint64{}
	for subject, count := range info.State.Subjects {
		if !strings.HasSuffix(subject, ".pulse") && !strings.HasSuffix(subject, ".pulsed") {
			stored[subject] = count
		}
	}
	return stored, nil
}

// ForgetSoon makes a stream remember message IDs for the shortest possible time: a tenth of a second.
func ForgetSoon(t testing.TB, js jetstream.JetStream, stream string) {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	require.NoError(t, err)
	config := s.CachedInfo().Config
	config.Duplicates = 100 * time.Millisecond
	_, err = js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
}

// StopPulse removes the pulse of a task stream, for tests that look at every message of a stream.
func StopPulse(ctx context.Context, js jetstream.JetStream, stream, timer, pulse string) error {
	s, err := js.Stream(ctx, stream)
	if err != nil {
		return err
	}
	for _, subject := range []string{timer, pulse} {
		if err := s.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}
