package schedule

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamespaceRequestsValidate(t *testing.T) {
	t.Parallel()
	const hour = Duration(time.Hour)
	limits := func(l NamespaceLimits) error { return CreateNamespaceRequest{Limits: l}.Validate() }
	freeze := func(r FreezeNamespaceRequest) error { return r.Validate() }
	noon := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		err   error
		field string // empty: it is valid
	}{
		"nothing said":     {err: CreateNamespaceRequest{}.Validate()},
		"nothing to set":   {err: UpdateNamespaceRequest{}.Validate()},
		"longest text":     {err: CreateNamespaceRequest{Description: strings.Repeat("x", MaxDescription)}.Validate()},
		"too long a text":  {CreateNamespaceRequest{Description: strings.Repeat("x", MaxDescription+1)}.Validate(), "description"},
		"no text":          {UpdateNamespaceRequest{Description: "\xff"}.Validate(), "description"},
		"bad request ID":   {UpdateNamespaceRequest{RequestID: "a\nb"}.Validate(), "requestId"},
		"all limits":       {err: limits(NamespaceLimits{0.5, 1, 1e6, 100_000_000, 1 << 20, 7, 720 * hour})},
		"negative rate":    {limits(NamespaceLimits{RequestsPerSecond: -1}), "limits.requestsPerSecond"},
		"no number":        {limits(NamespaceLimits{ActionsPerSecond: math.NaN()}), "limits.actionsPerSecond"},
		"endless rate":     {limits(NamespaceLimits{ActionsPerSecond: math.Inf(1)}), "limits.actionsPerSecond"},
		"negative burst":   {limits(NamespaceLimits{RequestBurst: -1}), "limits.requestBurst"},
		"too many":         {limits(NamespaceLimits{MaxSchedules: 100_000_001}), "limits.maxSchedules"},
		"negative bytes":   {limits(NamespaceLimits{MaxScheduleBytes: -1}), "limits.maxScheduleBytes"},
		"negative runs":    {limits(NamespaceLimits{MaxPendingRuns: -5}), "limits.maxPendingRuns"},
		"kept too briefly": {limits(NamespaceLimits{EventRetention: hour - 1}), "limits.eventRetention"},
		"kept too long":    {limits(NamespaceLimits{EventRetention: 721 * hour}), "limits.eventRetention"},

		"freeze":               {err: freeze(FreezeNamespaceRequest{Reason: "x"})},
		"freeze for":           {err: freeze(FreezeNamespaceRequest{Reason: "x", For: hour})},
		"freeze until":         {err: freeze(FreezeNamespaceRequest{Reason: "x", Until: noon})},
		"freeze for no reason": {freeze(FreezeNamespaceRequest{For: hour}), "reason"},
		"freeze at length":     {freeze(FreezeNamespaceRequest{Reason: strings.Repeat("x", MaxFreezeReason+1)}), "reason"},
		"freeze backwards":     {freeze(FreezeNamespaceRequest{Reason: "x", For: -1}), "for"},
		"freeze twice":         {freeze(FreezeNamespaceRequest{Reason: "x", For: hour, Until: noon}), "for"},
		"unfreeze":             {err: UnfreezeNamespaceRequest{}.Validate()},
		"delete":               {DeleteNamespaceRequest{RequestID: strings.Repeat("x", MaxIDBytes+1)}.Validate(), "requestId"},
		"describe":             {err: DescribeNamespaceRequest{}.Validate()},
		"list":                 {err: ListNamespacesRequest{PageSize: MaxPageSize}.Validate()},
		"list too much":        {ListNamespacesRequest{PageSize: MaxPageSize + 1}.Validate(), "pageSize"},
		"list from nowhere":    {ListNamespacesRequest{PageToken: strings.Repeat("x", MaxPageTokenBytes+1)}.Validate(), "pageToken"},
	} {
		if c.field == "" {
			assert.NoError(t, c.err, name)
			continue
		}
		var failure *Error
		if assert.True(t, errors.As(c.err, &failure), name) {
			assert.Equal(t, c.field, failure.Field, name)
			assert.Equal(t, CodeInvalidArgument, failure.Code, name)
		}
	}
}

func TestFreezeCovers(t *testing.T) {
	t.Parallel()
	from := time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC)
	var none *Freeze
	require.False(t, none.Covers(from))
	open, closed := &Freeze{From: from}, &Freeze{From: from, Until: from.Add(time.Hour)}
	for _, freeze := range []*Freeze{open, closed} {
		assert.False(t, freeze.Covers(from.Add(-1)))
		assert.True(t, freeze.Covers(from))
		assert.True(t, freeze.Covers(from.Add(time.Hour-1)))
	}
	assert.True(t, open.Covers(from.AddDate(100, 0, 0)))
	assert.False(t, closed.Covers(from.Add(time.Hour)))
}

func TestErrorTellsWhenToTryAgain(t *testing.T) {
	t.Parallel()
	text, err := EncodeJSON(Error{Code: CodeResourceExhausted, Message: "full", RetryAfter: Duration(150 * time.Millisecond)})
	require.NoError(t, err)
	assert.JSONEq(t, `{"code":"resource_exhausted","message":"full","retryAfter":"150ms"}`, string(text))
	text, err = EncodeJSON(Error{Code: CodeInternal, Message: "oops"})
	require.NoError(t, err)
	assert.JSONEq(t, `{"code":"internal","message":"oops"}`, string(text))
}
