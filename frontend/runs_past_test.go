package frontend_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestRunsUpTo goes through the runs of a schedule page by page, from the newest to the oldest. Runs of that time that have ended later have ended.
func TestRunsUpTo(t *testing.T) {
	t.Parallel()
	in := installed(t)
	const total = 7
	later := time.Now().Add(time.Hour) // the events are stored before, however long that takes
	at := func(i int) time.Time { return later.Add(time.Duration(i-total) * time.Second) }
	for i := range total {
		started := about("nightly", schedule.EventStarted, strconv.Itoa(i), 0)
		started.Time = at(i)
		in.tell(started)
	}
	for i, status := range []schedule.Status{schedule.StatusCompleted, schedule.StatusFailed, schedule.StatusCompleted} {
		completed := about("nightly", schedule.EventCompleted, strconv.Itoa(i), 0)
		completed.Time, completed.Status = at(total), status
		in.tell(completed)
	}
	up := func(to int, more string) []string {
		return in.runs(fmt.Sprintf(`{"id":"nightly","to":%q%s}`, at(to).Add(time.Second/2).Format(time.RFC3339Nano), more))
	}
	assert.Equal(t, []string{"nightly 4 ", "nightly 3 "}, up(4, `,"pageSize":2`))
	assert.Equal(t, []string{"nightly 2 completed", "nightly 1 failed"}, up(2, `,"pageSize":2`))
	assert.Equal(t, []string{"nightly 0 completed"}, up(0, ""))
	assert.Equal(t, []string{"nightly 1 failed"}, up(5, `,"status":"failed"`))
	assert.Equal(t, []string{"nightly 5 ", "nightly 4 ", "nightly 3 "}, up(5, `,"status":"running"`))
	assert.Empty(t, up(-2, ""))
	var all []string
	request := schedule.RunsRequest{ID: "nightly", PageSize: 3}
	for pages := 1; ; pages++ {
		text, err := json.Marshal(request)
		require.NoError(t, err)
		all = append(all, in.runs(string(text))...)
		reply, err := answer[schedule.RunsReply](in, "runs", string(text))
		require.NoError(t, err)
		if request.PageToken = reply.NextPageToken; request.PageToken == "" {
			assert.Equal(t, 3, pages)
			break
		}
	}
	assert.Equal(t, []string{
		"nightly 6 ", "nightly 5 ", "nightly 4 ", "nightly 3 ", "nightly 2 completed", "nightly 1 failed", "nightly 0 completed",
	}, all)
	_, err := answer[schedule.RunsReply](in, "runs", `{"pageToken":"AWV2ZW50Og"}`)
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))

	in.tell(about("nightly", schedule.EventDeleted, "d", 0))
	assert.Equal(t, []string{"nightly 1 failed"}, up(5, `,"status":"failed"`))
	assert.Empty(t, up(5, `,"status":"running"`), "nobody knows how they ended")
}
