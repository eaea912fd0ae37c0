package consistency

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/bus"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// walkTo returns the rest of the subjects of a trail.
func walkTo(t *testing.T, trail *trail) (rest []string) {
	t.Helper()
	for {
		met, err := trail.next(t.Context())
		require.NoError(t, err)
		if len(met) == 0 {
			return rest
		}
		rest = append(rest, met...)
	}
}

func TestTrail(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	bucket := natstest.Names(t).Prefix()
	records, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucket})
	require.NoError(t, err)
	put := func(names ...string) {
		for _, name := range names {
			_, err := records.Put(t.Context(), name, []byte(name))
			require.NoError(t, err)
		}
	}
	put("a", "gone")
	var before, after []string
	for i := range step - 2 {
		before = append(before, fmt.Sprint("before", i))
	}
	for i := range step {
		after = append(after, fmt.Sprint("after", i))
	}
	put(slices.Concat(before, []string{"b", "c", "b"}, after, []string{"d"})...)
	require.NoError(t, records.Purge(t.Context(), "gone"))
	onNATS := streams{js: js, readers: bus.NewReaders(js, nil)}
	walk := &trail{streams: onNATS, name: subjects.BucketStream(bucket)}
	inBucket := func(names ...string) (all []string) {
		for _, name := range names {
			all = append(all, subjects.BucketSubject(bucket, name))
		}
		return all
	}

	ended, end := context.WithCancel(t.Context())
	end()
	_, err = walk.next(ended)
	require.ErrorIs(t, err, context.Canceled)
	first, err := walk.next(t.Context())
	require.NoError(t, err)
	require.Equal(t, inBucket(slices.Concat([]string{"a"}, before, []string{"c"})...), first)
	_, err = walk.next(ended)
	require.ErrorIs(t, err, context.Canceled)

	put("a", after[3], "e") // one moves behind the end before it has been read
	want := inBucket(slices.Concat([]string{"b"}, slices.Delete(after, 3, 4), []string{"d"})...)
	require.Equal(t, want, walkTo(t, walk))
	require.Empty(t, walkTo(t, walk), "it stays at the end")
	empty, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucket + "-empty"})
	require.NoError(t, err)
	require.Empty(t, walkTo(t, &trail{streams: onNATS, name: subjects.BucketStream(empty.Bucket())}))
	_, err = (&trail{streams: onNATS, name: "NONE"}).next(t.Context())
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound)
}

func TestOwner(t *testing.T) {
	t.Parallel()
	names := subjects.Default()
	r := &reader{names: names}
	key := schedule.Key{Namespace: "default", ID: "daily report.1"}
	record := func(kind string) string {
		return subjects.BucketSubject(names.StateBucket(2), subjects.StateKey(key, kind))
	}
	for subject, definition := range map[string]bool{
		record(subjects.KindDefinition): true,
		record(subjects.KindGenerator):  false,
		subjects.BucketSubject(names.StateBucket(2), subjects.BackfillKey(key, "b1")):         false,
		subjects.BucketSubject(names.StateBucket(2), subjects.BackfillKey(key, "definition")): false,
		names.Generate(2, key, subjects.WhatDue):                                              false,
		names.Callback(2, key, "q", "r1"):                                                     false,
		names.DueTimer(2, key):                                                                false,
		names.TimeoutTimer(2, key, "r1"):                                                      false,
	} {
		owner, is, ok := r.owner(2, subject)
		assert.True(t, ok, subject)
		assert.Equal(t, key, owner, subject)
		assert.Equal(t, definition, is, subject)
	}
	for _, subject := range []string{"", "any", subjects.BucketSubject(names.StateBucket(2), "two.tokens"), names.Anchors(),
		names.ExecutionTimer(2, key, time.Now()), names.ExecutionDue(2, key),
	} {
		_, _, ok := r.owner(2, subject)
		assert.False(t, ok, subject)
	}
}

// TestAPassEndsWhereNothingAnswers: after some attempts, the pass gives up a stream that it cannot read.
func TestAPassEndsWhereNothingAnswers(t *testing.T) {
	t.Parallel()
	_, js := natstest.Connect(t, natstest.Shared(t))
	s, err := NewScrubber(ScrubberConfig{
		Config: Config{JS: js, Shards: 1, Names: natstest.Names(t), Pause: time.Millisecond}, Rate: 1000,
	})
	require.NoError(t, err)
	s.checker = &Checker{reader: reader{streams: streams{js: js, readers: bus.NewReaders(js, nil)}, names: s.config.Names}}
	require.ErrorIs(t, s.pass(t.Context(), 0), jetstream.ErrStreamNotFound)
}
