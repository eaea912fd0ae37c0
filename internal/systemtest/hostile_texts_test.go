package systemtest

import (
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/carillon-scheduler/carillon/schedule"
)

// hostileTexts are bodies and headers that are wrong for any verb.
func hostileTexts(e offered) []hostile {
	var table []hostile
	add := func(name string, header nats.Header, body, field, says string) {
		table = append(table, hostile{
			name: name, thing: e.thing, verb: e.verb, header: header, body: body,
			code: schedule.CodeInvalidArgument, field: field, says: says,
		})
	}
	key := "zzzzzzzz"
	for name := range e.request.Properties {
		key = min(key, name)
	}
	for _, test := range []struct{ name, body, field, says string }{
		{"list", `[]`, "", "must be an object, not a list"},
		{"null", `null`, "", "must be an object, not null"},
		{"text", `"x"`, "", `must be an object, not "x"`},
		{"number", `5`, "", "must be an object, not 5"},
		{"infinite number", `1e99999`, "", "must be an object, not 1e99999"},
		{"blank", "  \n", "", "is not valid JSON: line 2, column 1"},
		{"byte order mark", "\ufeff{}", "", "is not valid JSON: line 1, column 1"},
		{"UTF-16", "{\x00}\x00", "", "is not valid JSON"},
		{"zero byte", "\x00", "", "is not valid JSON"},
		{"no UTF-8", "{\"\xff\":1}", "", "is not valid UTF-8"},
		{"surrogate in UTF-8", "{\"\xed\xa0\x80\":1}", "", "is not valid UTF-8"},
		{"unfinished", `{`, "", "is not valid JSON: line 1, column 1: unexpected end"},
		{"unfinished text", `{"` + key, "", "unexpected end of JSON input"},
		{"half an escape", `{"\u12`, "", "is not valid JSON"},
		{"no such escape", `{"\x41":1}`, "", "is not valid JSON"},
		{"line in a text", "{\"" + key + "\":\"\n\"}", "", "is not valid JSON"},
		{"trailing object", `{} {}`, "", "is not valid JSON: line 1, column 4"},
		{"trailing garbage", `{}x`, "", "is not valid JSON"},
		{"trailing comma", `{"` + key + `":null,}`, "", "is not valid JSON"},
		{"NaN", `{"` + key + `":NaN}`, "", "is not valid JSON"},
		{"Infinity", `{"` + key + `":-Infinity}`, "", "is not valid JSON"},
		{"hexadecimal", `{"` + key + `":0x10}`, "", "is not valid JSON"},
		{"leading zero", `{"` + key + `":01}`, "", "is not valid JSON"},
		{"quotes of another kind", `{'` + key + `':1}`, "", "is not valid JSON"},
		{"comment", "{} // nothing", "", "is not valid JSON"},
		{"YAML", key + ": x\n", "", "is not valid JSON"},
		{"XML", `<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd">`, "", "is not valid JSON"},
		{"twice", `{"` + key + `":null,"` + key + `":null}`, key, "stands twice"},
		{"twice, escaped", `{"` + key + `":null,"\u00` + hexOf(key[0]) + key[1:] + `":null}`, key, "stands twice"},
		{"another case", `{"` + strings.ToUpper(key) + `":null}`, strings.ToUpper(key), "unknown field"},
		{"prototype", `{"__proto__":{}}`, "__proto__", "unknown field"},
		{"empty key", `{"":1}`, `[""]`, "unknown field"},
		{"key with a line", `{"a\nb":1}`, `["a\nb"]`, "unknown field"},
		{"key of a zero byte", `{"\u0000":1}`, `["\x00"]`, "unknown field"},
		{"201 levels", `{"` + key + `":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "", "is nested too deeply"},
		{"201 levels of objects", strings.Repeat(`{"a":`, 201) + "1" + strings.Repeat("}", 201), "", "is nested too deeply"},
	} {
		add(test.name, nil, test.body, test.field, test.says)
	}
	if e.verb == "create" {
		addLarge(add, key)
	}
	msgpack := nats.Header{"Content-Type": {"application/msgpack"}}
	for _, test := range []struct{ name, body, field, says string }{
		{"no code", "\xc1", "", "is not valid msgpack: byte 1: no value begins with 0xc1"},
		{"JSON as msgpack", "{}", "", "is not valid msgpack: byte 2"},
		{"huge map", "\xdf\xff\xff\xff\xff", "", "the data is cut short"},
		{"huge list", "\xdd\x7f\xff\xff\xff", "", "the data is cut short"},
		{"huge text", "\xdb\xff\xff\xff\xff", "", "the data is cut short"},
		{"huge extension", "\xc9\xff\xff\xff\xff\x01", "", "the data is cut short"},
		{"unfinished", "\x81", "", "the data is cut short"},
		{"trailing", "\x80\x80", "", "1 bytes too many"},
		{"list in msgpack", "\x90", "", "must be an object, not a list"},
		{"nil", "\xc0", "", "must be an object, not null"},
		{"time", "\xd6\xff\x00\x00\x00\x00", "", "must be an object"},
		{"extension", "\xd4\x05\x00", "", "the only extension that is accepted is a timestamp"},
		{"infinity", "\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00", "", "+Inf is not a number"},
		{"number as a key", "\x81\x01\x01", "", "has a key that is not text"},
		{"nil as a key", "\x81\xc0\x01", "", "has a key that is not text"},
		{"no UTF-8 in msgpack", "\x81\xa1\xff\x01", "", "is not valid UTF-8"},
		{"twice in msgpack", "\x82\xa1a\xc0\xa1a\xc0", "a", "stands twice"},
		{"unknown in msgpack", "\x81\xa8zzzzzzzz\x01", "zzzzzzzz", "unknown field"},
		{"201 levels of msgpack", strings.Repeat("\x91", 201) + "\xc0", "", "is nested too deeply"},
	} {
		add(test.name, msgpack, test.body, test.field, test.says)
	}
	for _, test := range []struct{ name, header, value, says string }{
		{"content type of text", "Content-Type", "text/plain", `the content type "text/plain" is not accepted`},
		{"content type of nothing", "Content-Type", "/;", "is not accepted"},
		{"content type with a line", "Content-Type", "application/json\r\nX: y", "is not accepted"},
		{"accepts text", "Accept", "text/html", "a reply cannot be made as"},
		{"no duration", "Carillon-Timeout", "soon", "the header Carillon-Timeout is \"soon\""},
		{"number for a duration", "Carillon-Timeout", "5", "which is not a duration"},
		{"NaN for a duration", "Carillon-Timeout", "NaNs", "which is not a duration"},
	} {
		add(test.name, nats.Header{test.header: {test.value}}, "{}", "", test.says)
	}
	add("hostile identity", nats.Header{schedule.HeaderIdentity: {"a\r\nNats-Service-Error-Code: x\x00é"}}, "[]", "",
		"must be an object")
	add("hostile trace", nats.Header{"traceparent": {strings.Repeat("0", 1000)}, "tracestate": {"\x00,=;"}}, "[]", "",
		"must be an object")
	return table
}

// addLarge adds bodies that take long to send, so they are not sent to each verb.
func addLarge(add func(name string, header nats.Header, body, field, says string), key string) {
	msgpack := nats.Header{"Content-Type": {"application/msgpack"}}
	add("5 MB", nil, `{"`+key+`":"`+strings.Repeat("x", 5<<20)+`"}`, "", "the text is too large")
	add("5 MB of nothing", nil, strings.Repeat(" ", 5<<20), "", "the text is too large")
	add("5 MB of msgpack", msgpack, "\xdb\x00\x4f\xff\xff"+strings.Repeat("x", 0x4fffff), "", "the text is too large")
	add("3 MB of msgpack that are 15 MB of JSON", msgpack, "\xdd\x00\x30\x00\x00"+strings.Repeat("\xc0", 0x300000), "",
		"the text is too large")
	add("long key", nil, `{"`+strings.Repeat("k", 1<<20)+`":1}`, `["`+strings.Repeat("k", 100)+`…"]`, "unknown field")
	add("a million levels", nil, strings.Repeat("[", 1<<20), "", "exceeded max depth")
	add("a million levels of msgpack", msgpack, strings.Repeat("\x91", 1<<20), "", "is nested too deeply")
	for header, says := range map[string]string{
		"Content-Type": "is not accepted", "Accept": "a reply cannot be made as", schedule.HeaderTimeout: "which is not a duration",
	} {
		add("long "+header, nats.Header{header: {strings.Repeat("9,", 1<<19)}}, "{}", "", says)
	}
	for _, header := range []string{schedule.HeaderIdentity, "traceparent", "tracestate"} {
		add("long "+header, nats.Header{header: {strings.Repeat("\x01é", 1<<18)}}, "[]", "", "must be an object")
	}
}

func hexOf(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}
