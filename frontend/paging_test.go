package frontend_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

// TestWalksSeeWhatStaysOnce: while one caller goes through the pages of a list and of the history, others create and delete at
// random. What exists during the whole walk shows once, and in order.
func TestWalksSeeWhatStaysOnce(t *testing.T) {
	t.Parallel()
	in := installed(t)
	random := rand.New(rand.NewPCG(1, uint64(len(in.names.Prefix())))) //nolint:gosec // any seed will do
	letters := []rune("ab.*é=_")
	newID := func(kind string) string {
		id := make([]rune, 1+random.IntN(3))
		for i := range id {
			id[i] = letters[random.IntN(len(letters))]
		}
		return string(id) + kind
	}
	stay, come := map[string]bool{}, map[string]bool{}
	for len(stay) < 15 {
		if id := newID("-stays"); !stay[id] {
			stay[id] = true
			in.create(id, "")
		}
	}
	left := 0 // a history that grows faster than it is read never ends
	disturb := func() {
		if left--; left < 0 {
			return
		}
		for range 3 {
			id := newID("-comes")
			if come[id] {
				require.NoError(t, in.delete(id, ""))
			} else {
				in.create(id, "")
			}
			come[id] = !come[id]
		}
	}
	for range 5 {
		left = 6
		ids, _ := in.listAll("", 1+random.IntN(5), disturb)
		requireOnce(t, stay, ids)
		require.True(t, slices.IsSorted(ids), "%q", ids)

		left = 6
		created := in.walkHistory(1+random.IntN(10), disturb)
		requireOnce(t, stay, created)
	}
}

func requireOnce(t *testing.T, stay map[string]bool, seen []string) {
	t.Helper()
	times := map[string]int{}
	for _, id := range seen {
		times[id]++
	}
	for id, n := range times {
		if strings.HasSuffix(id, "-stays") {
			require.Equal(t, 1, n, "%q", id)
		}
	}
	for id := range stay {
		require.Equal(t, 1, times[id], "%q", id)
	}
}

// walkHistory goes through the pages of the creation events, calls between before each further page, and returns the IDs.
func (in *installation) walkHistory(size int, between func()) (ids []string) {
	in.t.Helper()
	seen := map[string]bool{}
	for token := ""; ; between() {
		page, err := answer[schedule.HistoryReply](in, "history",
			fmt.Sprintf(`{"kinds":["created"],"pageSize":%d,"pageToken":%q}`, size, token))
		require.NoError(in.t, err)
		for _, event := range page.Events {
			require.False(in.t, seen[event.ID], "event %s comes twice", event.ID)
			seen[event.ID] = true
			ids = append(ids, event.ScheduleID)
		}
		if token = page.NextPageToken; token == "" {
			return ids
		}
	}
}

// TestTokensAreOfOneList: a token of another verb is refused, and a token of a deleted schedule leads on.
func TestTokensAreOfOneList(t *testing.T) {
	t.Parallel()
	in := installed(t)
	for _, id := range []string{"a", "b", "c"} {
		in.create(id, "")
	}
	page, err := answer[schedule.ListReply](in, "list", `{"pageSize":1}`)
	require.NoError(t, err)
	require.NotContains(t, page.NextPageToken, "a", "it is opaque")
	for _, id := range []string{"a", "b"} {
		require.NoError(t, in.delete(id, ""))
	}
	next, err := answer[schedule.ListReply](in, "list", fmt.Sprintf(`{"pageSize":1,"pageToken":%q}`, page.NextPageToken))
	require.NoError(t, err)
	require.Len(t, next.Schedules, 1)
	assert.Equal(t, "c", next.Schedules[0].ID)

	_, err = answer[json.RawMessage](in, "history", fmt.Sprintf(`{"pageToken":%q}`, page.NextPageToken))
	assert.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
}
