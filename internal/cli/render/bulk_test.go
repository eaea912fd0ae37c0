package render

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

func TestBulkMeter(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]schedule.BulkDescription{
		"[..............................] 0/40  0 done":                        {Total: 40},
		"[###############...............] 20/40  17 done, 1 skipped, 2 failed": {Total: 40, Done: 17, Skipped: 1, Failed: 2},
		"[##############################] 41/40  41 done":                      {Total: 40, Done: 41},
		"[##############################] 0/0  0 done":                         {},
	} {
		assert.Equal(t, want, BulkMeter(&d))
	}
}

func TestBulkTask(t *testing.T) {
	t.Parallel()
	red := "red"
	for want, task := range map[string]schedule.BulkTask{
		"pause":                    {Operation: schedule.BulkPause},
		"set the label team of":    {Operation: schedule.BulkSetLabel, Label: &schedule.Label{Name: "team", Value: &red}},
		"remove the label team of": {Operation: schedule.BulkSetLabel, Label: &schedule.Label{Name: "team"}},
	} {
		assert.Equal(t, want, BulkTask(&task))
	}
}

func TestBulkPreview(t *testing.T) {
	t.Parallel()
	task := schedule.BulkTask{Operation: schedule.BulkDelete}
	for want, selected := range map[string]schedule.StartBulkReply{
		"no schedule is selected: nothing to do\n":       {},
		"would delete 1 schedule:\n  a\n":                {Count: 1, IDs: []string{"a"}},
		"would delete 3 schedules:\n  a\n  and 2 more\n": {Count: 3, IDs: []string{"a"}},
	} {
		var out strings.Builder
		require.NoError(t, BulkPreview(&out, &task, &selected))
		assert.Equal(t, want, out.String())
	}
}

func TestBulkIsSafeToPrint(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	evil := "a\x1b[31m\nb"
	d := schedule.BulkDescription{
		JobID: "j", Status: schedule.BulkCanceled, CanceledBy: evil, Identity: evil, CreateTime: now, Total: 2, Failed: 200,
		BulkTask: schedule.BulkTask{
			Operation: schedule.BulkSetLabel, Selection: schedule.Selection{IDs: []string{evil}}, Note: evil,
			Label: &schedule.Label{Name: evil, Value: &evil},
		},
		Failures: []schedule.BulkFailure{{ID: evil, Reason: evil}},
	}
	var out strings.Builder
	require.NoError(t, Bulk(&out, &d, View{Now: now}))
	assert.Contains(t, out.String(), "Failures, the newest 1")
	require.NoError(t, BulkList(&out, []schedule.BulkDescription{d}, View{Now: now}))
	require.NoError(t, BulkFailures(&out, d.Failures))
	assert.NotContains(t, out.String(), "\x1b")
	assert.NotContains(t, out.String(), "\nb")
}
