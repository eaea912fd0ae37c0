package frontend_test

import (
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/kv"
	"github.com/carillon-scheduler/carillon/schedule"
)

func (in *installation) delete(id, requestID string) error {
	_, err := answer[schedule.Empty](in, "delete", fmt.Sprintf(`{"id":%q,"requestId":%q}`, id, requestID))
	return err
}

func TestRepeatedDelete(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	require.NoError(t, in.delete("nightly", "r1"))
	require.NoError(t, in.delete("nightly", "r1"), "a repeat succeeds")
	for _, other := range []string{"", "r2"} {
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(in.delete("nightly", other)))
	}
	in.create("nightly", "")
	require.NoError(t, in.delete("nightly", "r1"))
	_, err := answer[schedule.Description](in, "describe", `{"id":"nightly"}`)
	require.NoError(t, err, "a repeat spares the next schedule of the name")
	count, _ := in.events("nightly", schedule.EventDeleted)
	assert.EqualValues(t, 1, count)

	require.NoError(t, in.delete("nightly", "r2"))
	assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(in.delete("nightly", "r1")), "only the last deletion is remembered")
}

func TestRepeatedDeleteLooksAtNoToken(t *testing.T) {
	t.Parallel()
	in := installed(t)
	token := in.create("nightly", "").ConflictToken
	body := fmt.Sprintf(`{"id":"nightly","requestId":"r","conflictToken":%d}`, token)
	for range 2 {
		_, err := answer[schedule.Empty](in, "delete", body)
		require.NoError(t, err)
	}
	in.create("nightly", "")
	_, err := answer[schedule.Empty](in, "pause", `{"id":"nightly"}`)
	require.NoError(t, err)
	_, err = answer[schedule.Empty](in, "delete", `{"id":"nightly","requestId":"other","conflictToken":1}`)
	assert.Equal(t, schedule.CodeFailedPrecondition, schedule.CodeOf(err))
}

func TestRepeatedCancelBackfill(t *testing.T) {
	t.Parallel()
	in := installed(t)
	in.create("nightly", "")
	reply, err := answer[schedule.BackfillReply](in, "backfill", `{"id":"nightly",`+march+`}`)
	require.NoError(t, err)
	cancel := func(requestID string) error {
		_, err := answer[schedule.Empty](in, "cancelBackfill",
			fmt.Sprintf(`{"id":"nightly","backfillId":%q,"requestId":%q}`, reply.BackfillID, requestID))
		return err
	}
	require.NoError(t, cancel("r1"))
	require.NoError(t, cancel("r1"))
	record := in.pending("nightly")[0]
	assert.Equal(t, "r1", record.CancelRequestID)

	in.endBackfill(record)
	require.NoError(t, cancel("r1"), "a repeat succeeds also when the backfill is gone")
	for _, other := range []string{"", "r2"} {
		assert.Equal(t, schedule.CodeNotFound, schedule.CodeOf(cancel(other)))
	}
}

// endBackfill does what the backfiller does with one that was canceled.
func (in *installation) endBackfill(record schedule.BackfillState) {
	in.t.Helper()
	body, err := schedule.EncodeJSON(schedule.Event{
		ID: record.Incarnation + "-backfill_canceled-" + record.ID, Namespace: "default", ScheduleID: "nightly",
		Kind: schedule.EventBackfillCanceled, Source: record.ID, RequestID: record.CancelRequestID,
	})
	require.NoError(in.t, err)
	_, err = in.js.PublishMsg(in.t.Context(), &nats.Msg{
		Subject: in.names.Event(in.key("nightly"), schedule.EventBackfillCanceled), Data: body,
	})
	require.NoError(in.t, err)
	key := kv.Backfill(in.key("nightly"), record.ID)
	stored, err := kv.GetLeader(in.t.Context(), in.store, key)
	require.NoError(in.t, err)
	require.NoError(in.t, kv.Delete(in.t.Context(), in.store, key, stored.Revision))
}
