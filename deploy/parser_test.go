package deploy

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sample = catalogue{
	"requests_total": {"method": nil, "code": {"ok", "failed", "refused"}, "instance": nil},
	"delay_bucket":   {"queue": nil, "le": nil, "instance": nil},
	"waiting":        {"queue": nil, "instance": nil},
}

// TestParserWorksOutLabels of results.
func TestParserWorksOutLabels(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]labels{
		`1`:       {},
		`waiting`: labelSet("queue", "instance"),
		`sum(rate(requests_total{method=~"$method", code!="ok"}[$__rate_interval]))`:        {},
		`sum by (method) (rate(requests_total[5m])) > 0.5`:                                  labelSet("method"),
		`sum(increase(requests_total[5m] offset 1h)) by (code)`:                             labelSet("code"),
		`sum without (instance) (waiting)`:                                                  labelSet("queue"),
		`histogram_quantile(0.99, sum by (queue, le) (rate(delay_bucket[5m])))`:             labelSet("queue"),
		`max by (queue) (waiting) > 10 and on (queue) max by (queue) (waiting) == 0`:        labelSet("queue"),
		`sum by (code) (requests_total) / ignoring (code) group_left sum(requests_total)`:   labelSet("code"),
		`topk(5, sum by (queue) (waiting))`:                                                 labelSet("queue"),
		`100 * (1 - sum(requests_total) / clamp_min(sum(requests_total), 1))`:               {},
		`max_over_time(sum(waiting)[10m:1m])`:                                               {},
		`sum by (queue) (waiting) * on (queue) group_left (code) sum by (queue) (waiting)`:  labelSet("queue", "code"),
		`-sum by (queue) (waiting) or sum by (method) (requests_total{code="ok", }) >= 1e3`: labelSet("queue", "method"),
	} {
		got, _, err := labelsOf(sample, expr)
		require.NoError(t, err, expr)
		assert.Equal(t, want, got, expr)
	}
}

// TestParserRefuses what is not in the catalogue, and what it cannot read.
func TestParserRefuses(t *testing.T) {
	t.Parallel()
	for expr, says := range map[string]string{
		`request_total`:                         "there is no metric request_total",
		`rate(requests_total{status="ok"}[5m])`: "requests_total: there is no label status but code, instance, method",
		`requests_total{code=~"ok|fine"}`:       "code is never fine but ok, failed, refused",
		`sum by (method) (waiting)`:             "sum groups by method; there are the labels instance, queue",
		`sum by (queue) (sum(waiting))`:         "sum groups by queue",
		`histogram_quantile(0.9, waiting)`:      "needs buckets",
		`waiting / on (method) waiting`:         "the label method is not on the sides",
		`quantile_of(waiting)`:                  "the function quantile_of is not known",
		`sum(waiting`:                           "is where , or ) belongs",
		`waiting waiting`:                       `"waiting" is not expected`,
		`waiting{queue}`:                        "cannot be read",
		`waiting[5m`:                            `is where "]" belongs`,
		`waiting ? 1`:                           "cannot read PromQL from here on: ? 1",
	} {
		_, _, err := labelsOf(sample, expr)
		assert.ErrorContains(t, err, says, expr)
	}
}
