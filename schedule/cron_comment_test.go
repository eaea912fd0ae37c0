package schedule

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestCommentsAreSeen puts a "#" and some text anywhere into an expression. What is left of the expression without a comment must
// be what the expression means, and only where a blank or a field "*" stands before the "#" may anything be left out.
func TestCommentsAreSeen(t *testing.T) {
	t.Parallel()
	seeds := []string{
		"0 9 * * fri", "0 9 1 * mon-fri", "*/5 * * * *", "0 0 9 * * 1,3#2 2030", "@daily", "@every 90m/15m", "TZ=UTC 0 9 L * *",
		"0 9 * * friL", "CRON_TZ=Europe/Berlin 0 9 15W 1-6 ?", "0 9 ? * mon#1,fri#5",
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(seeds).Draw(t, "seed")
		for range rapid.IntRange(1, 2).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)).Draw(t, "at")
			insert := rapid.SampledFrom([]string{
				"#", "#L", "#-1", "#1", "#10", "#1-2", "#2#3", "#x", "#daily", " #", " #L", "# ", "\t#x", "#last", "-", "L", "W", "?", "*",
			}).Draw(t, "insert")
			text = text[:at] + insert + text[at:]
		}
		cron, err := ParseCron(text)
		body, _ := cutComment(text)
		if err != nil {
			return
		}
		plain, err := ParseCron(body)
		require.NoError(t, err, text)
		cron.Comment = ""
		for i := range cron.Calendars {
			cron.Calendars[i].Comment = ""
		}
		require.Equal(t, plain, cron, text)
		if len(body) < len(text) {
			before := text[:len(body)]
			require.True(t, before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "\t") ||
				strings.HasSuffix(before, " *"), text)
		}
		for _, field := range strings.FieldsFunc(body, isBlank) {
			for _, item := range strings.Split(field, ",") { // what is left has a meaning
				weekday, nth, found := strings.Cut(item, "#")
				require.True(t, !found || isWeekdayWord(weekday) && len(nth) == 1 && nth >= "1" && nth <= "5", text)
			}
		}
	})
}

func TestCronAsStored(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0 9 * * fri#L":      "0 9 * * fri #L",
		"0 9 * * mon#1,5#-1": "0 9 * * mon#1,5 #-1",
		"@daily#x":           "@daily #x",
		"0 9 * * fri#2":      "0 9 * * fri#2",
		"0 9 * * fri # a#b":  "0 9 * * fri # a#b",
		"0 9 * * fri#6":      "0 9 * * fri#6", // an error always
		"0 99 * * fri#L":     "0 99 * * fri#L",
		"0 9 * * *":          "0 9 * * *",
	} {
		got, changed := CronAsStored(text)
		require.Equal(t, want, got, text)
		require.Equal(t, text != want, changed, text)
	}
	spec := Spec{Cron: []string{"0 9 * * *", "0 9 * * fri#L"}}
	require.Equal(t, []string{"0 9 * * *", "0 9 * * fri #L"}, spec.AsStored().Cron)
	require.Equal(t, "0 9 * * fri#L", spec.Cron[1], "the spec itself is as before")
}
