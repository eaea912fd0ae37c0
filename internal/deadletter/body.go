package deadletter

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/internal/wire"
)

// Body is the body of a letter for people and programs: a value if it can be read, otherwise text.
type Body struct {
	// Format is the format of the body: "json", "record" for the encoding of the pools, "text", or "base64" for bytes that are
	// none of these.
	Format string `json:"format"`
	// Value is the body as JSON, for the formats json and record.
	Value json.RawMessage `json:"value,omitempty"`
	// Text is the body for the format text, or its base64.
	Text string `json:"text,omitempty"`
}

// The formats of a [Body].
const (
	FormatJSON   = "json"
	FormatRecord = "record"
	FormatText   = "text"
	FormatBase64 = "base64"
)

func readBody(k kind, data []byte) Body {
	if value := readRecord(k, data); value != nil {
		return Body{Format: FormatRecord, Value: value}
	}
	switch {
	case json.Valid(data):
		return Body{Format: FormatJSON, Value: data}
	case isText(data):
		return Body{Format: FormatText, Text: string(data)}
	}
	return Body{Format: FormatBase64, Text: base64.StdEncoding.EncodeToString(data)}
}

// readRecord returns a message between pools as JSON. It returns nil if the message cannot be read, which may be why it is a
// letter.
func readRecord(k kind, data []byte) json.RawMessage {
	var into any
	switch k {
	case kindWake:
		into = new(wire.Wake)
	case kindEnqueue:
		into = new(wire.Enqueue)
	case kindEnd:
		into = new(wire.EndRun)
	default:
		return nil
	}
	if codec.Unmarshal(data, into) != nil {
		return nil
	}
	value, err := apitext.EncodeJSON(into)
	if err != nil {
		return nil
	}
	return value
}

// isText reports whether data can be shown as it is.
func isText(data []byte) bool {
	return utf8.Valid(data) && !strings.ContainsFunc(string(data), func(r rune) bool {
		return !unicode.IsPrint(r) && r != '\n' && r != '\r' && r != '\t'
	})
}
