package archival

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// put writes an execution into a bucket as if it had ended at a time.
func (b *bundle) put(in *archive.Bucket, id, workflowType string, end time.Time) {
	b.Helper()
	events := []*historypb.HistoryEvent{{EventId: 1}, {EventId: 2}, {EventId: 3}}
	a, err := archive.Encode(space, &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: id, RunId: "r-" + id}, Type: &commonpb.WorkflowType{Name: workflowType},
		CloseTime: timestamppb.New(end), HistoryLength: int64(len(events)),
	}, events)
	require.NoError(b, err)
	require.NoError(b, in.Save(b.Context(), a))
}

// TestOrderOfAList: the newest day comes first, and within a day it goes by type and by end, in pages of any size, from every kind of bucket.
func TestOrderOfAList(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"jetstream://", "file://" + filepath.ToSlash(t.TempDir())} {
		b := setup(t)
		b.spaces[space] = schedule.Namespace{Name: space, Limits: schedule.NamespaceLimits{Archive: address}}
		in, err := b.store.Open(t.Context(), address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = in.Close() })
		var want []string
		for _, day := range []int{29, 28, 27} {
			for _, of := range []string{"Order", "Order-2", "Report"} {
				for _, minute := range []int{59, 60, 61, 180, 23*60 + 59} {
					id := fmt.Sprintf("%d-%s-%d", day, of, minute)
					want = append(want, id)
					b.put(in, id, of, time.Date(2026, 11, day, 0, minute, 0, 0, time.UTC))
				}
			}
		}
		b.run()
		for _, size := range []int32{0, 1, 4, 7} {
			require.Equal(t, want, b.list("", size), "pages of %d", size)
		}
		require.Equal(t, slices.DeleteFunc(slices.Clone(want), func(id string) bool { return id[:8] != "28-Order" || id[8] != '-' || id[9] == '2' && id[10] == '-' }),
			b.list("WorkflowType = 'Order' AND CloseTime BETWEEN '2026-11-28T00:00:00Z' AND '2026-11-28T23:59:59Z'", 2))
	}
}

// TestLongListsComeInParts: a page ends when it has taken long enough, and the next one goes on. Each of them goes on a little.
func TestLongListsComeInParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.bucket()
	for i := range 5 {
		b.put(in, fmt.Sprint("w", i), "Order", time.Date(2026, 11, 28, i, 0, 0, 0, time.UTC))
	}
	now := &ticking{}
	b.run(func(config *Config) { config.Now = now.now })
	require.Equal(t, []string{"w0", "w1", "w2", "w3", "w4"}, b.list("", 0))
	found, pages := 0, 0
	request := &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: space}
	for {
		var data wrapperspb.BytesValue
		var page archive.Verified
		require.NoError(t, b.askArchive(subjects.VerbVerifyArchived, request, &data))
		require.NoError(t, json.Unmarshal(data.Value, &page))
		found, pages = found+page.Executions, pages+1
		require.Empty(t, page.Damaged)
		if request.NextPageToken = page.Next; len(page.Next) == 0 {
			break
		}
	}
	require.Equal(t, 5, found)
	require.Equal(t, 5, pages)
}

// TestASearchComesInParts: a list of something rare goes through an archive in parts, too, although it finds nothing in most of them.
func TestASearchComesInParts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.bucket()
	for _, day := range []int{26, 27, 28} {
		for _, of := range []string{"Order", "Report"} {
			for _, hour := range []int{3, 4} {
				b.put(in, fmt.Sprint(day, of, hour), of, time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC))
			}
		}
	}
	now := &ticking{}
	b.run(func(config *Config) { config.Now = now.now })
	for query, want := range map[string]struct {
		found []string
		pages int
	}{
		"WorkflowId = '26Report4'":                                       {[]string{"26Report4"}, 12},
		"WorkflowId = 'none'":                                            {nil, 12},
		"RunId = 'r-27Order3'":                                           {[]string{"27Order3"}, 12},
		"WorkflowType = 'Order' AND WorkflowId = 'none'":                 {nil, 6},
		"WorkflowId = 'none' AND CloseTime = '2026-11-27T04:00:00Z'":     {nil, 2},
		"CloseTime >= '2026-11-28T04:00:00Z'":                            {[]string{"28Order4", "28Report4"}, 2},
		"CloseTime < '2026-11-26T04:00:00Z'":                             {[]string{"26Order3", "26Report3"}, 4},
		"WorkflowType = 'None'":                                          {nil, 3},
		"WorkflowType = 'Order' AND CloseTime >= '2026-11-28T00:00:00Z'": {[]string{"28Order3", "28Order4"}, 2},
		"CloseTime > '2026-11-30T00:00:00Z' OR WorkflowId = 'x'":         {nil, 12},
	} {
		request := &workflowservice.ListArchivedWorkflowExecutionsRequest{Namespace: space, Query: query}
		var found []string
		pages := 0
		for pages == 0 || len(request.NextPageToken) > 0 {
			response := &workflowservice.ListArchivedWorkflowExecutionsResponse{}
			require.NoError(t, b.askArchive(subjects.VerbListArchived, request, response), query)
			for _, one := range response.Executions {
				found = append(found, one.GetExecution().GetWorkflowId())
			}
			request.NextPageToken, pages = response.NextPageToken, pages+1
		}
		require.Equal(t, want.found, found, query)
		require.Equal(t, want.pages, pages, query)
	}
}

// TestPagesOfAHistory: further pages of a history do not read it again, until nobody has asked for a while, or there is no room.
func TestPagesOfAHistory(t *testing.T) {
	t.Parallel()
	var p pages
	now := time.Unix(1000, 0)
	events := []*historypb.HistoryEvent{{EventId: 1}}
	of := func(name string) placed { return placed{"jetstream://", name} }
	require.Nil(t, p.get(of("a"), now))
	p.put(of("a"), events, pagesBytes/2, now)
	p.put(of("b"), events, pagesBytes/2, now.Add(time.Second))
	require.NotNil(t, p.get(of("a"), now.Add(2*time.Second)))
	p.put(of("c"), events, 1, now.Add(3*time.Second))
	require.Nil(t, p.get(of("b"), now.Add(3*time.Second)), "it was the oldest")
	require.NotNil(t, p.get(of("a"), now.Add(3*time.Second)))
	p.put(of("d"), events, pagesBytes+1, now.Add(3*time.Second))
	require.Nil(t, p.get(of("d"), now.Add(3*time.Second)), "it is too large")
	require.Nil(t, p.get(of("a"), now.Add(4*time.Second+pagesAge)))
	require.Zero(t, p.bytes)
	require.Empty(t, p.all)
}
