package invoker_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/invoker"
	"github.com/carillon-scheduler/carillon/schedule"
)

func ended(n int, status schedule.Status, text string) schedule.Completion {
	c := schedule.Completion{Status: status, CloseTime: second(n)}
	if status == schedule.StatusCompleted {
		c.Result = json.RawMessage(text)
	} else {
		c.Failure = &schedule.Failure{Message: text}
	}
	return c
}

func TestFold(t *testing.T) {
	t.Parallel()
	const (
		ok       = schedule.StatusCompleted
		failed   = schedule.StatusFailed
		timedOut = schedule.StatusTimedOut
	)
	type endings = []schedule.Completion
	tests := map[string]struct {
		ended            endings
		success, failure string
		changed          bool
	}{
		"nothing":                  {nil, "", "", false},
		"success":                  {endings{ended(1, ok, "1")}, "1", "", true},
		"success without a result": {endings{ended(1, ok, "")}, "", "", false},
		"failure":                  {endings{ended(1, failed, "bad")}, "", "bad", true},
		"failure keeps success":    {endings{ended(1, ok, "1"), ended(2, failed, "bad")}, "1", "bad", true},
		"time-out keeps success":   {endings{ended(1, ok, "1"), ended(2, timedOut, "late")}, "1", "late", true},
		"success replaces both":    {endings{ended(1, ok, "1"), ended(2, failed, "bad"), ended(3, ok, "3")}, "3", "", true},
		"empty success replaces both": {
			endings{ended(1, ok, "1"), ended(2, failed, "bad"), ended(3, ok, "")}, "", "", true,
		},
		"canceled and terminated change nothing": {
			endings{
				ended(1, ok, "1"), ended(2, failed, "bad"), ended(3, schedule.StatusCanceled, "c"),
				ended(4, schedule.StatusTerminated, "t"),
			}, "1", "bad", true,
		},
		"out of order":                   {endings{ended(2, ok, "2"), ended(1, failed, "bad")}, "2", "", true},
		"out of order, empty":            {endings{ended(2, ok, ""), ended(1, failed, "bad")}, "", "", false},
		"of one moment, in order":        {endings{ended(1, ok, "1"), ended(1, ok, "2")}, "2", "", true},
		"a canceled one hides none":      {endings{ended(9, schedule.StatusCanceled, "c"), ended(1, ok, "1")}, "1", "", true},
		"an older one after a newer one": {endings{ended(5, failed, "bad"), ended(3, ok, "3")}, "", "bad", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, changed := invoker.Fold(wire.Result{}, "inc", test.ended)
			require.Equal(t, test.changed, changed)
			require.Equal(t, "inc", result.Incarnation)
			require.Equal(t, test.success, string(result.Success))
			if test.failure == "" {
				require.Nil(t, result.Failure)
				return
			}
			require.Equal(t, test.failure, result.Failure.Message)
		})
	}
}

func TestFoldForgetsAnEarlierIncarnation(t *testing.T) {
	t.Parallel()
	before := wire.Result{Incarnation: "old", Success: json.RawMessage("1"), CloseTime: second(99)}
	result, changed := invoker.Fold(before, "new", []schedule.Completion{ended(1, schedule.StatusFailed, "bad")})
	require.True(t, changed)
	require.Equal(t, wire.Result{Incarnation: "new", Failure: &schedule.Failure{Message: "bad"}, CloseTime: second(1)}, result)
}

// TestFoldTwiceIsFoldOnce: a transition that is repeated after a crash folds the same completions again.
func TestFoldTwiceIsFoldOnce(t *testing.T) {
	t.Parallel()
	statuses := []schedule.Status{schedule.StatusCompleted, schedule.StatusFailed, schedule.StatusTimedOut, schedule.StatusCanceled}
	rapid.Check(t, func(t *rapid.T) {
		var all []schedule.Completion
		for range rapid.IntRange(0, 6).Draw(t, "count") {
			all = append(all, ended(rapid.IntRange(1, 20).Draw(t, "at"), rapid.SampledFrom(statuses).Draw(t, "status"),
				rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "text")))
		}
		once, _ := invoker.Fold(wire.Result{}, "inc", all)
		twice, _ := invoker.Fold(once, "inc", all)
		require.Equal(t, string(once.Success), string(twice.Success))
		require.Equal(t, once.CloseTime, twice.CloseTime)
	})
}
