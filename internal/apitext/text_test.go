package apitext

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/scheduletest"
	"github.com/carillon-scheduler/carillon/schedule"
)

func TestDecodeJSONErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for _, test := range []struct{ name, text, want string }{
		{"typo", `{"spec":{"intervalls":[]}}`, `spec.intervalls: unknown field, did you mean intervals?`},
		{"typo in a list", `{"spec":{"intervals":[{"evry":"1s"}]}}`, `spec.intervals[0].evry: unknown field, did you mean every?`},
		{"case", `{"policies":{"Overlap":"skip"}}`, `policies.Overlap: unknown field, did you mean overlap?`},
		{"snake case", `{"action":{"task_queue":"q"}}`, `action.task_queue: unknown field, did you mean taskQueue?`},
		{"nothing near", `{"policies":{"zebra":1}}`, `policies.zebra: unknown field: use one of overlap, concurrencyLimit, catchupWindow, catchupMode, pauseOnFailure, lostRuns, keepOriginalWorkflowId`},
		{"strange name", `{"a b":1}`, `["a b"]: unknown field: use one of id, spec, action, policies, state, memo, searchAttributes, requestId, triggerNow, backfills`},
		{"long name", `{"` + long + `":1}`, `["` + long[:100] + `…"]: unknown field: use one of id, spec, action, policies, state, memo, searchAttributes, requestId, triggerNow, backfills`},

		{"text for object", `{"spec":"daily"}`, `spec: must be an object, not "daily"`},
		{"list for object", `{"spec":[]}`, `spec: must be an object, not a list`},
		{"object for list", `{"spec":{"cron":{}}}`, `spec.cron: must be a list, not an object`},
		{"fraction for calendar field", `{"spec":{"calendars":[{"hour":9.5}]}}`, `spec.calendars[0].hour: must be a whole number or a string such as "9-17", not 9.5`},
		{"list for calendar field", `{"spec":{"calendars":[{"hour":[9]}]}}`, `spec.calendars[0].hour: must be a whole number or a string such as "9-17", not a list`},
		{"number for text", `{"action":{"type":9}}`, `action.type: must be a string in quotes, not 9`},
		{"text for number", `{"action":{"priority":"1"}}`, `action.priority: must be a whole number, not "1"`},
		{"fraction", `{"action":{"priority":1.5}}`, `action.priority: must be a whole number, not 1.5`},
		{"huge number", `{"action":{"priority":99999999999999999999}}`, `action.priority: must be a whole number, not 99999999999999999999`},
		{"infinite number", `{"action":{"retryPolicy":{"backoffCoefficient":1e999}}}`, `action.retryPolicy.backoffCoefficient: must be a number, not 1e999`},
		{"text for boolean", `{"state":{"paused":"yes"}}`, `state.paused: must be true or false, not "yes"`},
		{"text for map", `{"action":{"headers":"x"}}`, `action.headers: must be an object, not "x"`},
		{"number in map", `{"action":{"headers":{"a b":1}}}`, `action.headers["a b"]: must be a string in quotes, not 1`},
		{"null in map", `{"action":{"headers":{"a":null}}}`, `action.headers.a: must be a string in quotes, not null`},
		{"null in list", `{"spec":{"at":[null]}}`, `spec.at[0]: must be a time in RFC 3339 such as "2026-03-01T09:00:00Z", not null`},
		{"list for pointer", `{"action":{"retryPolicy":[]}}`, `action.retryPolicy: must be an object, not a list`},
		{"time", `{"spec":{"at":["tomorrow"]}}`, `spec.at[0]: must be a time in RFC 3339 such as "2026-03-01T09:00:00Z", not "tomorrow"`},
		{"object for time", `{"spec":{"at":[{}]}}`, `spec.at[0]: must be a time in RFC 3339 such as "2026-03-01T09:00:00Z", not an object`},
		{"list for text", `{"action":{"type":[]}}`, `action.type: must be a string in quotes, not a list`},
		{"time beyond years", `{"spec":{"at":["9999-12-31T23:59:59-01:00"]}}`, `spec.at[0]: is out of range: use the years 0000 to 9999 in UTC`},
		{"duration", `{"spec":{"intervals":[{"every":"1x"}]}}`, `spec.intervals[0].every: "1x" is not a duration: write a number with a unit, such as 90s, 1h30m or 250ms`},
		{"duration number", `{"spec":{"jitter":5}}`, `spec.jitter: 5 is not a duration: write a string with a unit, such as "90s"`},
		{"base64", `{"spec":{"timeZoneData":"*"}}`, `spec.timeZoneData: must be base64 text, not "*"`},
		{"root", `[]`, `must be an object, not a list`},
		{"null root", `null`, `must be an object, not null`},

		{"duplicate", `{"id":"a","id":"b"}`, `id: stands twice: use each key once`},
		{"duplicate by escape", `{"id":"a","\u0069d":"b"}`, `id: stands twice: use each key once`},
		{"duplicate in input", `{"action":{"input":[0,{"a":{"b":1,"b":2}}]}}`, `action.input[1].a.b: stands twice: use each key once`},
		{"half of a surrogate pair", `{"id":"a\ud800"}`, `is not valid Unicode: line 1, column 9: \ud800 is half of a surrogate pair`},
		{"the other half", "{\n\"id\":\"\\uDC00\"}", `is not valid Unicode: line 2, column 7: \uDC00 is half of a surrogate pair`},
		{"halves in the wrong order", `{"id":"\udc00\ud800"}`, `is not valid Unicode: line 1, column 8: \udc00 is half of a surrogate pair`},
		{"two first halves", `{"id":"\ud800\ud800\udc00"}`, `is not valid Unicode: line 1, column 8: \ud800 is half of a surrogate pair`},
		{"half of a pair in a key", `{"action":{"input":{"\udfff":1}}}`, `is not valid Unicode: line 1, column 22: \udfff is half of a surrogate pair`},
		{"half before an escape", `{"id":"\ud800\\udc00"}`, `is not valid Unicode: line 1, column 8: \ud800 is half of a surrogate pair`},
		{"trailing", `{"id":"a"} {}`, `is not valid JSON: line 1, column 12: invalid character '{' after top-level value`},
		{"syntax", "{\n  \"id\": }", `is not valid JSON: line 2, column 9: invalid character '}' looking for beginning of value`},
		{"empty", ``, `is not valid JSON: line 1, column 1: unexpected end of JSON input`},
		{"encoding", "{\"id\":\"\xff\"}", `is not valid UTF-8`},
		{"deep", `{"action":{"input":` + scheduletest.Nested(199) + `}}`, `is nested too deeply: at most 200 levels are accepted`},
		{"deeper than encoding/json", scheduletest.Nested(20_000), `is not valid JSON: line 1, column 10001: invalid character '[' exceeded max depth`},
		{"large", strings.Repeat(" ", jsontext.MaxBytes+1), `the text is too large: at most 4194304 bytes (4 MiB) are read`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			into := schedule.CreateRequest{ID: "untouched"}
			scheduletest.RequireInvalid(t, DecodeJSON([]byte(test.text), &into), test.want)
			require.Equal(t, schedule.CreateRequest{ID: "untouched"}, into)
		})
	}
}

func TestDecodeYAMLErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"typo", "spec:\n  intervalls: []\n", `spec.intervalls: unknown field, did you mean intervals?`},
		{"duplicate", "id: a\nid: b\n", `id: stands twice: use each key once`},
		{"duplicate by type", "action: {headers: {1: a, \"1\": b}}", `action.headers.1: stands twice: use each key once`},
		{"number for text", "action: {type: 9}", `action.type: must be a string in quotes, not 9`},
		{"leading zero", "spec: {calendars: [{hour: 09}]}", `spec.calendars[0].hour: 09 is not a number as JSON writes it: write it in decimal, or in quotes if it is text`},
		{"octal", "action: {priority: 0o2}", `action.priority: 0o2 is not a number as JSON writes it: write it in decimal, or in quotes if it is text`},
		{"infinity", "action: {retryPolicy: {backoffCoefficient: .inf}}", `action.retryPolicy.backoffCoefficient: .inf is not a number as JSON writes it: write it in decimal, or in quotes if it is text`},
		{"old boolean", "state: {paused: yes}", `state.paused: must be true or false, not "yes"`},
		{"tagged boolean", "state: {paused: !!bool 1}", `state.paused: must be true or false, not "1"`},
		{"date for time", "spec: {at: [2026-03-01]}", `spec.at[0]: must be a time in RFC 3339 such as "2026-03-01T09:00:00Z", not "2026-03-01"`},
		{"tag", "action: {input: !secret x}", `action.input: the tag !secret is not supported: only JSON types are`},
		{"tagged map", "action: {input: !!set {a}}", `action.input: the tag !!set is not supported: only JSON types are`},
		{"merge", "action:\n  <<: {type: x}\n", `action: line 2: merge keys (<<) are not supported: write the fields out`},
		{"null key", "action: {headers: {~: x}}", `action.headers: line 1: a key must be text`},
		{"list as key", "[a]: b", `line 1: a key must be text`},
		{"alias in itself", "action: {input: &a [*a]}", `is nested too deeply: at most 200 levels are accepted`},
		{"alias bomb", bomb(), `the text is too large: at most 4194304 bytes (4 MiB) are read`},
		{"unknown alias", "id: *nowhere", `is not valid YAML: unknown anchor 'nowhere' referenced`},
		{"syntax", "id: [", `is not valid YAML: line 1: did not find expected node content`},
		{"tab", "id:\n\tx", `is not valid YAML: line 2: is indented by a tab: use spaces`},
		{"tab after a value", "id: a\n\tx: b", `is not valid YAML: line 2: is indented by a tab: use spaces`},
		{"bare star", "id: x\ncron:\n  - */5 * * * *\n", `is not valid YAML: line 3: put "*/5 * * * *" in quotes: what begins with "*" has a meaning of its own in YAML`},
		{"bare star and blank", "cron: [\"0 9 * * *\", * 5 * * *]", `is not valid YAML: line 1: put "* 5 * * *" in quotes: what begins with "*" has a meaning of its own in YAML`},
		{"bare star and digit", "a: b\n---\ncron: {x: *5 * * * *}", `is not valid YAML: line 3: put "*5 * * * *" in quotes: what begins with "*" has a meaning of its own in YAML`},
		{"bare macro", "cron:\n- @daily", `is not valid YAML: line 2: put "@daily" in quotes: what begins with "@" has a meaning of its own in YAML`},
		{"bare backquote", "notes: `x`\r\n", "is not valid YAML: line 1: put \"`x`\" in quotes: what begins with \"`\" has a meaning of its own in YAML"},
		{"bare question mark", "cron:\n  - ? * * * *\n", `is not valid YAML: line 2: put "* * * *" in quotes: what begins with "*" has a meaning of its own in YAML`},
		{"a star that is no value", "id: \"x\" *y", `is not valid YAML: did not find expected key`},
		{"empty", "", `the text holds no document`},
		{"comment", "---\n# nothing\n...\n", `the text holds no document`},
		{"null", "null", `must be an object, not null`},
		{"two", "id: a\n---\nid: b\n", `the text holds 2 documents: only one is accepted here`},
		{"encoding", "id: \xff", `is not valid UTF-8`},
		{"deep", scheduletest.Nested(201), `is nested too deeply: at most 200 levels are accepted`},
		{"deeper than the library", scheduletest.Nested(20_000), `is not valid YAML: exceeded max depth of 10000`},
		{"large", strings.Repeat(" ", jsontext.MaxBytes+1), `the text is too large: at most 4194304 bytes (4 MiB) are read`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			into := schedule.CreateRequest{ID: "untouched"}
			scheduletest.RequireInvalid(t, DecodeYAML([]byte(test.text), &into), test.want)
			require.Equal(t, schedule.CreateRequest{ID: "untouched"}, into)
		})
	}
}

// bomb returns a small document that aliases blow up to 10^9 times its size.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x]\n")
	for i := range 9 {
		name, previous := string(rune('b'+i)), "*a0"
		if i > 0 {
			previous = "*" + string(rune('a'+i))
		}
		b.WriteString(name + ": &" + name + " [" + strings.Repeat(previous+", ", 9) + previous + "]\n")
	}
	return b.String()
}

func TestDecodeYAML(t *testing.T) {
	t.Parallel()
	const text = `
id: daily
spec:
  intervals: &every
    - every: 1h30m
      phase: 90s
  at: [2026-03-01T09:00:00+02:00, "2026-03-02T09:00:00Z"]
  startTime: 2026-01-01T00:00:00.5Z
  calendars: []
  jitter: ~
action:
  type: "7"
  taskQueue: no
  input:
    date: 2026-03-01
    when: 2026-03-01 10:00:00
    big: 123456789012345678901234567890
    huge: 1e400
    exact: 0.10
    zip: "01234"
    clock: 12:30
    flag: True
    nothing: null
    text: !!str 5
    again: *every
    <html>: a & b
  headers: {1: one, true: yes, 2026-03-01: d}
state:
`
	var got schedule.CreateRequest
	require.NoError(t, DecodeYAML([]byte(text), &got))
	require.Equal(t, schedule.CreateRequest{
		ID: "daily",
		Schedule: schedule.Schedule{
			Spec: schedule.Spec{
				Intervals: []schedule.Interval{{Every: schedule.Duration(90 * time.Minute), Phase: schedule.Duration(90 * time.Second)}},
				At: []time.Time{
					time.Date(2026, 3, 1, 7, 0, 0, 0, time.UTC), time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC),
				},
				StartTime: time.Date(2026, 1, 1, 0, 0, 0, 500_000_000, time.UTC),
			},
			Action: schedule.Action{
				Type: "7", TaskQueue: "no",
				Input: json.RawMessage(`{"date":"2026-03-01","when":"2026-03-01 10:00:00",` +
					`"big":123456789012345678901234567890,"huge":1e400,"exact":0.10,"zip":"01234","clock":"12:30","flag":true,` +
					`"nothing":null,"text":"5","again":[{"every":"1h30m","phase":"90s"}],"<html>":"a & b"}`),
				Headers: map[string]string{"1": "one", "true": "yes", "2026-03-01": "d"},
			},
		},
	}, got)
}

func TestDecodeReplaces(t *testing.T) {
	t.Parallel()
	into := schedule.CreateRequest{ID: "old", RequestID: "old", Schedule: scheduletest.Schedule()}
	require.NoError(t, DecodeJSON([]byte(`{"id":"new"}`), &into))
	require.Equal(t, schedule.CreateRequest{ID: "new"}, into)
}

func TestDecodeNeedsPointer(t *testing.T) {
	t.Parallel()
	for _, into := range []any{nil, schedule.CreateRequest{}, (*schedule.CreateRequest)(nil)} {
		require.Equal(t, schedule.CodeInternal, schedule.CodeOf(DecodeJSON([]byte(`{}`), into)))
	}
}

func TestDecodeYAMLDocuments(t *testing.T) {
	t.Parallel()
	got, err := DecodeYAMLDocuments[schedule.IDRequest]([]byte("# all\n---\nid: a\n---\n# nothing here\n---\nid: b\n...\n"))
	require.NoError(t, err)
	require.Equal(t, []schedule.IDRequest{{ID: "a"}, {ID: "b"}}, got)

	got, err = DecodeYAMLDocuments[schedule.IDRequest](nil)
	require.NoError(t, err)
	require.Empty(t, got)

	_, err = DecodeYAMLDocuments[schedule.IDRequest]([]byte("id: a\n---\n---\nidd: b\n"))
	scheduletest.RequireInvalid(t, err, "document 2: idd: unknown field, did you mean id?")
	var e *schedule.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, "idd", e.Field)

	_, err = DecodeYAMLDocuments[schedule.IDRequest]([]byte("idd: b\n"))
	scheduletest.RequireInvalid(t, err, "idd: unknown field, did you mean id?")

	_, err = DecodeYAMLDocuments[schedule.IDRequest]([]byte("id: b\n---\n]"))
	require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
}

// TestYAMLDocuments: each document is read separately and has its own bounds.
func TestYAMLDocuments(t *testing.T) {
	t.Parallel()
	half := "a: " + strings.Repeat("x", jsontext.MaxBytes/2) + "\n"
	large := "a: " + strings.Repeat("x", jsontext.MaxBytes) + "\n"
	comments := strings.Repeat("# x\n", jsontext.MaxBytes/4+1)
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"much":           {half + "---\n" + half + "---\n" + half, []string{"", "", ""}},
		"comments":       {comments + "---\na: 1\n---\n" + comments, []string{""}},
		"large":          {"a: 1\n---\n" + large + "---\na: 2\n", []string{"", "the text is too large: at most 4194304 bytes (4 MiB) are read", ""}},
		"bomb":           {"a: 1\n---\n" + bomb() + "---\na: 2\n", []string{"", "the text is too large: at most 4194304 bytes (4 MiB) are read", ""}},
		"another anchor": {"a: &x 1\n---\nb: *x\n", []string{"", "is not valid YAML: unknown anchor 'x' referenced"}},
		"syntax":         {"]\n---\na: 1\n---\n\nb: [\n", []string{"is not valid YAML: did not find expected node content", "", "is not valid YAML: line 6: did not find expected node content"}},
		"line":           {"a: 1\n---\n\n<<: 2\n", []string{"", "line 4: merge keys (<<) are not supported: write the fields out"}},
		"bare star":      {"a: 1\n...\n%YAML 1.1\n---\ncron: */5\n", []string{"", `is not valid YAML: line 5: put "*/5" in quotes: what begins with "*" has a meaning of its own in YAML`}},
		"old lines":      {"a: 1\r---\rb: 2\r---\r]", []string{"", "", "is not valid YAML: line 4: did not find expected node content"}},
		"encoding":       {"a: 1\n---\nb: \xff\n", []string{"is not valid UTF-8"}},
	} {
		var got []string
		for document, err := range YAMLDocuments([]byte(test.text)) {
			if err != nil {
				require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err), name)
				got = append(got, err.Error())
				continue
			}
			require.True(t, json.Valid(document), name)
			got = append(got, "")
		}
		require.Equal(t, test.want, got, name)
	}
	for range YAMLDocuments([]byte("a\n---\nb")) {
		break // the iterator must stop
	}
}

func TestDecodeEmptyType(t *testing.T) {
	t.Parallel()
	scheduletest.RequireInvalid(t, DecodeJSON([]byte(`{"a":1}`), new(schedule.Empty)), "a: unknown field: none are accepted here")
}

func TestEncodeYAML(t *testing.T) {
	t.Parallel()
	full := schedule.CreateRequest{ID: "no", Schedule: scheduletest.Schedule(), TriggerNow: true}
	full.Spec.TimeZoneData = nil
	full.Spec.ExcludeCalendars = nil
	full.Spec.StructuredCalendars, full.Spec.ExcludeStructuredCalendars = nil, nil
	got, err := EncodeYAML(full)
	require.NoError(t, err)
	require.Equal(t, `id: "no"
spec:
  calendars:
    - second: "1"
      minute: 2-4
      hour: "9"
      dayOfMonth: '*/2'
      month: jan-jun
      year: "2026"
      dayOfWeek: mon-fri
      comment: office hours
  intervals:
    - every: 1h
      phase: 1m30s
  cron:
    - 30 9 * * mon-fri
  at:
    - "2026-03-01T09:30:15Z"
  excludeDates:
    - 2026-12-24/2026-12-26
  blackouts:
    - from: "2026-03-01T03:30:15.123456789Z"
      to: "2026-03-01T04:30:15.123456789Z"
  excludeCalendarsNamed:
    - holidays
  startTime: "2026-03-01T01:30:15.123456789Z"
  endTime: "2026-03-01T23:30:15.123456789Z"
  jitter: 1.5s
  timeZone: Europe/Berlin
  dst:
    gap: shift
    repeat: first
action:
  kind: run
  type: report
  workflowId: daily-report
  taskQueue: reports
  input:
    to: <ops> & co
    count: 3
    factor: 0.25
  headers:
    tenant: blue
  memo:
    owner: ops
  searchAttributes:
    region:
      - eu
      - us
  runTimeout: 1m30s
  executionTimeout: 1h
  taskTimeout: 250ms
  heartbeatTimeout: 12s
  retryPolicy:
    initialInterval: 2s
    backoffCoefficient: 1.5
    maximumInterval: 1m
    maximumAttempts: 5
    nonRetryableErrorTypes:
      - BadInput
  priority: 2
policies:
  overlap: buffer_one
  concurrencyLimit: 3
  catchupWindow: 1h
  catchupMode: latest
  pauseOnFailure: true
  lostRuns: wait
  keepOriginalWorkflowId: true
state:
  notes: |-
    for the
    ops team
  paused: true
  limitedActions: true
  remainingActions: 7
memo:
  ticket: OPS-1
searchAttributes:
  customer: acme
triggerNow: true
`, string(got))
}

// TestEncodeYAMLIsRead: if a value can be read as JSON, its YAML can be read too. Otherwise, as for a long list, the YAML is for
// people.
func TestEncodeYAMLIsRead(t *testing.T) {
	t.Parallel()
	deep := schedule.Action{Input: json.RawMessage(strings.Repeat("[", 100) + strings.Repeat("0,", 50_000) + "0" + strings.Repeat("]", 100))}
	text, err := EncodeYAML(deep)
	require.NoError(t, err)
	require.Less(t, len(text), 200_000)
	var got schedule.Action
	require.NoError(t, DecodeYAML(text, &got))
	require.Equal(t, deep, got)

	workflow := scheduletest.Workflow().Action
	text, err = EncodeYAML(workflow)
	require.NoError(t, err)
	got = schedule.Action{}
	require.NoError(t, DecodeYAML(text, &got))
	require.Equal(t, workflow, got, "payloads too")

	text, err = EncodeYAML([]string{strings.Repeat("x", jsontext.MaxBytes), "y"})
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(string(text), "\n- \"y\"\n"))
}

func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	broken := schedule.Action{Input: json.RawMessage(`{`)}
	for _, encode := range []func(any) ([]byte, error){EncodeJSON, EncodeYAML} {
		_, err := encode(broken)
		require.Equal(t, schedule.CodeInvalidArgument, schedule.CodeOf(err))
	}
	_, err := EncodeYAML(schedule.Action{Input: json.RawMessage(scheduletest.Nested(300))})
	scheduletest.RequireInvalid(t, err, "is nested too deeply: at most 200 levels are accepted")
}

// TestSurrogatePairs: surrogate pairs, and text that only looks like half of one, are read as encoding/json reads them.
func TestSurrogatePairs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"id":"\ud83d\ude00"}`: "😀", `{"id":"\\ud800"}`: `\ud800`, `{"id":"\\\ud83d\uDE00"}`: `\😀`, `{"id":"\"\ue000\ud7ff"}`: "\"\ue000\ud7ff",
	} {
		var got schedule.CreateRequest
		require.NoError(t, DecodeJSON([]byte(text), &got), text)
		require.Equal(t, want, got.ID, text)
	}
}
