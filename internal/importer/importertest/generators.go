// Package importertest draws inputs of importers for property tests. Only tests import it.
//
// The package imports nothing of Carillon.
package importertest

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// Field draws a field that the parser of Kubernetes usually accepts.
func Field(low, high int) *rapid.Generator[string] {
	value := rapid.IntRange(low, high)
	term := rapid.Custom(func(t *rapid.T) string {
		a, b := value.Draw(t, "a"), value.Draw(t, "b")
		text := rapid.SampledFrom([]string{"*", "?", fmt.Sprint(a), fmt.Sprintf("%d-%d", min(a, b), max(a, b))}).Draw(t, "term")
		if rapid.IntRange(0, 3).Draw(t, "stepped") == 0 {
			text += fmt.Sprintf("/%d", rapid.SampledFrom([]int{1, 2, 3, 7, 100}).Draw(t, "step"))
		}
		return text
	})
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 2).Draw(t, "any") == 0 {
			return "*"
		}
		return strings.Join(rapid.SliceOfN(term, 1, 3).Draw(t, "terms"), ",")
	})
}

// Expression draws a cron expression that the parser of Kubernetes accepts.
func Expression() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "macro") == 0 {
			return rapid.SampledFrom([]string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}).Draw(t, "name")
		}
		hour := Field(0, 23)
		if rapid.IntRange(0, 9).Draw(t, "once a day") > 0 { // otherwise comparing all times of a year takes long
			hour = rapid.Map(rapid.IntRange(0, 23), func(h int) string { return fmt.Sprint(h) })
		}
		return strings.Join([]string{
			fmt.Sprint(rapid.IntRange(0, 59).Draw(t, "minute")), hour.Draw(t, "hour"), Field(1, 31).Draw(t, "day"),
			Field(1, 12).Draw(t, "month"), Field(0, 6).Draw(t, "weekday"),
		}, " ")
	})
}

// CrontabLine draws a line of a crontab, good or bad.
func CrontabLine() *rapid.Generator[string] {
	words := rapid.SampledFrom([]string{
		"/opt/a", "backup", "%", `\%`, `\\`, "# no comment", "'it''s'", `"x: y"`, "- z", "|", "日本", "\x07", "\xff", "{{x}}", "{a: b}", "*", "&", "  ", "\t",
		"é", "\u200b", "\u0085", "null", "~", "0x10",
	})
	return rapid.Custom(func(t *rapid.T) string {
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			return rapid.SampledFrom([]string{
				"CRON_TZ=Asia/Tokyo", "CRON_TZ=", "TZ=UTC", "SHELL=/bin/bash", "MAILTO=a@b", "RANDOM_DELAY=7", "RANDOM_DELAY=x", "A = 'b", "# c", "",
			}).Draw(t, "variable")
		case 1:
			return rapid.SampledFrom([]string{"@reboot x", "@hourly", "@weekly a", "- x", "5", "-@daily b"}).Draw(t, "other")
		}
		times := strings.ReplaceAll(Expression().Draw(t, "times"), "?", "*")
		return times + " " + strings.Join(rapid.SliceOfN(words, 1, 6).Draw(t, "command"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between"))
	})
}

// CronJobDocument draws a CronJob, or something else.
func CronJobDocument() *rapid.Generator[string] {
	text := rapid.SampledFrom([]string{"x", "on", "0644", "~", "*", "a: b", "é\n\tz", "1e400", "\u2028", "---", "- x", "2026-01-01"})
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			return rapid.SampledFrom([]string{"kind: Job", "# nothing", "a: [", "7", "kind: CronJob", "kind: List\nitems: [{kind: CronJob}]"}).Draw(t, "other")
		}
		zone := rapid.SampledFrom([]string{"", "Europe/Berlin", "Pacific/Apia", "America/Santiago", "Mars/Olympus"}).Draw(t, "zone")
		optional := ""
		if zone != "" {
			optional = ", timeZone: " + zone
		}
		if rapid.Bool().Draw(t, "deadline") {
			optional += fmt.Sprintf(", startingDeadlineSeconds: %d", rapid.SampledFrom([]int{0, 9, 60, 3600, 1 << 33, 1 << 40}).Draw(t, "seconds"))
		}
		return fmt.Sprintf("kind: CronJob\nmetadata: {name: n%d, namespace: %s}\nspec: {schedule: %q, suspend: %v%s, jobTemplate: {a: %q, mode: 0644, on: yes, f: 1.50}}",
			rapid.IntRange(0, 3).Draw(t, "name"), rapid.SampledFrom([]string{"x", "z-n1", "z"}).Draw(t, "namespace"),
			Expression().Draw(t, "schedule"), rapid.Bool().Draw(t, "suspend"), optional, text.Draw(t, "text"))
	})
}
