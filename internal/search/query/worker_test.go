package query_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/search/query"
)

func TestParseWorkers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		`TaskQueue="q" AND HeartbeatTime < '2026-01-01T00:00:00Z'`:    "TaskQueue = 'q' and HeartbeatTime < '2026-01-01T00:00:00Z'",
		"Status = 'running' or WorkerStatus != 'ShuttingDown'":        "WorkerStatus = 'Running' or WorkerStatus != 'ShuttingDown'",
		"WorkerStatus in ('Shutdown')":                                "WorkerStatus in ('Shutdown')",
		"HostName not starts_with 'a' and DeploymentName is null":     "HostName is not null and not HostName starts_with 'a' and DeploymentName is null",
		"not (SdkName = 'x' or SdkVersion = '1') and BuildId = 'b'":   "not (SdkName = 'x' or SdkVersion = '1') and BuildId = 'b'",
		"StartTime between '2026-01-01' and 1767225600000000000":      "StartTime between '2026-01-01T00:00:00Z' and '2026-01-01T00:00:00Z'",
		`WorkerInstanceKey = 'k' or ` + "`WorkerIdentity` = 'it\\'s'": "WorkerInstanceKey = 'k' or WorkerIdentity = 'it''s'",
	} {
		q, err := query.ParseWorkers(text)
		require.NoError(t, err, text)
		assert.Equal(t, want, q.String(), text)
		again, err := query.ParseWorkers(q.String())
		require.NoError(t, err, text)
		assert.Equal(t, q, again, text)
	}
}

func TestParseWorkersErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Taskqueue = 'q'":                   "at character 1: no worker has Taskqueue: did you mean TaskQueue?",
		"Paused = true":                     "at character 1: no worker has Paused: use one of WorkerInstanceKey, WorkerIdentity, HostName, TaskQueue, DeploymentName, BuildId, SdkName, SdkVersion, StartTime, HeartbeatTime, WorkerStatus",
		"WorkerStatus = 'gone'":             "at character 16: the string 'gone' is no status of a worker: use one of Running, ShuttingDown, Shutdown",
		"WorkerStatus > 'Running'":          "at character 14: WorkerStatus is one of some names: use =, != or in, not >",
		"Status between 'a' and 'b'":        "at character 8: WorkerStatus is one of some names: use =, != or in, not between",
		"HeartbeatTime = 'soon'":            "at character 17: HeartbeatTime is a datetime, and the string 'soon' none: use a date such as '2027-01-31', or a time such as '2027-01-31T09:00:00Z'",
		"TaskQueue = 'q' order by HostName": "at character 17: expected and, or, or the end of the query, found order",
		"TaskQueue = 'q' group by HostName": "at character 17: expected and, or, or the end of the query, found group",
		"TaskQueue = 7":                     "at character 13: TaskQueue is a string, and cannot be compared with a whole number",
	} {
		_, err := query.ParseWorkers(text)
		require.Error(t, err, text)
		assert.Equal(t, want, query.Explain(text, err), text)
	}
}
