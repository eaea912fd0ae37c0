package cronjob

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/importer/importertest"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
)

// importNow is the time of the imports in the tests. Their notes about changes of the clock depend on it.
var importNow = time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)

const cronJobText = `
apiVersion: v1
kind: List
items:
- apiVersion: batch/v1
  kind: CronJob
  metadata: {name: Report, namespace: shop}
  spec:
    schedule: "0 6 1 * *"
    timeZone: Europe/Paris
    concurrencyPolicy: Forbid
    startingDeadlineSeconds: 5
    suspend: true
    jobTemplate: {spec: {template: {spec: {containers: [{name: c, image: "report:1"}]}}}}
---
kind: CronJob
metadata: {name: sweep}
spec: {schedule: "@hourly", concurrencyPolicy: Replace, jobTemplate: {}}
`

func TestParse(t *testing.T) {
	t.Parallel()
	all := Parse([]byte(cronJobText), "job")
	require.Len(t, all, 2)
	report, sweep := all[0], all[1]
	require.NoError(t, report.Problem)
	assert.Equal(t, "shop-report", report.ID)
	assert.Equal(t, "CronJob shop/Report", report.From)
	assert.Equal(t, []string{"0 6 1 * *"}, report.Spec.Cron)
	assert.Equal(t, "Europe/Paris", report.Spec.TimeZone)
	assert.Equal(t, schedule.OverlapSkip, report.Policies.Overlap)
	assert.Equal(t, schedule.MinCatchupWindow, report.Policies.CatchupWindow.Std())
	assert.Len(t, report.Notes, 1)
	assert.True(t, report.State.Paused)
	assert.Equal(t, "job", report.Action.Type)
	assert.Contains(t, string(report.Action.Input), `"image":"report:1"`)
	require.NoError(t, sweep.Problem)
	assert.Equal(t, schedule.OverlapTerminateOther, sweep.Policies.Overlap)
	assert.Equal(t, schedule.CatchupLatest, sweep.Policies.CatchupMode)
	assert.Zero(t, sweep.Policies.CatchupWindow)
	assert.Equal(t, []string{"@hourly"}, sweep.Spec.Cron)
	assert.Empty(t, Parse([]byte("kind: CronJobList\nitems: []\n"), "job"))
}

// TestCronJobIDsAreCut: an ID is cut if namespace and name are longer than most IDs.
func TestCronJobIDsAreCut(t *testing.T) {
	t.Parallel()
	name := strings.Repeat("n", 150)
	text := fmt.Sprintf(`[{"kind": "CronJob", "metadata": {"name": %q, "namespace": %q},
		"spec": {"schedule": "@daily", "jobTemplate": {}}}]`, name, name)
	all := Parse([]byte(text), "job")
	require.NoError(t, all[0].Problem)
	assert.Len(t, all[0].ID, longestID)
	assert.Equal(t, []string{"the ID is cut to 200 bytes"}, all[0].Notes)
}

// TestCronJobTimes: over a year, a schedule is due when the parser of Kubernetes says so. The zones have no clock changes, or
// changes by whole hours and not at midnight.
func TestCronJobTimes(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata", "Pacific/Kiritimati"}
	rapid.Check(t, func(t *rapid.T) {
		expression, zone := importertest.Expression().Draw(t, "expression"), rapid.SampledFrom(zones).Draw(t, "zone")
		theirs, ours := bothSpecs(t, expression, zone)
		from := importNow.Add(time.Duration(rapid.Int64Range(0, 365*24*3600).Draw(t, "from")) * time.Second)
		to := from.AddDate(1, 0, 0)
		require.Equal(t, kubernetesTimes(theirs, from, to), ourTimes(ours, from, to), expression)
	})
}

// bothSpecs imports an expression, and reads it as Kubernetes does.
func bothSpecs(t require.TestingT, expression, zone string) (cron.Schedule, *specproc.Spec) {
	text := fmt.Sprintf("kind: CronJob\nmetadata: {name: x}\nspec: {schedule: %q, timeZone: %q, jobTemplate: {}}", expression, zone)
	all := Parse([]byte(text), "job")
	require.Len(t, all, 1)
	require.NoError(t, all[0].Problem)
	ours, err := specproc.Compile(all[0].Spec)
	require.NoError(t, err)
	theirs, err := cron.ParseStandard(expression)
	require.NoError(t, err)
	loc, err := schedule.LoadZone(zone)
	require.NoError(t, err)
	theirs.(*cron.SpecSchedule).Location = loc
	return theirs, ours
}

// TestCronJobClockChanges: a note reports where the two differ, which happens only at changes of the clock.
func TestCronJobClockChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"America/Santiago", "Australia/Lord_Howe", "Africa/Cairo"}).Draw(t, "zone")
		expression := importertest.Expression().Draw(t, "expression")
		theirs, ours := bothSpecs(t, expression, zone)
		to := importNow.AddDate(1, 0, 0)
		differ := !slices.Equal(kubernetesTimes(theirs, importNow, to), ourTimes(ours, importNow, to))
		text, err := sameExpression(expression, theirs.(*cron.SpecSchedule))
		require.NoError(t, err)
		note := clockNote(text, zone, importNow)
		if differ {
			require.Contains(t, note, "when the clocks change at 20")
		}
	})
}

// TestSameExpression: an expression that is rewritten means the same to Kubernetes.
func TestSameExpression(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		fields := make([]string, 0, 5)
		for _, bounds := range [][2]int{{0, 59}, {0, 23}, {1, 31}, {1, 12}, {0, 6}} {
			fields = append(fields, importertest.Field(bounds[0], bounds[1]).Draw(t, "field"))
		}
		expression := strings.Join(fields, " ")
		parsed, err := cron.ParseStandard(expression)
		require.NoError(t, err)
		text, err := sameExpression(expression, parsed.(*cron.SpecSchedule))
		require.NoError(t, err)
		ours, ok := ourSets(text)
		require.True(t, ok, text)
		require.Equal(t, kubernetesSets(parsed.(*cron.SpecSchedule)), ours, text)
		again, err := cron.ParseStandard(text)
		require.NoError(t, err, text)
		require.Equal(t, ours, kubernetesSets(again.(*cron.SpecSchedule)), text)
	})
}

// FuzzParse: nothing makes it panic, and what it reads has an ID, a time and an input.
func FuzzParse(f *testing.F) {
	f.Add([]byte(cronJobText))
	f.Add([]byte(`{"kind": "CronJob", "spec": {"schedule": "TZ="}} [7]`))
	f.Add([]byte("%YAML 1.1\n--- !!map\nitems: *x\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all := Parse(data, "job")
		NoteClockChanges(all, "", importNow)
		for _, s := range all {
			require.NotEmpty(t, s.From)
			if s.Problem != nil {
				continue
			}
			require.NotEmpty(t, s.ID)
			require.Equal(t, 1, len(s.Spec.Cron)+len(s.Spec.Intervals))
			require.NotEmpty(t, s.Action.Input)
		}
	})
}
