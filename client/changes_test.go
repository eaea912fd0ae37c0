package client_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/client"
	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// patience bounds every wait, on a machine that is busy with other tests.
const patience = natstest.Patience

// TestChangesAreTriedAgainAsOneRequest goes through what is carried out once for its request ID.
func TestChangesAreTriedAgainAsOneRequest(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	ctx := t.Context()
	for verb, call := range map[string]func() error{
		"pause":   func() error { return c.Pause(ctx, "x", "") },
		"unpause": func() error { return c.Unpause(ctx, "x", "") },
		"update":  func() error { _, err := c.Update(ctx, schedule.UpdateRequest{ID: "x"}); return err },
		"patch":   func() error { _, err := c.Patch(ctx, schedule.PatchRequest{ID: "x"}); return err },
		"skip":    func() error { _, err := c.Skip(ctx, schedule.SkipRequest{ID: "x"}); return err },
		"unskip":  func() error { _, err := c.Unskip(ctx, schedule.UnskipRequest{ID: "x"}); return err },
		"backfill": func() error {
			_, err := c.Backfill(ctx, schedule.BackfillRequest{ID: "x"})
			return err
		},
		"trigger": func() error { _, err := c.Trigger(ctx, schedule.TriggerRequest{ID: "x"}); return err },
		"delete":  func() error { return c.Delete(ctx, "x") },
		"cancelBackfill": func() error {
			return c.CancelBackfill(ctx, schedule.CancelBackfillRequest{ID: "x"})
		},
	} {
		s := play(t, names, verb, unavailable, success(`{"id":"x"}`))
		require.NoError(t, call(), verb)
		received := s.received()
		require.Len(t, received, 2, verb)
		assert.Equal(t, received[0].Data, received[1].Data, "the attempts of %s are one request", verb)
		var request struct{ ID, RequestID string }
		require.NoError(t, json.Unmarshal(received[0].Data, &request))
		assert.Equal(t, "x", request.ID, verb)
		assert.NotEmpty(t, request.RequestID, verb)
	}
}

// TestReadsAreTriedAgain goes through what changes nothing, or changes nothing the second time.
func TestReadsAreTriedAgain(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	ctx := t.Context()
	for verb, call := range map[string]func() error{
		"count":         func() error { _, err := c.Count(ctx, "x"); return err },
		"matchingTimes": func() error { _, err := c.MatchingTimes(ctx, schedule.MatchingTimesRequest{}); return err },
		"preview":       func() error { _, err := c.Preview(ctx, schedule.PreviewRequest{}); return err },
		"history":       func() error { _, err := c.History(ctx, schedule.HistoryRequest{}); return err },
		"runs":          func() error { _, err := c.Runs(ctx, schedule.RunsRequest{}); return err },
		"run":           func() error { _, err := c.Run(ctx, "x", "y"); return err },
	} {
		s := play(t, names, verb, unavailable, success(`{}`))
		require.NoError(t, call(), verb)
		assert.Len(t, s.received(), 2, verb)
	}
}

func TestRequestsSayWhoAsks(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	s := play(t, names, "describe", success(`{}`))
	for given, want := range map[string]string{
		"ann@desk":         "ann@desk",
		"two\r\nlines: Jü": "two  lines: Jü",
		"":                 `^.+@.+$`,
	} {
		conn, _ := natstest.Connect(t, natstest.Shared(t))
		c, err := client.New(conn, client.Config{Prefix: names.Prefix(), Identity: given})
		require.NoError(t, err)
		_, err = c.Describe(t.Context(), "x")
		require.NoError(t, err)
		received := s.received()
		got := received[len(received)-1].Header.Get(schedule.HeaderIdentity)
		if given == "" {
			assert.Regexp(t, want, got)
			continue
		}
		assert.Equal(t, want, got)
	}
}

// TestAllRunsGoesThroughEmptyPages: a page without runs is not the last one while it has a token.
func TestAllRunsGoesThroughEmptyPages(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	play(t, names, "runs", success(`{"runs":[],"nextPageToken":"a"}`), success(`{"runs":[{"runId":"1"}],"nextPageToken":"b"}`),
		success(`{"runs":[],"nextPageToken":"c"}`), success(`{"runs":[{"runId":"2"}]}`))
	var ids []string
	for run, err := range c.AllRuns(t.Context(), schedule.RunsRequest{ID: "x", Status: schedule.StatusFailed}) {
		require.NoError(t, err)
		ids = append(ids, run.RunID)
	}
	assert.Equal(t, []string{"1", "2"}, ids)
}

func TestEventsGoesThroughThePages(t *testing.T) {
	t.Parallel()
	names := natstest.Names(t)
	c := connect(t, names)
	s := play(t, names, "history",
		success(`{"events":[{"id":"1"},{"id":"2"}],"nextPageToken":"more"}`), success(`{"events":[{"id":"3"}]}`))
	var ids []string
	for event, err := range c.Events(t.Context(), schedule.HistoryRequest{ID: "x", PageSize: 2}) {
		require.NoError(t, err)
		ids = append(ids, event.ID)
	}
	assert.Equal(t, []string{"1", "2", "3"}, ids)
	assert.JSONEq(t, `{"id":"x","pageSize":2,"pageToken":"more"}`, string(s.received()[1].Data))

	for range c.Events(t.Context(), schedule.HistoryRequest{}) {
		break // a caller may stop early
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	count := 0
	for _, err := range c.Events(ctx, schedule.HistoryRequest{}) {
		require.ErrorIs(t, err, context.Canceled)
		count++
	}
	assert.Equal(t, 1, count, "an error is the last thing that comes")
}
