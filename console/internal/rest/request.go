package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/google/uuid"

	"github.com/carillon-scheduler/carillon/schedule"
)

// maxBody is how many bytes the body of a request may have: as many as a frontend reads.
const maxBody = 1 << 20

const (
	headerMatch       = "If-Match"
	headerIdempotency = "Idempotency-Key"
)

// fields are fields of a request of the native API, as JSON.
type fields map[string]json.RawMessage

// body returns the request of the native API that a request over HTTP stands for.
func (r *route) body(w http.ResponseWriter, request *http.Request) ([]byte, error) {
	given, err := r.given(request)
	if err != nil {
		return nil, err
	}
	if !r.hasBody() {
		if err := r.query(request, given); err != nil {
			return nil, err
		}
		return given.appendTo(nil), nil
	}
	if query := request.URL.RawQuery; query != "" {
		return nil, schedule.Errorf(schedule.CodeInvalidArgument, "%s %s takes no parameters in the query: put the fields into the body", r.Method, r.Path)
	}
	text, err := read(w, request)
	if err != nil {
		return nil, err
	}
	return given.addTo(text)
}

// given returns the fields that the path and the headers say. A request that may be sent twice gets an ID.
func (r *route) given(request *http.Request) (fields, error) {
	given := fields{}
	for _, name := range r.params {
		given[name] = quoted(request.PathValue(name))
	}
	token, err := matched(request.Header.Values(headerMatch))
	switch {
	case err != nil:
		return nil, err
	case token != nil && !r.takes(fieldToken):
		return nil, schedule.Invalid(headerMatch, "%s %s depends on no version: leave the header out", r.Method, r.Path)
	case token != nil:
		given[fieldToken] = token
	}
	if key := strings.Trim(request.Header.Get(headerIdempotency), `"`); key != "" && r.takes(fieldRequest) {
		given[fieldRequest] = quoted(key)
	}
	return given, nil
}

// matched returns the conflict token of the header If-Match; nil if there is none, or any version will do.
func matched(values []string) (json.RawMessage, error) {
	value := strings.TrimSpace(strings.Join(values, ","))
	if value == "" || value == "*" {
		return nil, nil
	}
	text, isQuoted := strings.CutPrefix(value, `"`)
	text, isWhole := strings.CutSuffix(text, `"`)
	if _, err := strconv.ParseUint(text, 10, 64); err != nil || !isQuoted || !isWhole {
		return nil, schedule.Invalid(headerMatch, `is %s: send one ETag, as an answer had it, such as "7", or * for any version`, brief(value))
	}
	return json.RawMessage(text), nil
}

// query adds the parameters of the query. A parameter that is a list may be repeated, or have its values separated by commas.
func (r *route) query(request *http.Request, given fields) error {
	for name, values := range request.URL.Query() {
		if _, twice := given[name]; twice {
			return schedule.Invalid(name, "is in the path or in a header already: say it once")
		}
		of := r.verb.Request.Properties[name]
		if of != nil && of.Type == "array" {
			given[name] = list(of.Items, values)
			continue
		}
		if len(values) > 1 {
			return schedule.Invalid(name, "is %d times in the query: say it once", len(values))
		}
		given[name] = value(of, values[0])
	}
	return nil
}

func list(of *jsonschema.Schema, values []string) json.RawMessage {
	var items []json.RawMessage
	for _, each := range values {
		for item := range strings.SplitSeq(each, ",") {
			items = append(items, value(of, item))
		}
	}
	return encoded(items)
}

// value returns a parameter as JSON of the type that its schema has. What is not of that type stays text, and a frontend says what it should be.
func value(of *jsonschema.Schema, text string) json.RawMessage {
	if of != nil && slices.Contains([]string{"integer", "number", "boolean"}, of.Type) && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return quoted(text)
}

// read reads a body.
func read(w http.ResponseWriter, request *http.Request) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return nil, &problemError{http.StatusRequestEntityTooLarge, schedule.Errorf(schedule.CodeInvalidArgument,
			"the body has more than %d bytes: store the input elsewhere and pass a reference", maxBody)}
	}
	if err != nil {
		return nil, schedule.Errorf(schedule.CodeInvalidArgument, "the body ends before its end: %v", err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return []byte("{}"), nil
	}
	if kind, _, err := mime.ParseMediaType(request.Header.Get("Content-Type")); err != nil || kind != contentJSON {
		return nil, &problemError{http.StatusUnsupportedMediaType, schedule.Invalid("Content-Type", "is %s: send the body as %s",
			brief(request.Header.Get("Content-Type")), contentJSON)}
	}
	return text, nil
}

// addTo adds fields to an object. One that is there already must have the same value. What else is wrong with the text, a frontend says.
func (f fields) addTo(text []byte) ([]byte, error) {
	var there fields
	text = bytes.TrimSpace(text)
	if err := json.Unmarshal(text, &there); err != nil || text[0] != '{' {
		return text, nil
	}
	missing := fields{}
	for name, want := range f {
		if got, ok := there[name]; !ok {
			missing[name] = want
		} else if !same(got, want) {
			return nil, schedule.Invalid(name, "is %s in the body and %s in the path or in a header: say it once", brief(string(got)), brief(string(want)))
		}
	}
	if len(missing) == 0 {
		return text, nil
	}
	rest := bytes.TrimSpace(text[1:])
	head := missing.appendTo(nil)
	if rest[0] != '}' {
		head[len(head)-1] = ','
		return append(head, rest...), nil
	}
	return head, nil
}

// same reports whether two values are the same JSON, written in the same way or not.
func same(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && x == y
}

// appendTo appends the object of the fields to a text.
func (f fields) appendTo(text []byte) []byte {
	text = append(text, '{')
	for i, name := range slices.Sorted(maps.Keys(f)) {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, quoted(name)...), ':'), f[name]...)
	}
	return append(text, '}')
}

// identified gives a request an ID if it takes one and has none, so that it can be sent again.
func (r *route) identified(body []byte) []byte {
	var there fields
	if !r.takes(fieldRequest) || json.Unmarshal(body, &there) != nil || len(there[fieldRequest]) > 2 {
		return body
	}
	if whole, err := (fields{fieldRequest: quoted(uuid.NewString())}).addTo(body); err == nil {
		return whole
	}
	return body
}

func quoted(text string) json.RawMessage { return encoded(text) }

// encoded returns the JSON of a value that can be written as JSON.
func encoded(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // a text, or a list of JSON
	}
	return text
}

// brief returns the beginning of a text, in quotes, for an error.
func brief(text string) string {
	const most = 40
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strconv.Quote(text)
}
