package readable

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.temporal.io/api/common/v1"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/payload"
)

// metaEncoding is the metadata key that names the encoding of a payload.
const metaEncoding = "encoding"

// maxDepth is how deep typed JSON may nest: as deep as in schedules.
const maxDepth = 98

// Payload returns a value as text: JSON on several lines where the encoding says so, otherwise base64 after the name of the encoding.
func Payload(p *common.Payload) string {
	encoding := string(p.GetMetadata()[metaEncoding])
	switch encoding {
	case "binary/null":
		return "null"
	case "json/plain", "json/protobuf":
		var text bytes.Buffer
		if json.Indent(&text, p.GetData(), "", "  ") == nil {
			return text.String()
		}
		if utf8.Valid(p.GetData()) {
			return string(p.GetData())
		}
	}
	if encoding == "" {
		encoding = "no encoding"
	}
	return encoding + ", base64: " + base64.StdEncoding.EncodeToString(p.GetData())
}

// Short returns a value as [Payload] does, with JSON on one line.
func Short(p *common.Payload) string {
	var text bytes.Buffer
	if strings.HasPrefix(string(p.GetMetadata()[metaEncoding]), "json/") && json.Compact(&text, p.GetData()) == nil {
		return text.String()
	}
	return Payload(p)
}

// Payloads returns values as text, one after the other.
func Payloads(p *common.Payloads) string {
	var all []string
	for _, one := range p.GetPayloads() {
		all = append(all, Payload(one))
	}
	return strings.Join(all, "\n")
}

// Typed returns values as [Arguments] reads them. No encoding is lost.
func Typed(p *common.Payloads) string {
	var all []string
	for _, one := range p.GetPayloads() {
		all = append(all, string(payload.Payload{Metadata: one.GetMetadata(), Data: one.GetData()}.Text()))
	}
	return strings.Join(all, "\n")
}

// Arguments reads the values that somebody has typed: JSON, one value after the other. Nothing typed is no value, and nil. The error says which value is
// wrong, and where.
func Arguments(text string) (*common.Payloads, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	var all common.Payloads
	for {
		begins := decoder.InputOffset()
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, notJSON(text, begins, len(all.Payloads)+1, err)
		}
		if problem := jsontext.Check(value, maxDepth); problem != nil {
			return nil, fmt.Errorf("value %d: %s", len(all.Payloads)+1, problemText(problem))
		}
		parsed, problem := payload.Parse(value)
		if problem != nil {
			return nil, fmt.Errorf("value %d: %s", len(all.Payloads)+1, problemText(problem))
		}
		all.Payloads = append(all.Payloads, &common.Payload{Metadata: parsed.Metadata, Data: parsed.Data})
	}
	if len(all.Payloads) == 0 {
		return nil, nil
	}
	return &all, nil
}

// problemText says what is wrong with a value, and where in it.
func problemText(problem *jsontext.Problem) string {
	if problem.Path == "" {
		return problem.Message
	}
	return problem.Path + " " + problem.Message
}

// notJSON says in which line a text is no JSON.
func notJSON(text string, begins int64, value int, err error) error {
	at := int64(len(text))
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) && !errors.Is(err, io.ErrUnexpectedEOF) {
		at = min(max(wrong.Offset-1, begins), at) // the decoder counts from the beginning of all that it has read
	}
	line, column := Place(text, int(at))
	return fmt.Errorf(`is not JSON: value %d, line %d, character %d: %w. Write 5, "text", {"field": "value"} or [1, 2]`, value, line, column, err)
}

// Place returns the line and the character of a place in a text, which is in bytes. Both begin with 1.
func Place(text string, at int) (line, column int) {
	before := text[:at]
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}

// Cut returns the beginning of a text, and whether something is missing. It never cuts a character in two.
func Cut(text string, limit int) (shown string, isCut bool) {
	if len(text) <= limit {
		return text, false
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…", true
}
