package frontend_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestSkipAndUnskip(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	before := in.definition("nightly")
	first := before.CreateTime.Truncate(time.Hour).Add(time.Hour)
	if time.Until(first) < patience {
		first = first.Add(time.Hour) // the hour may end during the test
		in.putGenerator("nightly", wire.GeneratorState{Mark: first.Add(-time.Second)})
	}
	hour := func(i int) time.Time { return first.Add(time.Duration(i) * time.Hour) }

	skipped, err := answerTo[schedule.SkipReply](in, "ann@desk", "skip", `{"id":"nightly","count":2,"note":"upgrade","requestId":"r1"}`)
	require.NoError(t, err)
	assert.Equal(t, schedule.SkipReply{ID: "nightly", Skips: []time.Time{hour(0), hour(1)}}, skipped)
	want := before
	want.Version, want.Skips = 2, skipped.Skips
	want.Applied = []wire.AppliedRequest{{RequestID: "r1", Version: 2}}
	want.Events = in.told("nightly", schedule.EventCreated, schedule.EventSkipRequested)
	assert.Equal(t, want, in.definition("nightly"))
	assert.Equal(t,
		&wire.Wake{Incarnation: before.Incarnation, Version: 2, Reason: wire.ReasonUpdated, Told: true},
		in.wake("nightly", in.generateWake("nightly", 2)))
	_, event := in.events("nightly", schedule.EventSkipRequested)
	assert.Equal(t, 2, event.Count)
	assert.Equal(t, hour(0), event.First)
	assert.Equal(t, hour(1), event.Last)
	assert.Equal(t, "upgrade", event.Reason)
	assert.Equal(t, "ann@desk", event.Identity)
	assert.Equal(t, "r1", event.RequestID)

	times := func(verb string, t time.Time) (schedule.SkipReply, error) {
		return answer[schedule.SkipReply](in, verb, fmt.Sprintf(`{"id":"nightly","times":[%q]}`, t.Format(time.RFC3339Nano)))
	}
	skipped, err = times("skip", hour(4))
	require.NoError(t, err)
	assert.Equal(t, []time.Time{hour(0), hour(1), hour(4)}, skipped.Skips)
	skipped, err = times("unskip", hour(1))
	require.NoError(t, err)
	assert.Equal(t, []time.Time{hour(0), hour(4)}, skipped.Skips)
	_, event = in.events("nightly", schedule.EventUnskipped)
	assert.Equal(t, 1, event.Count)
	assert.Equal(t, hour(1), event.First)

	_, err = times("skip", hour(2).Add(40*time.Minute))
	var e *schedule.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, schedule.CodeInvalidArgument, e.Code)
	assert.Equal(t, "times[0]", e.Field)
	assert.Contains(t, e.Message, hour(3).Format(time.RFC3339))

	// Times that the generator has dealt with are over.
	in.putGenerator("nightly", wire.GeneratorState{Mark: hour(0), LastNominal: hour(0), Version: 4})
	skipped, err = answer[schedule.SkipReply](in, "skip", `{"id":"nightly","count":1}`)
	require.NoError(t, err)
	assert.Equal(t, []time.Time{hour(1), hour(4)}, skipped.Skips)
	assert.Equal(t, skipped.Skips, in.definition("nightly").Skips)

	reply := in.ask("default", "unskip", `{"id":"nightly"}`)
	assert.JSONEq(t, `{"id":"nightly","skips":[]}`, string(reply.Data))
	assert.True(t, in.definition("nightly").UpdateTime.IsZero())
}

func TestSkipKeepsOverAnUpdate(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	skipped, err := answer[schedule.SkipReply](in, "skip", `{"id":"nightly","count":3}`)
	require.NoError(t, err)
	_, err = answer[schedule.Description](in, "update", updateBody("nightly", ""))
	require.NoError(t, err)
	assert.Equal(t, skipped.Skips, in.definition("nightly").Skips)
}

func TestSkipWithoutTimes(t *testing.T) {
	t.Parallel()
	in := installed(t)
	_, err := answer[schedule.Description](in, "create", `{"id":"never","action":{"type":"http","taskQueue":"q"}}`)
	require.NoError(t, err)
	_, err = answer[schedule.SkipReply](in, "skip", `{"id":"never","count":1}`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
	_, err = answer[schedule.SkipReply](in, "skip", `{"id":"x","count":1}`)
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(err))
	assert.Equal(t, uint64(1), in.definition("never").Version)
}
