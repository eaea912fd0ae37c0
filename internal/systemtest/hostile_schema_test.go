package systemtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/stretchr/testify/require"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// offered is a verb as the service offers it.
type offered struct {
	thing, verb string
	request     *jsonShape
}

// jsonShape is the part of a JSON schema that is needed to violate it.
type jsonShape struct {
	Type                 any
	Pattern, Format      string
	ContentEncoding      string
	Ref                  string `json:"$ref"`
	Properties           map[string]*jsonShape
	Items                *jsonShape
	AdditionalProperties json.RawMessage
	Defs                 map[string]*jsonShape `json:"$defs"`
}

// endpoints asks the service what it offers.
func (s *system) endpoints() []offered {
	s.t.Helper()
	subject, err := micro.ControlSubject(micro.InfoVerb, s.names.ServiceName(), "")
	require.NoError(s.t, err)
	reply, err := s.conn.Request(subject, nil, patience)
	require.NoError(s.t, err)
	var info micro.Info
	require.NoError(s.t, json.Unmarshal(reply.Data, &info))
	var all []offered
	for _, e := range info.Endpoints {
		tokens := strings.Split(e.Subject, ".")
		o := offered{thing: tokens[len(tokens)-2], verb: tokens[len(tokens)-1], request: &jsonShape{}}
		require.NoError(s.t, json.Unmarshal([]byte(e.Metadata["request_schema"]), o.request), e.Name)
		all = append(all, o)
	}
	return all
}

// wrongValue is a value of JSON where another kind is expected.
type wrongValue struct{ text, says string }

// wrongFor returns values that do not suit a shape.
func wrongFor(shape *jsonShape) []wrongValue {
	many, _ := shape.Type.([]any)
	switch {
	case len(many) > 0:
		return []wrongValue{{`[9]`, "must be a whole number or a string"}, {`9.5`, "must be a whole number or a string"}}
	case shape.Format == "date-time":
		const says = "must be a time in RFC 3339"
		return []wrongValue{
			{`"tomorrow"`, says}, {`5`, says}, {`"2026-02-30T00:00:00Z"`, says}, {`"2026-01-01T00:00:00+99:99"`, says},
			{`"-0001-01-01T00:00:00Z"`, says}, {`"10000-01-01T00:00:00Z"`, says}, {`"2026-01-01 00:00:00Z"`, says},
			{`"9999-12-31T23:59:59-01:00"`, "is out of range"},
		}
	case shape.Pattern != "":
		const says = "is not a duration"
		return []wrongValue{
			{`5`, says}, {`"5"`, says}, {`"NaNs"`, says}, {`"1e309s"`, says}, {`"Inf"`, says}, {`"9999999h"`, says}, {`""`, says},
			{`[]`, says},
		}
	case shape.ContentEncoding != "":
		return []wrongValue{{`"*"`, "must be base64 text"}}
	}
	switch shape.Type {
	case "string":
		const says = "must be a string"
		return []wrongValue{{`5`, says}, {`{}`, says}, {`[]`, says}, {`true`, says}}
	case "integer":
		const says = "must be a whole number"
		return []wrongValue{
			{`"1"`, says}, {`1.5`, says}, {`1e309`, says}, {`99999999999999999999`, says}, {`1e-400`, says}, {`true`, says},
		}
	case "number":
		return []wrongValue{{`"1"`, "must be a number"}, {`1e309`, "must be a number"}, {`-1e99999999`, "must be a number"}}
	case "boolean":
		return []wrongValue{{`"yes"`, "must be true or false"}, {`0`, "must be true or false"}}
	case "array":
		return []wrongValue{{`{}`, "must be a list"}, {`"x"`, "must be a list"}, {`0`, "must be a list"}}
	case "object":
		return []wrongValue{{`[]`, "must be an object"}, {`"x"`, "must be an object"}, {`false`, "must be an object"}}
	}
	return nil // any JSON
}

// hostileFields puts values of the wrong kind into each field of a request, in both formats, and unknown fields into each
// object.
func hostileFields(t *testing.T, e offered) (table []hostile) {
	t.Helper()
	put := func(path, text, wrongPath, says string) {
		row := hostile{
			name: path + " is " + text, thing: e.thing, verb: e.verb, body: text,
			code: schedule.CodeInvalidArgument, field: wrongPath, says: says,
		}
		table = append(table, row)
		if strings.Contains(text, "1e309") || strings.Contains(text, "e99999999") || strings.Contains(text, "e-400") {
			return // msgpack has no such numbers
		}
		packed, err := apitext.EncodeMsgpack(json.RawMessage(text))
		require.NoError(t, err)
		row.name, row.body, row.header = row.name+", in msgpack", string(packed), nats.Header{"Content-Type": {"application/msgpack"}}
		table = append(table, row)
	}
	asItIs := func(text string) string { return text }
	visitShape(e.request, e.request.Defs, "", asItIs, func(shape *jsonShape, path string, wrap func(string) string) {
		if path != "" {
			for _, wrong := range wrongFor(shape) {
				put(path, wrap(wrong.text), path, wrong.says)
			}
		}
		if shape.Type == "object" && shape.Properties != nil {
			unknown := strings.TrimPrefix(path+".zzzzzzzz", ".")
			put(path, wrap(`{"zzzzzzzz":1}`), unknown, "unknown field")
		}
	})
	return table
}

// visitShape goes through the fields of a shape. wrap makes a request of the value at a path.
func visitShape(
	shape *jsonShape, defs map[string]*jsonShape, path string, wrap func(string) string,
	visit func(shape *jsonShape, path string, wrap func(string) string),
) {
	if name, ok := strings.CutPrefix(shape.Ref, "#/$defs/"); ok {
		shape = defs[name]
	}
	visit(shape, path, wrap)
	under := func(key string, inner *jsonShape) {
		visitShape(inner, defs, strings.TrimPrefix(path+"."+key, "."), func(text string) string {
			return wrap(`{"` + key + `":` + text + `}`)
		}, visit)
	}
	for _, name := range slices.Sorted(maps.Keys(shape.Properties)) {
		under(name, shape.Properties[name])
	}
	if shape.Items != nil {
		visitShape(shape.Items, defs, path+"[0]", func(text string) string { return wrap("[" + text + "]") }, visit)
	}
	var values jsonShape
	if json.Unmarshal(shape.AdditionalProperties, &values) == nil && (values.Type != nil || values.Ref != "") {
		under("key", &values)
	}
}
