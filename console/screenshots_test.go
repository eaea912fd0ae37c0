package console_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// picturedWidth and picturedHeight are those of a window, and phoneWidth is that of a telephone.
const picturedWidth, picturedHeight, phoneWidth = 1120, 820, 360

// TestScreenshots takes pictures of the pages for docs/console.md, and of all pages to look at: in the folder that the variable CARILLON_SCREENSHOTS
// names. CARILLON_SCREENSHOTS_AS is webp, unless it says png or jpeg.
func TestScreenshots(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("CARILLON_SCREENSHOTS")
	if folder == "" {
		t.Skip("CARILLON_SCREENSHOTS names no folder")
	}
	format, quality := page.CaptureScreenshotFormat(cmp.Or(os.Getenv("CARILLON_SCREENSHOTS_AS"), "webp")), int64(80)
	s := visitShop(t)
	pages := s.furnish(t)
	of := browser(t)
	for _, scheme := range []string{"light", "dark"} {
		for name, path := range pages {
			for suffix, width := range map[string]int64{"": picturedWidth, "-phone": phoneWidth} {
				j := s.tab(t, of)
				tell(j, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
				j.do(chromedp.EmulateViewport(width, picturedHeight))
				j.goes(path)
				picture, err := chromedp.Call(j.tab, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: format, Quality: &quality})
				require.NoError(t, err)
				require.NoError(t, os.WriteFile(filepath.Join(folder, name+suffix+"-"+scheme+"."+string(format)), picture.Data, 0o600))
			}
		}
	}
}

// furnish lets something happen that is worth a picture, and returns the addresses of all pages.
func (s *shop) furnish(t *testing.T) map[string]string {
	t.Helper()
	for id, spec := range map[string]schedule.Spec{
		"nightly-report": {Cron: []string{"30 2 * * *"}, TimeZone: "Europe/Berlin"}, "invoice-export": {Cron: []string{"0 6 1 * *"}},
		"sync-prices":  {Intervals: []schedule.Interval{{Every: schedule.Duration(20 * time.Second)}}},
		"health-check": {Intervals: []schedule.Interval{{Every: schedule.Duration(7 * time.Second)}}},
		"old-cleanup":  {Cron: []string{"0 4 * * sun"}},
	} {
		action := map[string]schedule.Action{
			"sync-prices":  {Type: "sleep", TaskQueue: "default", Input: json.RawMessage(`"12s"`)},
			"health-check": {Type: "http", TaskQueue: "default", Input: json.RawMessage(`{"url": "http://127.0.0.1:1/"}`)},
		}
		of, ok := action[id]
		if !ok {
			of = schedule.Action{Type: "log", TaskQueue: "default", Input: json.RawMessage(`{"text": "done"}`)}
		}
		_, err := s.api.Create(t.Context(), schedule.CreateRequest{ID: id, Schedule: schedule.Schedule{Spec: spec, Action: of}})
		require.NoError(t, err)
	}
	require.NoError(t, s.api.Pause(t.Context(), "old-cleanup", "until the new disk is there"))
	now := time.Now().UTC()
	_, err := s.api.Backfill(t.Context(), schedule.BackfillRequest{
		ID: "nightly-report", BackfillRange: schedule.BackfillRange{Start: now.AddDate(0, 0, -20), End: now, Overlap: schedule.OverlapBufferAll},
	})
	require.NoError(t, err)
	address := s.begin(t, orders, "order-1042", "acme")
	s.awaitState(t, "order-1042", "charged")
	require.NoError(t, s.sdk.SignalWorkflow(t.Context(), "order-1042", "", "paid", "by card"))
	s.begin(t, orders, "order-1043", "never")
	s.begin(t, orders, "order-1044", "acme")
	s.begin(t, nobody, "order-1045", "acme")
	var run string
	natstest.Eventually(t, 2*time.Minute, "enough has happened", func() bool {
		report, err1 := s.api.Describe(t.Context(), "nightly-report")
		sync, err2 := s.api.Runs(t.Context(), schedule.RunsRequest{ID: "sync-prices"})
		require.NoError(t, err1)
		require.NoError(t, err2)
		if len(sync.Runs) > 0 {
			run = sync.Runs[0].RunID
		}
		return report.Info.ActionCount >= 20 && len(sync.Runs) >= 3
	})
	const ns = "/ns/default/"
	return map[string]string{
		"now": ns + "now", "schedules": ns + "schedules", "schedule": ns + "schedules/sync-prices", "calendar": ns + "schedules/nightly-report/calendar",
		"audit": ns + "schedules/nightly-report/audit", "copy": ns + "schedules/nightly-report/copy", "edit": ns + "schedules/nightly-report/edit",
		"backfill": ns + "schedules/nightly-report/backfill", "new-schedule": ns + "new-schedule", "runs": ns + "runs",
		"run": ns + "schedules/sync-prices/runs/" + run, "jobs": ns + "jobs", "executions": ns + "executions", "execution": address,
		"new-execution": ns + "new-execution", "task-queues": ns + "task-queues", "task-queue": ns + "task-queues/orders", "calendars": ns + "calendars",
		"namespaces": ns + "namespaces", "cluster": ns + "cluster", "dead-letters": ns + "dead-letters",
	}
}
