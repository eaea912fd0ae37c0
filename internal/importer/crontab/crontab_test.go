package crontab

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/importer"
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

func TestParse(t *testing.T) {
	t.Parallel()
	all := Parse(crontabText, false)
	require.Len(t, all, 3)
	first := all[0]
	require.NoError(t, first.Problem)
	assert.Equal(t, "backup", first.ID)
	assert.Equal(t, []string{"0 2 * * mon-fri"}, first.Spec.Cron)
	assert.Equal(t, "Europe/Berlin", first.Spec.TimeZone)
	assert.Equal(t, schedule.OverlapAllowAll, first.Policies.Overlap)
	assert.Equal(t, time.Hour, first.Policies.CatchupWindow.Std())
	assert.JSONEq(t, `{"command": "bash", "args": ["-c", "/usr/bin/backup --full /data"]}`, string(first.Action.Input))
	assert.Equal(t, "line 6: 0 2 * * mon-fri  /usr/bin/backup --full /data", first.From)
	assert.Equal(t, []string{"the variable MAILTO is not set for the command, and no mail is sent"}, first.Notes)
	assert.JSONEq(t, `{"command": "bash", "args": ["-c", "curl -s \"http://a/?x="], "stdin": "25\" % 50\nfirst\nsecond\n"}`,
		string(all[1].Action.Input))
	assert.Equal(t, []string{"@daily"}, all[2].Spec.Cron)
}

// TestCrontabClockChanges: cron treats commands at fixed times differently from those that begin with a star, and only in the
// zone of its host.
func TestCrontabClockChanges(t *testing.T) {
	t.Parallel()
	fixed := schedule.DST{Gap: schedule.GapShift, Repeat: schedule.RepeatFirst}
	for times, want := range map[string]schedule.DST{
		"30 2 * * *": fixed, "@daily": fixed, "0 */2 * * *": {}, "*/5 2 * * *": {}, "@hourly": {}, "@minutely": {},
	} {
		all := Parse(times+" /opt/a\nCRON_TZ=Asia/Tokyo\n"+times+" /opt/a\n", false)
		require.NoError(t, all[0].Problem)
		importer.Options{TaskQueue: "q", Zone: "Europe/Berlin"}.Documents(all)
		assert.Equal(t, want, all[0].Spec.DST, times)
		assert.Zero(t, all[1].Spec.DST, times)
		assert.Equal(t, "Asia/Tokyo", all[1].Spec.TimeZone)
	}
}

// TestReadVariable has all ways to write an assignment, and texts that look like one.
func TestReadVariable(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"A=b": "A|b", "A = b c ": "A|b c", `A="b c" `: "A|b c", `'A B'='c'`: "A B|c", `A="it's"`: "A|it's", "A=": "A|", `A=""`: "A|",
		"A=b=c": "A|b=c", `A=b "c"`: `A|b "c"`, "A\t=\tb": "A|b",
	} {
		v, ok := readVariable(line)
		require.True(t, ok, line)
		assert.Equal(t, want, v.name+"|"+v.value, line)
	}
	for _, line := range []string{`A="b`, `A="b" c`, `"A=b`, `"A=B"=c`, "A B=c", "A", "* * * * * x=1", "@daily x=1", "*/5 1 2 3 4 X=y cmd"} {
		_, ok := readVariable(line)
		assert.False(t, ok, line)
	}
}

func TestSplitPercent(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "a|", "a%": "a|", "a%b": "a|b\n", "a%b%": "a|b\n", "a%%": "a|\n", `a\%b`: "a%b|", `a\\%b`: `a\\|` + "b\n", `a\b%c`: `a\b|` + "c\n",
		`a\`: `a\|`, `a%\%`: "a|%\n", `a%\\%`: `a|\%` + "\n", `a%b\`: `a|b\` + "\n", `a%\`: `a|\`, "a %b ": "a |b \n", "a%b%%c": "a|b\n\nc\n",
	} {
		command, stdin := splitPercent(text)
		assert.Equal(t, want, command+"|"+stdin, text)
	}
}

// TestSplitPercentOfAnything compares with another implementation of the same rules: by pairs in the command, and by looking back
// from each % after it.
func TestSplitPercentOfAnything(t *testing.T) {
	t.Parallel()
	command, pair := regexp.MustCompile(`^([^\\%]|\\.|\\$)*`), regexp.MustCompile(`\\.`)
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"%", `\`, "a", " "})).Draw(t, "text"), "")
		got, stdin := splitPercent(text)
		before := command.FindString(text)
		assert.Equal(t, pair.ReplaceAllStringFunc(before, func(p string) string {
			if p == `\%` {
				return "%"
			}
			return p
		}), got)
		var want []byte
		after := strings.TrimPrefix(text[len(before):], "%")
		for i := range after {
			switch escaped := i > 0 && after[i-1] == '\\'; {
			case after[i] != '%':
				want = append(want, after[i])
			case escaped:
				want[len(want)-1] = '%'
			default:
				want = append(want, '\n')
			}
		}
		end := strings.TrimPrefix(stdin, string(want))
		assert.Equal(t, stdin, string(want)+end, "the rest is the end of the line")
		last := strings.TrimRight(string(want), `\`)
		assert.Equal(t, last != "" && !strings.HasSuffix(last, "\n"), end == "\n", "which is there unless it was, or there is nothing")
	})
}

// FuzzParse: nothing makes Parse panic, nothing is lost, and each entry has a time, an ID and an input.
func FuzzParse(f *testing.F) {
	f.Add(crontabText, false)
	f.Add("0 0 * * * root x", true)
	f.Add("@x %", false)
	f.Add("0 0 * * * \u00a0", false)
	f.Add("RANDOM_DELAY=7\n-~ 0 * * sun-0 -n \\%%", false)
	f.Fuzz(func(t *testing.T, text string, system bool) {
		for _, s := range Parse(text, system) {
			require.NotEmpty(t, s.From)
			if s.Problem != nil {
				continue
			}
			require.NotEmpty(t, s.ID)
			require.Len(t, s.Spec.Cron, 1)
			require.NotEmpty(t, s.Action.Input)
		}
	})
}
