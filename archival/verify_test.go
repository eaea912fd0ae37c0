package archival

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

// TestVerifyFindsDamageByName: of an entry that is damaged, the name decides whether a query wants it, whatever characters the type and the ID have. What the name
// does not say does not hide the damage.
func TestVerifyFindsDamageByName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.bucket()
	long := strings.Repeat("/ä", 60)
	end := time.Date(2026, 11, 28, 10, 30, 0, 0, time.UTC)
	b.put(in, "a/b.c", "pkg.Order", end)
	b.put(in, long, "pkg."+long, end)
	for name := range b.objects() {
		if _, ok := archive.ParseEntryName(name); ok {
			require.NoError(t, in.WriteAll(t.Context(), name, []byte("garbage"), nil))
		}
	}
	b.run()
	for query, want := range map[string][]string{
		"":                                   {"a/b.c", archive.Token(long)},
		"WorkflowType = 'pkg.Order'":         {"a/b.c"},
		"WorkflowId = 'a/b.c'":               {"a/b.c"},
		"RunId = 'r-a/b.c'":                  {"a/b.c"},
		"WorkflowType = 'pkg." + long + "'":  {archive.Token(long)},
		"WorkflowId STARTS_WITH 'a/'":        {"a/b.c", archive.Token(long)},
		"WorkflowId IN ('a/b.c', 'x')":       {"a/b.c", archive.Token(long)},
		"WorkflowId != 'a/b.c'":              {archive.Token(long)},
		"WorkflowType = 'pkg=2EOrder'":       nil,
		"ExecutionStatus = 'Failed'":         {"a/b.c", archive.Token(long)},
		"CloseTime > '2026-11-28T10:30:00Z'": nil,
		"CloseTime BETWEEN '2026-11-28T10:00:00Z' AND '2026-11-28T11:00:00Z' AND Custom = 3":                                {"a/b.c", archive.Token(long)},
		"WorkflowType = 'pkg.Order' AND (WorkflowId = 'a/b.c' OR HistoryLength > 5) AND CloseTime > '2026-11-28T00:00:00Z'": {"a/b.c"},
		"WorkflowType = 'pkg.Order' AND NOT WorkflowId = 'a/b.c' AND ExecutionStatus = 'Failed'":                            nil,
	} {
		var damaged []string
		for _, d := range b.verify(query).Damaged {
			damaged = append(damaged, d.WorkflowID)
		}
		require.ElementsMatch(t, want, damaged, query)
	}
	require.Equal(t, []string{"a/b.c"}, b.list("WorkflowType = 'pkg.Order'", 0))
	require.Empty(t, b.list("ExecutionStatus = 'Failed'", 0))
}

// TestVerifyWithoutContent: if somebody removes all content of a bucket of JetStream, and its names are left, then what nobody can archive again is damaged.
func TestVerifyWithoutContent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.bucket()
	b.put(in, "w", "Order", noon)
	day := archive.DayOf(noon)
	events, data, err := archive.EncodeEvents(space, "s", day, 1, []archive.Event{{ScheduleID: "s", Time: noon, JSON: []byte("{}")}})
	require.NoError(t, err)
	require.NoError(t, in.Put(t.Context(), events.Object, data))
	require.NoError(t, in.SaveEventIndex(t.Context(), space, day, 1, []archive.Events{events}))
	require.NoError(t, b.js.DeleteObjectStore(t.Context(), b.names.ArchiveBucket()))
	b.run()
	require.Len(t, b.verify("").Damaged, 1)
	require.Len(t, b.verifyEvents().Damaged, 1)
}
