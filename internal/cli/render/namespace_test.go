package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/cli/render"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestNamespace(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	d := schedule.NamespaceDescription{
		Name: "billing", Description: "invoices\nand more", ConflictToken: 4, Deleting: true,
		Limits: schedule.NamespaceLimits{
			RequestsPerSecond: 2.5, RequestBurst: 10, ActionsPerSecond: 1000, MaxSchedules: 1_000_000, MaxPendingRuns: 5, Archive: "file:///var/lib/archive",
			EventRetention: schedule.Duration(36 * time.Hour),
		},
		Freeze: &schedule.Freeze{Reason: "stocktaking", By: "ann@desk", From: now.Add(-time.Hour), Until: now.Add(time.Hour)},
		Info: schedule.NamespaceInfo{
			CreateTime: now.AddDate(0, 0, -3), CreatedBy: "bob@desk",
			Usage: &schedule.NamespaceUsage{Schedules: 1, PendingRuns: 4, RequestsPerSecond: 0.5, RequestsRefused: 7, Frontends: 2},
		},
	}
	var out strings.Builder
	require.NoError(t, render.Namespace(&out, &d, render.View{Now: now}))
	assert.Equal(t, `Namespace    billing
State        deleting: 1 schedule left
Frozen       Fri 2027-01-01 11:00:00 UTC, 1h ago, by ann@desk, until Fri 2027-01-01 13:00:00 UTC, in 1h: stocktaking
Description  invoices and more
Created      Tue 2026-12-29 12:00:00 UTC, 3d ago, by bob@desk
Version      4 (conflict token)

Limits
  Requests           2.5 a second, 10 at once  0.5 a second now, 7 refused since the 2 frontends were started
  Actions            1000 a second
  Schedules          1000000                   1 now
  Pending runs       5                         4 now
  Events             kept 36h
  Ended runs         of workflows kept 3 days  archived to file:///var/lib/archive
  Workflow requests  10000 a second            at each gateway
  Workflow lists     500 a second              at each gateway
  Workflow polls     10000                     at each gateway
`, out.String())

	out.Reset()
	require.NoError(t, render.NamespaceList(&out, []schedule.NamespaceDescription{d, {Name: "default"}}, render.View{Now: now}))
	assert.Equal(t, `NAME     STATE     REQUESTS/S  ACTIONS/S  SCHEDULES  RUNS  EVENTS  DESCRIPTION
billing  deleting  2.5         1000       1000000    5     36h     invoices and more
default  active    -           -          -          -     -
`, out.String())
}
