package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/carillon-scheduler/carillon/internal/fixedseed"
	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/search/query/querygen"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", " \n": "",
		"paused=true":                           "paused = true",
		"PAUSED = TRUE":                         "", // fields are exact
		"paused = TRUE AND NOT id = 'a'":        "paused = true and not id = 'a'",
		"id = 'a' or id = 'b' and id = 'c'":     "id = 'a' or id = 'b' and id = 'c'",
		"(id = 'a' or id = 'b') and id = 'c'":   "(id = 'a' or id = 'b') and id = 'c'",
		"id = 'a' and (id = 'b' and id = 'c')":  "id = 'a' and id = 'b' and id = 'c'",
		"((id = 'a'))":                          "id = 'a'",
		"not (id = 'a' or id = 'b')":            "not (id = 'a' or id = 'b')",
		"not not id = 'a'":                      "not not id = 'a'",
		"id = 'it''s'":                          "id = 'it''s'",
		"id = ''":                               "id = ''",
		"id in ('a','b' , 'c')":                 "id in ('a', 'b', 'c')",
		"id not in ('a')":                       "id not in ('a')",
		"id starts_with 'report-'":              "id starts_with 'report-'",
		"running between 1 and 3 and waiting>0": "running between 1 and 3 and waiting > 0",
		"running not between -1 and +3":         "",
		"nextTime < '2027-01-01'":               "nextTime < '2027-01-01T00:00:00Z'",
		"nextTime >= '2027-01-01T01:00:00.5+01:00' order by nextTime": "nextTime >= '2027-01-01T00:00:00.5Z' order by nextTime",
		"nextTime is null":                       "nextTime is null",
		"updateTime IS NOT NULL":                 "updateTime is not null",
		"attr.customer = 'acme'":                 "attr.customer = 'acme'",
		"attr.cost-center.eu != 5":               "attr.cost-center.eu != 5",
		"attr.'größe' > 1e3":                     "attr.'größe' > 1000.0",
		"memo.x = 1.5 and memo.and = -2":         "memo.x = 1.5 and memo.and = -2",
		"attr.due = '2027-01-01'":                "attr.due = '2027-01-01T00:00:00Z'",
		"attr.due starts_with '2027-01-01'":      "attr.due starts_with '2027-01-01'",
		"lastStatus = 'failed' order by id desc": "lastStatus = 'failed' order by id desc",
		"order by createTime asc":                "order by createTime",
	} {
		q, err := query.Parse(text)
		if want == "" && strings.TrimSpace(text) != "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, q.String(), text)
	}
}

// TestErrorsPointAtThePlace has a ^ in front of the place of the error.
func TestErrorsPointAtThePlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"^tasQueue = 'a'", "there is no field tasQueue: did you mean taskQueue?"},
		{"^customer = 'a'", "there is no field customer: use one of id, paused,"},
		{"paused = ^'yes'", "paused is true or false, and cannot be compared with a string"},
		{"paused ^> true", "paused is true or false: use = or !=, not >"},
		{"running = ^1.5", "running is a whole number, and cannot be compared with a number with a fraction"},
		{"running ^starts_with 1", "running is a whole number, and only a string starts with something"},
		{"id = ^5", "id is a string, and cannot be compared with a whole number"},
		{"id = ^abc", "expected a value, found abc: strings stand in single quotes"},
		{"paused = ^tru", "expected a value, found tru: did you mean true?"},
		{"id = ^\"abc\"", "strings stand in single quotes"},
		{"id = ^'abc", "the string has no end"},
		{"id ^== 'abc'", "use ="},
		{"id ^<> 'abc'", "use !="},
		{"paused = true ^&& id = 'a'", "use and"},
		{"id = ^null", "use is null"},
		{"id ^matches 'a'", "expected =, !=, <, <=, >, >=, in, not in, between, starts_with or is null, found matches"},
		{"id is ^5", "expected null, found 5"},
		{"id ^like 'a'", "there is no like: use starts_with"},
		{"id not ^= 'a'", "expected in or between after not, found ="},
		{"id in ^'a'", "expected (, found the string 'a'"},
		{"id in (^)", "expected a value: a string in single quotes, a number, true or false, found )"},
		{"id in ('a' ^'b')", "expected , or ), found the string 'b'"},
		{"(id = 'a'^", "expected and, or, or ), found the end"},
		{"id = 'a'^)", "expected and, or, order by, or the end of the query, found )"},
		{"id = 'a' ^id = 'b'", "expected and, or, order by, or the end of the query, found id"},
		{"id = 'a' and ^", "expected a field, not or (, found the end"},
		{"^and id = 'a'", "expected a field, not or (, found and"},
		{"^'a' = id", "expected a field, not or (, found the string 'a'"},
		{"nextTime < ^'tomorrow'", "nextTime is a datetime, and the string 'tomorrow' none: use a date such as '2027-01-31'"},
		{"nextTime < ^2027-01-01", "times and other strings stand in single quotes"},
		{"running > ^0x10", "0x10 is not a number"},
		{"attr.x > ^1e999", "1e999 is not a number, or not one of 64 bits"},
		{"lastStatus = ^'fail'", "no run ends as the string 'fail': did you mean 'failed'?"},
		{"attr.x between 1 and ^'a'", "between needs two values of one type, not a whole number and a string"},
		{"paused ^between true and true", "use = or !=, not between"},
		{"attr.^ = 1", "expected a name after attr."},
		{"order ^id", "expected by, found id"},
		{"order by ^", "expected a field, found the end"},
		{"order by ^attr.x", "nothing can be ordered by attr.x: use one of id, paused,"},
		{"order by ^notes", "nothing can be ordered by notes"},
		{"order by id desc^, paused", "a list has one order"},
	} {
		text := strings.Replace(test.text, "^", "", 1)
		_, err := query.Parse(text)
		var e *query.Error
		require.True(t, errors.As(err, &e), text)
		assert.Contains(t, e.Message, test.want, text)
		assert.Equal(t, strings.IndexByte(test.text, '^'), e.At, "%s: %s", text, e.Message)
	}
}

func TestExplainAndPoint(t *testing.T) {
	t.Parallel()
	text := "notes = 'größe'\n and x = 1"
	_, err := query.Parse(text)
	assert.Contains(t, query.Explain(text, err), "at character 22: there is no field x")
	assert.Equal(t, "notes = 'größe'  and x = 1\n"+strings.Repeat(" ", 21)+"^", query.Point(text, err))
	assert.Empty(t, query.Point(text, errors.New("another")))

	long := "id in (" + strings.Repeat("'a', ", 50) + "5)"
	_, err = query.Parse(long)
	line, caret, _ := strings.Cut(query.Point(long, err), "\n")
	assert.Less(t, len(line), 80)
	assert.Equal(t, byte('5'), line[strings.IndexByte(caret, '^')])
}

func TestQueriesAreBounded(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat("(", n) + "id = 'a'" + strings.Repeat(")", n) }
	for text, want := range map[string]string{
		nested(50):                "",
		nested(51):                "nested more than 50 deep",
		nested(10_000):            "more than 8192 bytes",
		strings.Repeat("(", 8000): "nested more than 50 deep",
		strings.Repeat("not ", 2000) + "id = 'a'":         "nested more than 50 deep",
		strings.Repeat("id = 'a' and ", 200) + "id = 'a'": "more than 200 comparisons",
		strings.Repeat("id = 'a' or ", 199) + "id = 'a'":  "",
	} {
		_, err := query.Parse(text)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, want)
	}
}

// TestPrintAndParse prints queries that are put together at random.
func TestPrintAndParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := querygen.Query().Draw(t, "query")
		again, err := query.Parse(q.String())
		require.NoError(t, err, q.String())
		require.Equal(t, q, again)
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"paused = true and taskQueue = 'billing' and nextTime < '2027-01-01'", "not (a or b) order by id desc",
		"attr.'it''s' in (1, 2.5, 'x', true)", "id is not null or memo.x not between -1 and 1e9", "((((", "'", "attr.", "-", "\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := query.Parse(text)
		if err != nil {
			var e *query.Error
			require.True(t, errors.As(err, &e))
			require.True(t, 0 <= e.At && e.At <= len(text))
			require.NotEmpty(t, query.Explain(text, err))
			require.NotEmpty(t, query.Point(text, err))
			return
		}
		again, err := query.Parse(q.String())
		if err != nil { // a time or a name may be longer when it is printed
			require.Greater(t, len(q.String()), 8<<10, q.String())
			return
		}
		require.Equal(t, q, again, q.String())
	})
}

// FuzzParseTemporal: what a client of Temporal asks of schedules is the same query in the language of Carillon.
func FuzzParseTemporal(f *testing.F) {
	for _, seed := range []string{
		"ScheduleId = \"a\" and `x y` <> 'it\\'s'", "TemporalSchedulePaused = true or not memo.a in (1) order by ScheduleNextActionTime",
		"`memo.` = 1", "``", "attr.'Größe' > 1", "a not starts_with 'b'",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := query.ParseTemporal(text)
		if err != nil {
			var e *query.Error
			require.True(t, errors.As(err, &e))
			require.True(t, 0 <= e.At && e.At <= len(text))
			return
		}
		again, err := query.Parse(q.String())
		if err != nil { // what is printed may be longer, and not starts_with are two conditions
			require.True(t, len(q.String()) > 8<<10 || strings.Contains(err.Error(), "more than"), q.String())
			return
		}
		require.Equal(t, q, again, q.String())
	})
}
