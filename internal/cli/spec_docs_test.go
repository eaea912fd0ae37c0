package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/golden"
	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/specproc"
	"github.com/carillon-scheduler/carillon/specproc/prose"
)

// specPage is the reference of specs.
var specPage = filepath.Join(repository, "docs/specification.md")

// example matches an example on the page: its name, the instant after which it begins, and its spec.
var example = regexp.MustCompile("(?s)<!-- ([a-z0-9-]+): after (\\S+) -->\n```yaml\n(.*?)```\n")

// TestSpecificationPage computes the results of the examples in docs/specification.md.
func TestSpecificationPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(specPage)
	require.NoError(t, err)
	examples := example.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(examples), 20)
	for _, found := range examples {
		name, text := found[1], found[3]
		after, err := time.Parse(time.RFC3339, found[2])
		require.NoError(t, err, name)
		golden.Section(t, specPage, name, "```yaml\n"+text+"```\n\n```text\n"+exampleResult(t, name, text, after)+"```\n")
	}
	golden.Section(t, specPage, "rejected", rejectedTable(t))
}

// exampleResult returns the spec in words, its first times in local time and in UTC, and the warnings.
func exampleResult(t *testing.T, name, text string, after time.Time) string {
	var spec schedule.Spec
	require.NoError(t, apitext.DecodeYAML([]byte(text), &spec), name)
	compiled, err := specproc.Compile(spec)
	require.NoError(t, err, name)
	loc, err := spec.Location()
	require.NoError(t, err, name)
	result := fmt.Sprintf("%s\nafter %s:\n", prose.Describe(spec), after.Format(time.RFC3339))
	for at, ok := compiled.Next(after, "default-nightly"); ok && strings.Count(result, "\n") < 6; at, ok = compiled.Next(at.Nominal, "default-nightly") {
		result += "  " + at.Nominal.In(loc).Format("Mon 2006-01-02 15:04:05")
		if loc != time.UTC {
			result += " = " + at.Nominal.Format(time.RFC3339)
		}
		if !at.Actual.Equal(at.Nominal) {
			result += ", due " + at.Actual.Format("15:04:05.000")
		}
		result += "\n"
	}
	for _, warning := range prose.Warnings(spec, after) {
		result += fmt.Sprintf("warning: %s: %s\n", warning.Field, warning.Text)
	}
	return result
}

// rejectedSpecs are specs that look valid but are refused.
var rejectedSpecs = []struct{ text, why string }{
	{`cron: ["+5 * * * *"]`, "a sign"},
	{`cron: ["*/99999999999 * * * *"]`, "a step that overflows"},
	{`cron: ["@everything 2h"]`, "a longer word than `@every`"},
	{`cron: ["@every 6h/"]`, "a slash without a phase"},
	{`cron: ["0 9 * * mon-fri#2"]`, "a range of n-th weekdays"},
	{`cron: ["30 ? * * *"]`, "`?` outside the day fields"},
	{`cron: ["CRON_TZ=Mars/Base @every 1h"]`, "an unknown zone, also where it would play no part"},
	{`cron: ["CRON_TZ=UTC 0 9 * * *", "CRON_TZ=Asia/Tokyo 0 9 * * *"]`, "two zones"},
	{`intervals: [{every: 10s, phase: 2500ms}]`, "a fraction of a second"},
	{`intervals: [{every: 10s, phase: 10s}]`, "a phase that is not less than the interval"},
	{`jitter: -5m`, "a negative jitter"},
	{`timeZone: Local`, "a zone that depends on the host"},
	{`at: ["2026-12-31T23:59:00.5Z"]`, "a fraction of a second"},
	{`calendars: [{hour: "17-9"}]`, "a range that goes backwards"},
	{`calendars: [{hours: 9}]`, "a field that does not exist"},
}

func rejectedTable(t *testing.T) string {
	table := "| spec | what is wrong | the error |\n| --- | --- | --- |\n"
	for _, rejected := range rejectedSpecs {
		var spec schedule.Spec
		err := apitext.DecodeYAML([]byte(rejected.text), &spec)
		if err == nil {
			err = spec.Validate()
		}
		if assert.Error(t, err, rejected.text) {
			table += fmt.Sprintf("| `%s` | %s | `%s` |\n", rejected.text, rejected.why, strings.ReplaceAll(err.Error(), "`", "'"))
		}
	}
	return table
}
