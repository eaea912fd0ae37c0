package systemtest

import (
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/schedule"
)

// bodies are acceptable requests about the schedule that %s names.
var bodies = map[string]string{
	"describe":       `{"id":%s}`,
	"pause":          `{"id":%s,"note":"x"}`,
	"unpause":        `{"id":%s}`,
	"skip":           `{"id":%s,"count":1}`,
	"unskip":         `{"id":%s}`,
	"delete":         `{"id":%s,"requestId":"r"}`,
	"trigger":        `{"id":%s,"input":{"a":1}}`,
	"backfill":       `{"id":%s,"start":"2026-01-01T00:00:00Z","end":"2026-01-02T00:00:00Z"}`,
	"cancelBackfill": `{"id":%s,"backfillId":"x"}`,
	"update":         `{"id":%s,"action":{"type":"record","taskQueue":"q"}}`,
	"patch":          `{"id":%s,"pause":{},"trigger":{}}`,
	"matchingTimes":  `{"id":%s,"from":"2026-01-01T00:00:00Z","to":"2026-01-02T00:00:00Z"}`,
}

// hostileIDs are IDs that no schedule can have, or happens to have.
func hostileIDs() (table []hostile) {
	long := strings.Repeat("x", 254)
	for verb, body := range bodies {
		add := func(id string, code schedule.Code, says string) {
			table = append(table, hostile{
				name: "id " + id[:min(len(id), 40)], verb: verb, body: fmt.Sprintf(body, id), code: code, field: "id", says: says,
			})
		}
		for id, says := range map[string]string{
			`""`: "empty", `null`: "empty", `"a\nb"`: "control", `"\u0000"`: "control", `"\u007f"`: "control", `"\u0085"`: "control",
			`"` + long + `xx"`: "255", `"` + long[1:] + `🙂"`: "255", `"` + strings.Repeat("x", 1<<20) + `"`: "255",
		} {
			add(id, schedule.CodeInvalidArgument, says)
		}
		for _, id := range []string{
			`"."`, `"a.b"`, `".."`, `"../../etc/passwd"`, `"*"`, `">"`, `"a.*.>"`, `" "`, `"a b"`, `"🙂"`, `"é"`, `"e\u0301"`,
			`"\u202e"`,
			`"$JS.API.>"`, `"` + long + `x"`, `"\"';DROP TABLE schedules--"`, `"%00"`, `"{{.}}"`, `"=2E"`, `"_"`, `"VICTIM"`,
		} {
			add(id, schedule.CodeNotFound, "has no schedule")
		}
		table = append(table, hostile{
			name: "half of a surrogate pair", verb: verb, body: fmt.Sprintf(body, `"\ud800"`), code: schedule.CodeInvalidArgument, says: "surrogate",
		})
	}
	return table
}

// moment is a range of one moment.
const moment = `{"start":"2026-01-01T00:00:00Z","end":"2026-01-01T00:00:00Z"}`

const (
	wrong   = schedule.CodeInvalidArgument
	missing = schedule.CodeNotFound
)

// hostileByHand are requests that are well written and make no sense.
func hostileByHand() []hostile {
	table := []hostile{
		{name: "nothing", verb: "create", code: wrong, field: "id", says: "empty"},
		{name: "no action", verb: "create", body: `{"id":"x"}`, code: wrong, field: "action.type", says: ""},
		{name: "page of a thousand and one", verb: "list", body: `{"pageSize":1001}`, code: wrong, field: "pageSize", says: "1000"},
		{name: "negative page", verb: "list", body: `{"pageSize":-1}`, code: wrong, field: "pageSize", says: "out of range"},
		{name: "page token", verb: "list", body: `{"pageToken":"AQ"}`, code: wrong, field: "pageToken", says: "not a token"},
		{name: "token of events", verb: "list", body: `{"pageToken":"` + strings.Repeat("A", 4096) + `"}`,
			code: wrong, field: "pageToken", says: ""},
		{name: "token of a list", verb: "history", body: `{"pageToken":"AWE"}`, code: wrong, field: "pageToken", says: "not a token"},
		{name: "kind of event", verb: "history", body: `{"kinds":["exploded"]}`, code: wrong, field: "kinds[0]", says: "exploded"},
		{name: "newest with a token", verb: "history", body: `{"newest":true,"pageToken":"x"}`,
			code: wrong, field: "pageToken", says: "newest"},
		{name: "status", verb: "runs", body: `{"status":"done"}`, code: wrong, field: "status", says: "done"},
		{name: "no run", verb: "run", body: `{"id":"victim"}`, code: wrong, field: "run", says: "missing"},
		{name: "unknown run", verb: "run", body: `{"id":"victim","run":"*"}`, code: missing, field: "run", says: ""},
		{name: "no range", verb: "matchingTimes", body: `{"id":"victim"}`, code: wrong, field: "from", says: "missing"},
		{name: "backwards", verb: "matchingTimes", body: `{"id":"victim","from":"9999-01-01T00:00:00Z","to":"0001-01-02T00:00:00Z"}`,
			code: wrong, field: "to", says: "before"},
		{name: "both ways to skip", verb: "skip", body: `{"id":"victim","count":1,"times":["2030-01-01T00:00:00Z"]}`,
			code: wrong, field: "times", says: "count"},
		{name: "skip nothing", verb: "skip", body: `{"id":"victim"}`, code: wrong, field: "count", says: "out of range"},
		{name: "skip too much", verb: "skip", body: `{"id":"victim","count":1001}`, code: wrong, field: "count", says: "out of range"},
		{name: "skip no time", verb: "skip", body: `{"id":"victim","times":["2030-01-01T00:30:00Z"]}`,
			code: wrong, field: "times[0]", says: ""},
		{name: "skip the year 1", verb: "skip", body: `{"id":"victim","times":["0001-01-01T00:00:00Z"]}`,
			code: wrong, field: "times[0]", says: "missing"},
		{name: "skip the past", verb: "skip", body: `{"id":"victim","times":["1999-01-01T00:00:00Z"]}`,
			code: wrong, field: "times[0]", says: ""},
		{name: "no such backfill", verb: "cancelBackfill", body: `{"id":"victim","backfillId":"*.>"}`,
			code: missing, field: "backfillId", says: "has no backfill"},
		{name: "no such backfill, repeated", verb: "cancelBackfill", body: `{"id":"victim","backfillId":"x","requestId":"r"}`,
			code: missing, field: "backfillId", says: "has no backfill"},
		{name: "stale token", verb: "delete", body: `{"id":"victim","conflictToken":18446744073709551615}`,
			code: schedule.CodeFailedPrecondition, field: "conflictToken", says: "stale"},
		{name: "stale token", verb: "update", body: `{"id":"victim","action":{"type":"t","taskQueue":"q"},"conflictToken":99}`,
			code: schedule.CodeFailedPrecondition, field: "conflictToken", says: "stale"},
		{name: "empty patch", verb: "patch", body: `{"id":"victim"}`, code: wrong, field: "", says: ""},
		{name: "patch of both", verb: "patch", body: `{"id":"victim","pause":{},"unpause":{}}`,
			code: wrong, field: "unpause", says: ""},
		{name: "patch of much", verb: "patch", body: `{"id":"victim","trigger":{},"backfills":[` + repeated(100, moment) + `]}`,
			code: wrong, field: "backfills", says: "99"},
		{name: "101 backfills", verb: "create", body: validWith(`"backfills":[` + repeated(101, moment) + `]`),
			code: wrong, field: "backfills", says: "100"},
		{name: "large input", verb: "trigger", body: `{"id":"victim","input":"` + strings.Repeat("x", 600<<10) + `"}`,
			code: wrong, field: "input", says: ""},
		{name: "odd overlap", verb: "trigger", body: `{"id":"victim","overlap":"SKIP"}`,
			code: wrong, field: "overlap", says: "did you mean skip"},
		{name: "header with a line", verb: "trigger", body: `{"id":"victim","headers":{"a\r\nb":"c"}}`,
			code: wrong, field: `headers["a\r\nb"]`, says: ""},
		{name: "long request ID", verb: "pause", body: `{"id":"victim","requestId":"` + strings.Repeat("x", 256) + `"}`,
			code: wrong, field: "requestId", says: "255"},
		{name: "long note", verb: "pause", body: `{"id":"victim","note":"` + strings.Repeat("x", 1<<20) + `"}`,
			code: wrong, field: "note", says: ""},
		{name: "many times", verb: "preview", body: `{"spec":{"intervals":[{"every":"1s"}]},"count":1001}`,
			code: wrong, field: "count", says: "out of range"},
	}
	for _, namespace := range []string{
		"nowhere", "No_Where", "-", "ünïcode", "a" + strings.Repeat("b", 63), strings.Repeat("x", 300), "$SYS", "default=", "🙂",
		"a/b", "%2e",
	} {
		table = append(table, hostile{
			name: "namespace " + namespace, namespace: namespace, verb: "describe", body: `{"id":"victim"}`,
			code: missing, field: "namespace", says: "there is no namespace",
		})
	}
	return append(table, hostileSpecs()...)
}

func repeated(n int, text string) string { return strings.Repeat(","+text, n)[1:] }

// validWith is a request to create a schedule with additional fields.
func validWith(more string) string {
	return `{"id":"hostile","action":{"type":"record","taskQueue":"q"},` + more + `}`
}

// hostileSpecs are specs and actions out of bounds. None of them may create a schedule, or replace the victim.
func hostileSpecs() (table []hostile) {
	for _, test := range []struct{ name, part, field, says string }{
		{"10,000 calendars", `"spec":{"calendars":[` + repeated(10_000, `{"hour":1}`) + `]}`, "spec.calendars", "100"},
		{"101 structured calendars", `"spec":{"structuredCalendars":[` + repeated(101, `{}`) + `]}`, "spec.structuredCalendars", "100"},
		{"10,000 cron expressions", `"spec":{"cron":[` + repeated(10_000, `"@daily"`) + `]}`, "spec.cron", "100"},
		{"10,000 one-off times", `"spec":{"at":[` + repeated(10_000, `"2030-01-01T00:00:00Z"`) + `]}`, "spec.at", "100"},
		{"101 intervals", `"spec":{"intervals":[` + repeated(101, `{"every":"1s"}`) + `]}`, "spec.intervals", "100"},
		{"101 excludes", `"spec":{"excludeCalendars":[` + repeated(101, `{"hour":1}`) + `]}`, "spec.excludeCalendars", "100"},
		{"year 1", `"spec":{"at":["0001-01-01T00:00:01Z"]}`, "spec.at[0]", "2000 to 2100"},
		{"year 9999", `"spec":{"at":["9999-12-31T23:59:59Z"]}`, "spec.at[0]", "2000 to 2100"},
		{"odd offset", `"spec":{"at":["2100-12-31T23:59:59-23:59"]}`, "spec.at[0]", "2000 to 2100"},
		{"fraction", `"spec":{"at":["2030-01-01T00:00:00.000000001Z"]}`, "spec.at[0]", "fraction"},
		{"no interval", `"spec":{"intervals":[{"every":"0s"}]}`, "spec.intervals[0].every", "1s or more"},
		{"negative interval", `"spec":{"intervals":[{"every":"-2562047h"}]}`, "spec.intervals[0].every", "1s or more"},
		{"interval of nanoseconds", `"spec":{"intervals":[{"every":"1000000001ns"}]}`, "spec.intervals[0].every", "fraction"},
		{"phase beyond", `"spec":{"intervals":[{"every":"1h","phase":"1h"}]}`, "spec.intervals[0].phase", "less than every"},
		{"negative jitter", `"spec":{"jitter":"-1ns"}`, "spec.jitter", "negative"},
		{"cron of nothing", `"spec":{"cron":[""]}`, "spec.cron[0]", ""},
		{"cron of much", `"spec":{"cron":["` + strings.Repeat("* ", 100_000) + `"]}`, "spec.cron[0]", ""},
		{"cron out of range", `"spec":{"cron":["99 * * * *"]}`, "spec.cron[0]", "99"},
		{"cron with a step of 0", `"spec":{"cron":["*/0 * * * *"]}`, "spec.cron[0]", ""},
		{"cron in no zone", `"spec":{"cron":["TZ=../../etc/passwd @daily"]}`, "spec.cron[0]", ""},
		{"hour 25", `"spec":{"calendars":[{"hour":25}]}`, "spec.calendars[0].hour", "25"},
		{"hour backwards", `"spec":{"calendars":[{"hour":"9-5"}]}`, "spec.calendars[0].hour", ""},
		{"long hour", `"spec":{"calendars":[{"hour":"` + strings.Repeat("1,", 100_000) + `1"}]}`, "spec.calendars[0].hour", ""},
		{"second -1", `"spec":{"structuredCalendars":[{"second":[{"start":-1}]}]}`, "spec.structuredCalendars[0].second[0].start",
			"0 to 59"},
		{"step of 2^62", `"spec":{"structuredCalendars":[{"hour":[{"start":0,"end":23,"step":-4611686018427387904}]}]}`,
			"spec.structuredCalendars[0].hour[0].step", "out of range"},
		{"long zone", `"spec":{"timeZone":"` + strings.Repeat("x", 1<<20) + `"}`, "spec.timeZone", ""},
		{"long zone of cron", `"spec":{"cron":["TZ=` + strings.Repeat("x", 1<<20) + ` @daily"]}`, "spec.cron[0]", ""},
		{"long name of cron", `"spec":{"cron":["@` + strings.Repeat("x", 1<<20) + `"]}`, "spec.cron[0]", ""},
		{"long interval of cron", `"spec":{"cron":["@every ` + strings.Repeat("9", 1<<20) + `s"]}`, "spec.cron[0]", ""},
		{"long field of cron", `"spec":{"cron":["` + strings.Repeat("9", 1<<20) + ` * * * *"]}`, "spec.cron[0]", ""},
		{"long name of a day", `"spec":{"calendars":[{"dayOfWeek":"` + strings.Repeat("m", 1<<20) + `"}]}`,
			"spec.calendars[0].dayOfWeek", ""},
		{"long comment", `"spec":{"calendars":[{"comment":"` + strings.Repeat("x", 1<<20) + `"}]}`, "spec.calendars[0].comment", ""},
		{"long date", `"spec":{"excludeDates":["` + strings.Repeat("1", 1<<20) + `"]}`, "spec.excludeDates[0]", ""},
		{"long duration", `"spec":{"jitter":"` + strings.Repeat("1", 1<<20) + `"}`, "spec.jitter", "is not a duration"},
		{"long time", `"spec":{"startTime":"` + strings.Repeat("1", 1<<20) + `"}`, "spec.startTime", "must be a time"},
		{"long policy", `"policies":{"overlap":"` + strings.Repeat("x", 1<<20) + `"}`, "policies.overlap", "is not an overlap policy"},
		{"long named calendar", `"spec":{"excludeCalendarsNamed":["` + strings.Repeat("x", 1<<20) + `"]}`,
			"spec.excludeCalendarsNamed[0]", ""},
		{"no zone", `"spec":{"timeZone":"Mars/Olympus"}`, "spec.timeZone", ""},
		{"zone of a path", `"spec":{"timeZone":"../../../etc/passwd"}`, "spec.timeZone", ""},
		{"zone of the machine", `"spec":{"timeZone":"Local"}`, "spec.timeZone", ""},
		{"garbage as zone data", `"spec":{"timeZoneData":"AAAA"}`, "spec.timeZoneData", ""},
		{"date that is none", `"spec":{"excludeDates":["2026-02-30"]}`, "spec.excludeDates[0]", ""},
		{"dates backwards", `"spec":{"excludeDates":["2026-12-25/2026-12-24"]}`, "spec.excludeDates[0]", "ends before it starts"},
		{"blackout backwards", `"spec":{"blackouts":[{"from":"2026-02-02T00:00:00Z","to":"2026-02-01T00:00:00Z"}]}`,
			"spec.blackouts[0].to", ""},
		{"gap policy", `"spec":{"dst":{"gap":"jump"}}`, "spec.dst.gap", "jump"},
		{"unknown named calendar", `"spec":{"excludeCalendarsNamed":["*"]}`, "spec.excludeCalendarsNamed[0]", ""},
		{"overlap", `"policies":{"overlap":"alow_all"}`, "policies.overlap", "did you mean allow_all"},
		{"negative limit", `"policies":{"concurrencyLimit":-1}`, "policies.concurrencyLimit", ""},
		{"negative window", `"policies":{"catchupWindow":"-1s"}`, "policies.catchupWindow", ""},
		{"remaining without limit", `"state":{"remainingActions":-1}`, "state.remainingActions", ""},
		{"long notes", `"state":{"notes":"` + strings.Repeat("x", 1<<20) + `"}`, "state.notes", ""},
		{"request ID with a zero byte", `"requestId":"a\u0000b"`, "requestId", "control"},
		{"endless backfill", `"backfills":[{"start":"2026-01-01T00:00:00Z"}]`, "backfills[0].end", "missing"},
		{"backfill backwards", `"backfills":[{"start":"2026-01-02T00:00:00Z","end":"2026-01-01T00:00:00Z"}]`, "backfills[0].end",
			"before"},
	} {
		for _, verb := range []string{"create", "update"} {
			if verb == "update" && strings.HasPrefix(test.part, `"backfills"`) {
				continue
			}
			body := validWith(test.part)
			if verb == "update" {
				body = strings.Replace(body, `"id":"hostile"`, `"id":"victim"`, 1)
			}
			table = append(table, hostile{name: test.name, verb: verb, body: body, code: wrong, field: test.field, says: test.says})
		}
	}
	for _, test := range []struct{ name, action, field string }{
		{"no task queue", `{"type":"t"}`, "action.taskQueue"},
		{"type with a line", `{"type":"a\nb","taskQueue":"q"}`, "action.type"},
		{"long queue", `{"type":"t","taskQueue":"` + strings.Repeat("q", 256) + `"}`, "action.taskQueue"},
		{"large input", `{"type":"t","taskQueue":"q","input":"` + strings.Repeat("x", 600<<10) + `"}`, "action.input"},
		{"priority 6", `{"type":"t","taskQueue":"q","priority":6}`, "action.priority"},
		{"negative timeout", `{"type":"t","taskQueue":"q","runTimeout":"-1s"}`, "action.runTimeout"},
		{"quick heartbeat", `{"type":"t","taskQueue":"q","heartbeatTimeout":"1ns"}`, "action.heartbeatTimeout"},
		{"backoff of a half", `{"type":"t","taskQueue":"q","retryPolicy":{"backoffCoefficient":0.5}}`,
			"action.retryPolicy.backoffCoefficient"},
		{"negative attempts", `{"type":"t","taskQueue":"q","retryPolicy":{"maximumAttempts":-1}}`,
			"action.retryPolicy.maximumAttempts"},
	} {
		table = append(table, hostile{
			name: test.name, verb: "create", body: `{"id":"hostile","action":` + test.action + `}`, code: wrong, field: test.field,
		})
	}
	return table
}
