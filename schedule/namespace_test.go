package schedule_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestNamespaceRequestsValidate(t *testing.T) {
	t.Parallel()
	const hour = schedule.Duration(time.Hour)
	limits := func(l schedule.NamespaceLimits) error { return schedule.CreateNamespaceRequest{Limits: l}.Validate() }
	freeze := func(r schedule.FreezeNamespaceRequest) error { return r.Validate() }
	noon := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		err   error
		field string // empty: it is valid
	}{
		"nothing said":      {err: schedule.CreateNamespaceRequest{}.Validate()},
		"nothing to set":    {err: schedule.UpdateNamespaceRequest{}.Validate()},
		"longest text":      {err: schedule.CreateNamespaceRequest{Description: strings.Repeat("x", schedule.MaxDescription)}.Validate()},
		"too long a text":   {schedule.CreateNamespaceRequest{Description: strings.Repeat("x", schedule.MaxDescription+1)}.Validate(), "description"},
		"no text":           {schedule.UpdateNamespaceRequest{Description: "\xff"}.Validate(), "description"},
		"bad request ID":    {schedule.UpdateNamespaceRequest{RequestID: "a\nb"}.Validate(), "requestId"},
		"all limits":        {err: limits(schedule.NamespaceLimits{0.5, 1, 1e6, 100_000_000, 1 << 20, 7, 0.1, 1e6, 1, 720 * hour, 876_000 * hour, "file:///a"})},
		"negative rate":     {limits(schedule.NamespaceLimits{RequestsPerSecond: -1}), "limits.requestsPerSecond"},
		"no number":         {limits(schedule.NamespaceLimits{ActionsPerSecond: math.NaN()}), "limits.actionsPerSecond"},
		"endless rate":      {limits(schedule.NamespaceLimits{ActionsPerSecond: math.Inf(1)}), "limits.actionsPerSecond"},
		"negative burst":    {limits(schedule.NamespaceLimits{RequestBurst: -1}), "limits.requestBurst"},
		"too many":          {limits(schedule.NamespaceLimits{MaxSchedules: 100_000_001}), "limits.maxSchedules"},
		"negative bytes":    {limits(schedule.NamespaceLimits{MaxScheduleBytes: -1}), "limits.maxScheduleBytes"},
		"negative runs":     {limits(schedule.NamespaceLimits{MaxPendingRuns: -5}), "limits.maxPendingRuns"},
		"negative polls":    {limits(schedule.NamespaceLimits{MaxWorkflowPolls: -1}), "limits.maxWorkflowPolls"},
		"endless requests":  {limits(schedule.NamespaceLimits{WorkflowRequestsPerSecond: math.Inf(1)}), "limits.workflowRequestsPerSecond"},
		"negative lists":    {limits(schedule.NamespaceLimits{WorkflowListsPerSecond: -1}), "limits.workflowListsPerSecond"},
		"kept too briefly":  {limits(schedule.NamespaceLimits{EventRetention: hour - 1}), "limits.eventRetention"},
		"runs kept briefly": {limits(schedule.NamespaceLimits{WorkflowRetention: hour - 1}), "limits.workflowRetention"},
		"runs kept long":    {limits(schedule.NamespaceLimits{WorkflowRetention: 24*36500*hour + 1}), "limits.workflowRetention"},
		"own archive":       {err: limits(schedule.NamespaceLimits{Archive: "jetstream://"})},
		"other archive":     {err: limits(schedule.NamespaceLimits{Archive: "jetstream://cold_store-1"})},
		"bucket of S3":      {err: limits(schedule.NamespaceLimits{Archive: "s3://cold?region=eu-central-1"})},
		"bucket of Azure":   {err: limits(schedule.NamespaceLimits{Archive: "azblob://cold"})},
		"bucket of Google":  {err: limits(schedule.NamespaceLimits{Archive: "gs://cold"})},
		"no bucket of S3":   {limits(schedule.NamespaceLimits{Archive: "s3://"}), "limits.archive"},
		"archive options":   {limits(schedule.NamespaceLimits{Archive: "file:///a?create_dir=1"}), "limits.archive"},
		"archive fragment":  {limits(schedule.NamespaceLimits{Archive: "s3://cold#x"}), "limits.archive"},
		"archive somewhere": {limits(schedule.NamespaceLimits{Archive: "ftp://host/path"}), "limits.archive"},
		"archive of a host": {limits(schedule.NamespaceLimits{Archive: "file://host/path"}), "limits.archive"},
		"archive nowhere":   {limits(schedule.NamespaceLimits{Archive: "file:relative"}), "limits.archive"},
		"archive in a tree": {limits(schedule.NamespaceLimits{Archive: "jetstream://a/b"}), "limits.archive"},
		"archive of dots":   {limits(schedule.NamespaceLimits{Archive: "jetstream://a.b"}), "limits.archive"},
		"archive for all":   {limits(schedule.NamespaceLimits{Archive: "jetstream://me:secret@a"}), "limits.archive"},
		"longest archive":   {limits(schedule.NamespaceLimits{Archive: "file:///" + strings.Repeat("x", schedule.MaxArchive)}), "limits.archive"},
		"kept too long":     {limits(schedule.NamespaceLimits{EventRetention: 721 * hour}), "limits.eventRetention"},

		"freeze":               {err: freeze(schedule.FreezeNamespaceRequest{Reason: "x"})},
		"freeze for":           {err: freeze(schedule.FreezeNamespaceRequest{Reason: "x", For: hour})},
		"freeze until":         {err: freeze(schedule.FreezeNamespaceRequest{Reason: "x", Until: noon})},
		"freeze for no reason": {freeze(schedule.FreezeNamespaceRequest{For: hour}), "reason"},
		"freeze at length":     {freeze(schedule.FreezeNamespaceRequest{Reason: strings.Repeat("x", schedule.MaxFreezeReason+1)}), "reason"},
		"freeze backwards":     {freeze(schedule.FreezeNamespaceRequest{Reason: "x", For: -1}), "for"},
		"freeze twice":         {freeze(schedule.FreezeNamespaceRequest{Reason: "x", For: hour, Until: noon}), "for"},
		"unfreeze":             {err: schedule.UnfreezeNamespaceRequest{}.Validate()},
		"delete":               {schedule.DeleteNamespaceRequest{RequestID: strings.Repeat("x", schedule.MaxIDBytes+1)}.Validate(), "requestId"},
		"describe":             {err: schedule.DescribeNamespaceRequest{}.Validate()},
		"list":                 {err: schedule.ListNamespacesRequest{PageSize: schedule.MaxPageSize}.Validate()},
		"list too much":        {schedule.ListNamespacesRequest{PageSize: schedule.MaxPageSize + 1}.Validate(), "pageSize"},
		"list from nowhere":    {schedule.ListNamespacesRequest{PageToken: strings.Repeat("x", schedule.MaxPageTokenBytes+1)}.Validate(), "pageToken"},
	} {
		if c.field == "" {
			assert.NoError(t, c.err, name)
			continue
		}
		var failure *schedule.Error
		if assert.True(t, errors.As(c.err, &failure), name) {
			assert.Equal(t, c.field, failure.Field, name)
			assert.Equal(t, schedule.CodeInvalidArgument, failure.Code, name)
		}
	}
}

func TestFreezeCovers(t *testing.T) {
	t.Parallel()
	from := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	var none *schedule.Freeze
	require.False(t, none.Covers(from))
	open, closed := &schedule.Freeze{From: from}, &schedule.Freeze{From: from, Until: from.Add(time.Hour)}
	for _, freeze := range []*schedule.Freeze{open, closed} {
		assert.False(t, freeze.Covers(from.Add(-1)))
		assert.True(t, freeze.Covers(from))
		assert.True(t, freeze.Covers(from.Add(time.Hour-1)))
	}
	assert.True(t, open.Covers(from.AddDate(100, 0, 0)))
	assert.False(t, closed.Covers(from.Add(time.Hour)))
}

func TestErrorTellsWhenToTryAgain(t *testing.T) {
	t.Parallel()
	text, err := apitext.EncodeJSON(schedule.Error{Code: schedule.CodeResourceExhausted, Message: "full", RetryAfter: schedule.Duration(150 * time.Millisecond)})
	require.NoError(t, err)
	assert.JSONEq(t, `{"code":"resource_exhausted","message":"full","retryAfter":"150ms"}`, string(text))
	text, err = apitext.EncodeJSON(schedule.Error{Code: schedule.CodeInternal, Message: "oops"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"code":"internal","message":"oops"}`, string(text))
}
