package jobs

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/schedule"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func TestNext(t *testing.T) {
	t.Parallel()
	none := time.Time{}
	for name, test := range map[string]struct {
		job   Job
		able  bool
		what  step
		until time.Time
	}{
		"new":               {Job{Status: Running}, true, claim, none},
		"of another kind":   {Job{Status: Running}, false, leave, none},
		"not before":        {Job{Status: Running, NotBefore: noon.Add(1)}, true, wait, noon.Add(1)},
		"from now on":       {Job{Status: Running, NotBefore: noon}, true, claim, none},
		"given back":        {Job{Status: Running, Term: 3}, true, claim, none},
		"held":              {Job{Status: Running, Owner: "a", LeaseUntil: noon.Add(1)}, true, wait, noon.Add(1)},
		"held too long":     {Job{Status: Running, Owner: "a", LeaseUntil: noon}, true, claim, none},
		"held, other kind":  {Job{Status: Running, Owner: "a", LeaseUntil: noon}, false, leave, none},
		"done":              {Job{Status: Done, EndTime: noon}, true, wait, noon.Add(Retention)},
		"canceled, held":    {Job{Status: Canceled, EndTime: noon, Owner: "a"}, true, wait, noon.Add(Retention)},
		"done long ago":     {Job{Status: Done, EndTime: noon.Add(-Retention)}, true, remove, none},
		"failed, not known": {Job{Status: Failed, EndTime: noon.Add(-Retention)}, false, remove, none},
	} {
		what, until := next(&test.job, noon, test.able)
		assert.Equal(t, test.what, what, name)
		assert.Equal(t, test.until, until, name)
	}
}

func TestHolding(t *testing.T) {
	t.Parallel()
	held := Job{Status: Running}
	held.claim("a", noon)
	assert.True(t, mustSave(&held, true, noon), "something is to be written")
	assert.False(t, mustSave(&held, false, noon.Add(renewEvery-1)))
	assert.True(t, mustSave(&held, false, noon.Add(renewEvery)))
	assert.False(t, mustStop(&held, noon.Add(Lease-leaseMargin-1)))
	assert.True(t, mustStop(&held, noon.Add(Lease-leaseMargin)))
}

func TestPageSize(t *testing.T) {
	t.Parallel()
	for rate, size := range map[int]int{0: 100, 1: 10, 10: 10, 100: 100, 500: 500, MaxRate: 500} {
		assert.Equal(t, size, pageSize(rate), "rate %d", rate)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	passing, final := errors.New("no answer"), schedule.Invalid("id", "is no good")
	busy := schedule.Errorf(schedule.CodeUnavailable, "busy")
	for name, test := range map[string]struct {
		done  ItemResult
		err   error
		try   int
		want  Result
		again bool
	}{
		"done":         {ItemResult{}, nil, 1, ItemDone, false},
		"skipped":      {ItemResult{ItemSkipped, "gone"}, nil, 1, ItemSkipped, false},
		"failed":       {ItemResult{ItemFailed, "no"}, nil, 1, ItemFailed, false},
		"refused":      {ItemResult{}, fmt.Errorf("do: %w", final), 1, ItemFailed, false},
		"passing":      {ItemResult{}, passing, 1, ItemFailed, true},
		"unavailable":  {ItemResult{}, busy, maxTries - 1, ItemFailed, true},
		"once too oft": {ItemResult{}, passing, maxTries, ItemFailed, false},
	} {
		result, again := judge(test.done, test.err, test.try)
		assert.Equal(t, test.want, result.Result, name)
		assert.Equal(t, test.again, again, name)
		assert.Equal(t, test.want == ItemFailed, result.Result == ItemFailed && result.Reason != "", name)
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	assert.Equal(t, minBackoff, backoff(1))
	assert.Equal(t, 4*minBackoff, backoff(3))
	assert.Equal(t, maxBackoff, backoff(1000))
}

func TestSettleCountsOnce(t *testing.T) {
	t.Parallel()
	var j Job
	j.turn([]string{"a", "b", "c"})
	page := j.Page
	j.settle("b", ItemResult{Result: ItemDone})
	j.settle("b", ItemResult{Result: ItemDone})
	j.settle("x", ItemResult{Result: ItemDone})
	j.settle("a", ItemResult{ItemSkipped, ""})
	j.settle("c", ItemResult{ItemFailed, "no"})
	assert.Equal(t, []string{"a", "b", "c"}, page, "who works on the page still reads it")
	assert.Equal(t, [3]int{1, 1, 1}, [3]int{j.Done, j.Skipped, j.Failed})
	assert.Equal(t, []Failure{{"c", "no"}}, j.Failures)
	assert.Empty(t, j.Page)
	assert.Equal(t, "c", j.Cursor)
	assert.False(t, j.Walked)
	j.turn(nil)
	assert.True(t, j.Walked)
	assert.Equal(t, "c", j.Cursor)
}

func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	var j Job
	for i := range MaxFailures + 5 {
		id := fmt.Sprint(i)
		j.turn([]string{id})
		j.settle(id, ItemResult{ItemFailed, strings.Repeat("é", maxReason)})
	}
	require.Len(t, j.Failures, MaxFailures)
	assert.Equal(t, "5", j.Failures[0].ID)
	assert.Equal(t, MaxFailures+5, j.Failed)
	assert.LessOrEqual(t, len(j.Failures[0].Reason), maxReason+len("…"))
	assert.True(t, utf8.ValidString(j.Failures[0].Reason))
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	mine := Job{Status: Running}
	mine.claim("a", noon)
	mine.Done = 7

	own := mine
	own.Done = 3 // a write whose answer was lost
	kept := mine
	require.True(t, kept.adopt(&own))
	assert.Equal(t, mine, kept)

	canceled := own
	canceled.Status, canceled.EndTime, canceled.CanceledBy = Canceled, noon, "anna"
	require.True(t, kept.adopt(&canceled))
	assert.Equal(t, Canceled, kept.Status)
	assert.Equal(t, "anna", kept.CanceledBy)
	assert.Equal(t, 7, kept.Done, "what has been done counts")

	taken := mine
	taken.claim("b", noon)
	kept = mine
	assert.False(t, kept.adopt(&taken))
	assert.Equal(t, mine, kept)
}
