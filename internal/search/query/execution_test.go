package query_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"pgregory.net/rapid"

	"github.com/carillon-scheduler/carillon/internal/search/query"
	"github.com/carillon-scheduler/carillon/internal/search/query/querygen"
)

func TestParseExecutions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "",
		"WorkflowType = 'x' AND ExecutionStatus = 'Running'": "WorkflowType = 'x' and ExecutionStatus = 1",
		`WorkflowType="x"`:                                     "WorkflowType = 'x'",
		"`ExecutionStatus`=\"Running\"":                        "ExecutionStatus = 1",
		"ExecutionStatus != 'timedout' or ExecutionStatus = 3": "ExecutionStatus != 7 or ExecutionStatus = 3",
		"ExecutionStatus IN ('Failed', 'TIMED_OUT', 'WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW')": "ExecutionStatus in (3, 7, 6)",
		"WorkflowId <> 'a'":                                         "WorkflowId != 'a'",
		"WorkflowId NOT STARTS_WITH 'a'":                            "WorkflowId is not null and not WorkflowId starts_with 'a'",
		"StartTime BETWEEN '2026-01-01' AND '2026-01-02T00:00:00Z'": "StartTime between '2026-01-01T00:00:00Z' and '2026-01-02T00:00:00Z'",
		"CloseTime > 1767225600000000000":                           "CloseTime > '2026-01-01T00:00:00Z'",
		"CloseTime IS NULL":                                         "CloseTime is null",
		"ExecutionDuration > '1h30m' OR ExecutionDuration < 5":      "ExecutionDuration > 5400000000000 or ExecutionDuration < 5",
		"ExecutionDuration = '01:00:01'":                            "ExecutionDuration = 3601000000000",
		"HistoryLength >= 10 AND NOT (TaskQueue = 'q')":             "HistoryLength >= 10 and not TaskQueue = 'q'",
		"CustomKeywordField = 'a' AND Paid = true":                  "`CustomKeywordField` = 'a' and `Paid` = true",
		"`it's a name` = 'it''s' and `a``b` is null":                "`it's a name` = 'it''s' and `a``b` is null",
		"`and` = 1 and `Group` = 2 and `1x` = 3":                    "`and` = 1 and `Group` = 2 and `1x` = 3",
		"`WorkflowID` = 'a'":                                        "`WorkflowID` = 'a'",
		"Due < '2026-01-01'":                                        "`Due` < '2026-01-01T00:00:00Z'",
		"TemporalScheduledById = 'daily' ORDER BY StartTime DESC":   "`TemporalScheduledById` = 'daily' order by StartTime desc",
		"order by CloseTime asc":                                    "order by CloseTime",
		"GROUP BY ExecutionStatus":                                  "group by ExecutionStatus",
		"WorkflowType in ('a') group by `ExecutionStatus`":          "WorkflowType in ('a') group by ExecutionStatus",
		"BuildIds = 'versioned:v1' and RootWorkflowId is not null":  "`BuildIds` = 'versioned:v1' and RootWorkflowId is not null",
		"ScheduleId = 'a' and TemporalWorkflowType = 'b' and ScheduledById = 'c' and `ScheduledById` = 'd'": "WorkflowId = 'a' and WorkflowType = 'b' and `TemporalScheduledById` = 'c' and `ScheduledById` = 'd'",
		"GROUP BY WorkflowType": "group by WorkflowType",
		"Group by Customer":     "group by `Customer`",
		`WorkflowId = 'it\'s' or WorkflowId = "a\"b" or WorkflowId = 'c:\d\\e\'`:                                                  "",
		`WorkflowId = 'it\'s' or WorkflowId = "a\"b" or WorkflowId = 'c:\d\\e'`:                                                   `WorkflowId = 'it''s' or WorkflowId = 'a"b' or WorkflowId = 'c:\\d\\e'`,
		"ExecutionDuration in ('2d', '-1d12h', '500', '1.5h')":                                                                    "ExecutionDuration in (172800000000000, -129600000000000, 500, 5400000000000)",
		"StartTime = 1767225600000000000 and ExecutionTime is null":                                                               "StartTime = '2026-01-01T00:00:00Z' and ExecutionTime is null",
		"TemporalSchedulePaused = false and TemporalScheduledStartTime > 1767225600000000000 and BuildIds in ('a', '2026-01-01')": "`TemporalSchedulePaused` = false and `TemporalScheduledStartTime` > '2026-01-01T00:00:00Z' and `BuildIds` in ('a', '2026-01-01')",
		"ExecutionStatus = 'Paused' or ExecutionStatus is not null":                                                               "ExecutionStatus = 8 or ExecutionStatus is not null",
		"RunId not between 'a' and 'b' and not (WorkflowType not in ('a', 'b'))":                                                  "RunId not between 'a' and 'b' and not WorkflowType not in ('a', 'b')",
		"WorkflowId = \"it's\" and WorkflowId != \"say \"\"hi\"\"\"":                                                              `WorkflowId = 'it''s' and WorkflowId != 'say "hi"'`,
	} {
		q, err := query.ParseExecutions(text, nil)
		if want == "" && text != "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		assert.Equal(t, want, q.String(), text)
		again, err := query.ParseExecutions(q.String(), nil)
		require.NoError(t, err, q.String())
		assert.Equal(t, q, again, text)
	}
}

// TestExecutionErrorsPointAtThePlace has a ^ in front of the place of the error.
func TestExecutionErrorsPointAtThePlace(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{"^WorkflowID = 'a'", "no execution has WorkflowID: did you mean WorkflowId?"},
		{"ExecutionStatus = ^'Runing'", "the string 'Runing' is no status: did you mean 'Running'?"},
		{"ExecutionStatus = ^'x'", "use one of Running, Completed, Failed, Canceled, Terminated, ContinuedAsNew, TimedOut"},
		{"ExecutionStatus = ^0", "0 is no status"},
		{"ExecutionStatus ^> 'Running'", "ExecutionStatus is one of some names: use =, != or in, not >"},
		{"ExecutionStatus ^between 1 and 2", "use =, != or in, not between"},
		{"ExecutionDuration > ^'long'", "use one such as '1h30m', '2d' or '01:30:00', or a number of nanoseconds"},
		{"StartTime > ^'yesterday'", "StartTime is a datetime, and the string 'yesterday' none"},
		{"WorkflowId = ^5", "WorkflowId is a string, and cannot be compared with a whole number"},
		{"WorkflowId not ^= 'a'", "expected in, between or starts_with after not"},
		{"WorkflowId = ^\"a", "a double quote closes it"},
		{"^`a = 1", "a backquote closes it"},
		{"^`` = 1", "expected a name in the backquotes"},
		{"order by ^Customer", "nothing can be ordered by `Customer`: use one of WorkflowId, RunId,"},
		{"order by StartTime^, CloseTime", "a list has one order: among equals, it is by ID"},
		{"order by StartTime ^limit 5", "there is no limit: a list has pages"},
		{"group by ^WorkflowId", "executions are not counted by WorkflowId: use ExecutionStatus, WorkflowType, TaskQueue, or a search attribute"},
		{"group by WorkflowType^, TaskQueue", "executions are counted by one field"},
		{"group by ^", "expected a field, found the end"},
		{"group by ^5", "expected a field, found 5"},
		{"WorkflowId ^like 'a%'", "there is no like: use starts_with"},
		{"^BuildId = 'a'", "no execution has BuildId: did you mean BuildIds?"},
		{"^TemporalScheduleById = 'a'", "did you mean TemporalScheduledById?"},
		{"TemporalSchedulePaused = ^'yes'", "`TemporalSchedulePaused` has the type Bool, and cannot be compared with a string"},
		{"TemporalSchedulePaused ^> true", "`TemporalSchedulePaused` is true or false: use = or !=, not >"},
		{"TemporalScheduledStartTime > ^'soon'", "`TemporalScheduledStartTime` is a datetime, and the string 'soon' none"},
		{"TemporalScheduledStartTime ^starts_with '2026'", "has the type Datetime, and only a keyword starts with something"},
		{"BuildIds = ^5", "`BuildIds` has the type KeywordList, and cannot be compared with a whole number"},
		{"ExecutionDuration > ^'3d25h'", "ExecutionDuration is a duration"},
		{"ExecutionDuration > ^'d'", "ExecutionDuration is a duration"},
		{`WorkflowId = ^'a\'`, "the string has no end"},
		{"group ^ExecutionStatus", "expected by, found ExecutionStatus"},
		{"WorkflowId = 'a' ^WorkflowType = 'b'", "expected and, or, order by, group by, or the end of the query"},
	} {
		text := strings.Replace(test.text, "^", "", 1)
		_, err := query.ParseExecutions(text, nil)
		var e *query.Error
		require.True(t, errors.As(err, &e), text)
		assert.Contains(t, e.Message, test.want, text)
		assert.Equal(t, strings.IndexByte(test.text, '^'), e.At, "%s: %s", text, e.Message)
	}
}

// TestNamesNearlyThose: a name that is nearly one of Temporal's is a mistake, unless executions have it.
func TestNamesNearlyThose(t *testing.T) {
	t.Parallel()
	q, err := query.ParseExecutions("WorkflowID = 'a'", query.Known{"WorkflowID": {}})
	require.NoError(t, err)
	assert.Equal(t, query.Compare{
		Field: query.Field{Source: query.Custom, Name: "WorkflowID"}, Op: query.Equal, Value: query.TextOf("a"),
	}, q.Where)
	_, err = query.Parse(`id = "a"`)
	require.ErrorContains(t, err, "single quotes", "queries about schedules have one kind of quotes")
	_, err = query.Parse("group by ExecutionStatus")
	require.Error(t, err)
}

// TestAttributesOfNamespaces: what was added to the namespace has a type, and the values of others suggest one.
func TestAttributesOfNamespaces(t *testing.T) {
	t.Parallel()
	known := query.Known{
		"Notes": {Type: enums.INDEXED_VALUE_TYPE_TEXT, Added: true}, "Seen": {Type: enums.INDEXED_VALUE_TYPE_KEYWORD}, "SeenText": {Type: enums.INDEXED_VALUE_TYPE_TEXT},
		"City": {Type: enums.INDEXED_VALUE_TYPE_KEYWORD, Added: true}, "Tags": {Type: enums.INDEXED_VALUE_TYPE_KEYWORD_LIST, Added: true},
		"Amount": {Type: enums.INDEXED_VALUE_TYPE_INT, Added: true}, "Share": {Type: enums.INDEXED_VALUE_TYPE_DOUBLE, Added: true},
		"Paid": {Type: enums.INDEXED_VALUE_TYPE_BOOL, Added: true}, "Due": {Type: enums.INDEXED_VALUE_TYPE_DATETIME, Added: true},
	}
	for text, want := range map[string]string{
		"City = '2026-01-01' and Seen = '2026-01-01'":                       "`City` = '2026-01-01' and `Seen` = '2026-01-01'",
		"Seen = 5 and Seen between true and false":                          "`Seen` = 5 and `Seen` between true and false",
		"Notes = 'Hello, big World'":                                        "`Notes` in ('hello', 'big', 'world')",
		"Notes != 'a b' or SeenText = 'A'":                                  "`Notes` not in ('a', 'b') or `SeenText` in ('a')",
		"Notes not in ('a b', 'c') and Notes is null":                       "`Notes` not in ('a', 'b', 'c') and `Notes` is null",
		"Tags in ('a', 'b') and Tags starts_with 'a'":                       "`Tags` in ('a', 'b') and `Tags` starts_with 'a'",
		"Amount between 1 and 2.5 and Share not between -1 and 2":           "`Amount` between 1 and 2.5 and `Share` not between -1 and 2",
		"Paid != false and City not starts_with 'a'":                        "`Paid` != false and `City` is not null and not `City` starts_with 'a'",
		"Due < '2026-01-01' and Due in (1767225600000000000, '2026-01-02')": "`Due` < '2026-01-01T00:00:00Z' and `Due` in ('2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z')",
		"Sean = 1":                                 "`Sean` = 1",
		"order by Amount desc":                     "order by `Amount` desc",
		"City = 'a' order by Due":                  "`City` = 'a' order by `Due`",
		"order by Seen asc":                        "order by `Seen`",
		"order by TemporalScheduledStartTime desc": "order by `TemporalScheduledStartTime` desc",
		"`city` = 'a' group by City":               "`city` = 'a' group by `City`",
	} {
		q, err := query.ParseExecutions(text, known)
		require.NoError(t, err, text)
		assert.Equal(t, want, q.String(), text)
		again, err := query.ParseExecutions(q.String(), known)
		require.NoError(t, err, text)
		assert.Equal(t, q, again, text)
	}
	for _, test := range []struct{ text, want string }{
		{"^city = 'a'", "no execution has city: did you mean City?"},
		{"^Amont = 1", "no execution has Amont: did you mean Amount?"},
		{"^seen = 1", "no execution has seen: did you mean Seen?"},
		{"City = ^5", "`City` has the type Keyword, and cannot be compared with a whole number"},
		{"City = ^true", "cannot be compared with true or false"},
		{"Amount = ^'5'", "`Amount` has the type Int, and cannot be compared with a string"},
		{"Amount in (1, ^'5')", "`Amount` has the type Int"},
		{"Amount between 1 and ^true", "`Amount` has the type Int"},
		{"Amount ^starts_with '5'", "only a keyword starts with something"},
		{"Paid ^between true and false", "`Paid` is true or false: use = or !=, not between"},
		{"Due > ^'soon'", "`Due` is a datetime"},
		{"Due > ^2.5", "`Due` has the type Datetime, and cannot be compared with a number with a fraction"},
		{"Notes ^starts_with 'a'", "`Notes` is a text, whose words are compared: use =, != or in, not starts_with"},
		{"SeenText not ^starts_with 'a'", "is a text"},
		{"Notes ^between 'a' and 'b'", "is a text"},
		{"Notes = ^' ,'", "expected a word"},
		{"Notes in (^' ', '')", "expected a word"},
		{"order by ^Notes", "nothing can be ordered by `Notes`, whose type is Text: only single values have an order"},
		{"order by ^Tags", "whose type is KeywordList"},
		{"order by ^Unseen", "RootRunId, a search attribute that there is"},
		{"group by ^Notes", "a search attribute that is no text"},
	} {
		text := strings.Replace(test.text, "^", "", 1)
		_, err := query.ParseExecutions(text, known)
		var e *query.Error
		require.True(t, errors.As(err, &e), text)
		assert.Contains(t, e.Message, test.want, text)
		assert.Equal(t, strings.IndexByte(test.text, '^'), e.At, "%s: %s", text, e.Message)
	}
}

// TestPrintAndParseExecutions prints queries that are put together at random.
func TestPrintAndParseExecutions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q := querygen.Executions().Draw(t, "query")
		if q.Order != nil && q.Order.Field.Source == query.Custom {
			q.Order = nil // it depends on what is known
		}
		again, err := query.ParseExecutions(q.String(), nil)
		require.NoError(t, err, q.String())
		require.Equal(t, q, again)
	})
}

func FuzzParseExecutions(f *testing.F) {
	for _, seed := range []string{
		"WorkflowType = 'x' AND ExecutionStatus = 'Running' AND StartTime > '2026-01-01'", "not (a or b) order by CloseTime desc",
		"`a` in (1, 2.5, \"x\", true)", "text != 'a b' and int < 2 and list in ('a') group by bool", "RunId is not null or x not between -1 and 1e9 group by ExecutionStatus", "((((", "'", "`", "\"", "<>", "\xff",
	} {
		f.Add(seed)
	}
	known := query.Known{"text": {Type: enums.INDEXED_VALUE_TYPE_TEXT}}
	for number, name := range enums.IndexedValueType_name {
		known[strings.ToLower(name)] = query.Attribute{Type: enums.IndexedValueType(number), Added: true}
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := query.ParseExecutions(text, known)
		if err != nil {
			var e *query.Error
			require.True(t, errors.As(err, &e))
			require.True(t, 0 <= e.At && e.At <= len(text))
			require.NotEmpty(t, query.Explain(text, err))
			return
		}
		again, err := query.ParseExecutions(q.String(), known)
		if err != nil { // a time or a name may be longer when it is printed, and not starts_with are two conditions
			require.True(t, len(q.String()) > 8<<10 || strings.Contains(err.Error(), "more than"), q.String())
			return
		}
		require.Equal(t, q, again, q.String())
	})
}
