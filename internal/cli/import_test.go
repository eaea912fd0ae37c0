package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

const crontabText = `
# comment
MAILTO=ops@example.com
CRON_TZ=Europe/Berlin
SHELL = /bin/bash
0 2 * * mon-fri  /usr/bin/backup --full /data
*/5	* * * *	curl -s "http://a/?x=%25" \% 50%first%second
@daily /usr/bin/backup
`

func TestParseCrontab(t *testing.T) {
	t.Parallel()
	all, err := parseCrontab(crontabText, false)
	require.NoError(t, err)
	require.Len(t, all, 3)
	first := all[0]
	assert.Equal(t, "backup", first.ID)
	assert.Equal(t, []string{"0 2 * * mon-fri"}, first.Spec.Cron)
	assert.Equal(t, "Europe/Berlin", first.Spec.TimeZone)
	assert.Equal(t, schedule.OverlapAllowAll, first.Policies.Overlap)
	assert.Equal(t, time.Hour, first.Policies.CatchupWindow.Std())
	assert.JSONEq(t, `{"command": "bash", "args": ["-c", "/usr/bin/backup --full /data"]}`, string(first.Action.Input))
	assert.Equal(t, "line 6: 0 2 * * mon-fri  /usr/bin/backup --full /data", first.from)
	assert.Equal(t, []string{"the variable MAILTO is not set for the command"}, first.notes)
	assert.JSONEq(t, `{"command": "bash", "args": ["-c", "curl -s \"http://a/?x="], "stdin": "25\" % 50\nfirst\nsecond"}`,
		string(all[1].Action.Input))
	assert.Equal(t, []string{"@daily"}, all[2].Spec.Cron)

	all, err = parseCrontab("0 2 * * * root /usr/sbin/logrotate /etc/logrotate.conf\n", true)
	require.NoError(t, err)
	assert.Equal(t, "logrotate", all[0].ID)
	assert.Contains(t, all[0].notes[0], "user root")

	for text, want := range map[string]string{
		"0 2 * *":              "line 1",
		"0 2 * * *":            "not a time and a command",
		"\n@reboot /bin/start": "line 2: @reboot has no time",
		"@daily":               "not a time and a command",
	} {
		_, err := parseCrontab(text, false)
		require.ErrorContains(t, err, want, text)
	}
}

// FuzzParseCrontab: nothing makes it panic, and what it reads has a time, an ID and an input.
func FuzzParseCrontab(f *testing.F) {
	f.Add(crontabText, false)
	f.Add("0 0 * * * root x", true)
	f.Add("@x %", false)
	f.Fuzz(func(t *testing.T, text string, system bool) {
		all, err := parseCrontab(text, system)
		if err != nil {
			return
		}
		for _, s := range all {
			require.NotEmpty(t, s.ID)
			require.Len(t, s.Spec.Cron, 1)
			require.NotEmpty(t, s.Action.Input)
		}
	})
}

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

func TestParseCronJobs(t *testing.T) {
	t.Parallel()
	all, err := parseCronJobs([]byte(cronJobText), "job")
	require.NoError(t, err)
	require.Len(t, all, 2)
	report, sweep := all[0], all[1]
	assert.Equal(t, "shop-report", report.ID)
	assert.Equal(t, "CronJob shop/Report", report.from)
	assert.Equal(t, []string{"0 6 1 * *"}, report.Spec.Cron)
	assert.Equal(t, "Europe/Paris", report.Spec.TimeZone)
	assert.Equal(t, schedule.OverlapSkip, report.Policies.Overlap)
	assert.Equal(t, 5*time.Second, report.Policies.CatchupWindow.Std())
	assert.Len(t, report.notes, 1)
	assert.True(t, report.State.Paused)
	assert.Equal(t, "job", report.Action.Type)
	assert.Contains(t, string(report.Action.Input), `"image":"report:1"`)
	assert.Equal(t, schedule.OverlapTerminateOther, sweep.Policies.Overlap)
	assert.Equal(t, schedule.CatchupLatest, sweep.Policies.CatchupMode)
	assert.Zero(t, sweep.Policies.CatchupWindow)

	for text, want := range map[string]string{
		"kind: Job": "is not a CronJob",
		"- a":       "not a CronJob",
		"kind: [a]": "not a CronJob",
		"a: b: c":   "not valid YAML",
		`{"kind": "CronJob", "metadata": {"name": "x"}, "spec": {"schedule": "@daily", "concurrencyPolicy": "Maybe"}}`: "concurrencyPolicy",
	} {
		_, err := parseCronJobs([]byte(text), "job")
		require.ErrorContains(t, err, want, text)
	}
	all, err = parseCronJobs([]byte("kind: CronJobList\nitems: []\n"), "job")
	require.NoError(t, err)
	assert.Empty(t, all)
}

// TestImportIsWhatApplyReads, with IDs that are told apart.
func TestImportIsWhatApplyReads(t *testing.T) {
	t.Parallel()
	p := process{stdin: crontabText}
	require.Equal(t, ExitOK, p.run(t.Context(), "import", "crontab", "-", "--id-prefix", "cron-", "--task-queue", "shell"), p.stderr.String())
	assert.Contains(t, p.stdout.String(), "---\n# line 6: 0 2 * * mon-fri /usr/bin/backup --full /data\n# note: the variable MAILTO")
	assert.Contains(t, p.stderr.String(), "cron-backup: the variable MAILTO is not set")
	env := Env{Stdin: strings.NewReader(p.stdout.String())}
	found, err := env.readManifests("-")
	require.NoError(t, err)
	var ids []string
	for _, m := range found {
		ids = append(ids, m.ID)
		assert.Equal(t, "shell", m.Action.TaskQueue)
	}
	assert.Equal(t, []string{"cron-backup", "cron-curl", "cron-backup-2"}, ids)

	wrong := process{stdin: "99 2 * * * x"}
	assert.Equal(t, ExitUsage, wrong.run(t.Context(), "import", "crontab", "-"))
	assert.Contains(t, wrong.stderr.String(), "error: line 1: 99 2 * * * x: spec.cron[0]")
	jobs := process{stdin: cronJobText}
	require.Equal(t, ExitOK, jobs.run(t.Context(), "import", "k8s-cronjob", "-", "--time-zone", "Asia/Tokyo"), jobs.stderr.String())
	assert.Contains(t, jobs.stdout.String(), "timeZone: Europe/Paris")
	assert.Contains(t, jobs.stdout.String(), "timeZone: Asia/Tokyo")
}
