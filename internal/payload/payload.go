// Package payload writes the payloads of Temporal's clients as JSON, and reads them again. Nothing is lost either way.
//
//   - Any JSON value stands for itself: a payload of the encoding json/plain.
//   - null stands for a payload of the encoding binary/null, which Temporal's SDKs make of it.
//   - An object with exactly the members metadata and data stands for any other payload. The values of its metadata, and its data,
//     are base64. A payload of data that is stored elsewhere also has the member externalPayloads, a list of sizes in bytes.
//
// A value of the encoding json/plain that could be taken for something else, or that is not compact, is written as such an object too.
//
// The package knows neither protobuf nor schedules, so that schedule may import it. It imports internal/jsontext.
package payload

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// The metadata key that names the encoding, and the encodings that have a short form.
const (
	keyEncoding  = "encoding"
	encodingJSON = "json/plain"
	encodingNull = "binary/null"
)

// The members of the long form.
const (
	memberMetadata = "metadata"
	memberData     = "data"
	memberExternal = "externalPayloads"
)

// maxDepth is how deep a value may nest that stands for itself. It is less than the schedule package allows, because values are in lists.
const maxDepth = 98

// Payload is a value with its encoding, such as an argument of a workflow.
type Payload struct {
	// Metadata says how to read Data. A map without entries is the same as none.
	Metadata map[string][]byte
	Data     []byte
	// External has the size, in bytes, of each piece of data that is stored elsewhere. Data says where.
	External []int64
}

// JSON returns the payload of a JSON value, without a look at the value.
func JSON(value json.RawMessage) Payload {
	return Payload{Metadata: map[string][]byte{keyEncoding: []byte(encodingJSON)}, Data: value}
}

// Parse reads a payload from JSON text, which must be valid. The problem says what is wrong with an object that has the members of the long
// form. The payload may share memory with the text.
func Parse(text json.RawMessage) (Payload, *jsontext.Problem) {
	trimmed := bytes.TrimSpace(text)
	if string(trimmed) == "null" {
		return Payload{Metadata: map[string][]byte{keyEncoding: []byte(encodingNull)}}, nil
	}
	members, long := longForm(trimmed)
	if !long {
		return JSON(compact(trimmed)), nil
	}
	var p Payload
	var metadata map[string]json.RawMessage
	if json.Unmarshal(members[memberMetadata], &metadata) != nil || metadata == nil {
		return p, jsontext.Problemf(memberMetadata, "is not an object: a value with exactly metadata and data is a payload of Temporal")
	}
	for name, value := range metadata {
		data, ok := parseBytes(value)
		if !ok {
			return p, jsontext.Problemf(jsontext.JoinKey(memberMetadata, name), "is not base64, as the metadata of a payload is")
		}
		if p.Metadata == nil {
			p.Metadata = map[string][]byte{}
		}
		p.Metadata[name] = data
	}
	data, ok := parseBytes(members[memberData])
	if !ok {
		return p, jsontext.Problemf(memberData, "is not base64: a value with exactly metadata and data is a payload of Temporal")
	}
	p.Data = data
	if sizes, external := members[memberExternal]; external && json.Unmarshal(sizes, &p.External) != nil {
		return p, jsontext.Problemf(memberExternal, "is not a list of sizes in bytes, as a payload of data that is stored elsewhere has it")
	}
	return p, nil
}

// longForm returns the members of an object that has exactly those of the long form.
func longForm(text []byte) (members map[string]json.RawMessage, ok bool) {
	if !bytes.HasPrefix(text, []byte("{")) || json.Unmarshal(text, &members) != nil {
		return nil, false
	}
	count := 2
	if members[memberExternal] != nil {
		count++
	}
	return members, len(members) == count && members[memberMetadata] != nil && members[memberData] != nil
}

// parseBytes reads bytes from a JSON text in base64.
func parseBytes(value json.RawMessage) ([]byte, bool) {
	var text *string
	if json.Unmarshal(value, &text) != nil || text == nil {
		return nil, false
	}
	data, err := base64.StdEncoding.Strict().DecodeString(*text)
	return data, err == nil
}

// compact removes the space between the tokens of valid JSON.
func compact(text []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, text) != nil || out.Len() == len(text) {
		return text
	}
	return out.Bytes()
}

// Text returns the payload as JSON, in its short form if it has one. It may share memory with the payload.
func (p Payload) Text() json.RawMessage {
	if len(p.Metadata) == 1 && len(p.External) == 0 {
		switch string(p.Metadata[keyEncoding]) {
		case encodingNull:
			if len(p.Data) == 0 {
				return json.RawMessage("null")
			}
		case encodingJSON:
			if p.standsForItself() {
				return p.Data
			}
		}
	}
	metadata := make(map[string]string, len(p.Metadata))
	for name, value := range p.Metadata {
		metadata[name] = base64.StdEncoding.EncodeToString(value)
	}
	text, err := jsontext.Encode(struct {
		Metadata map[string]string `json:"metadata"`
		Data     string            `json:"data"`
		External []int64           `json:"externalPayloads,omitempty"`
	}{metadata, base64.StdEncoding.EncodeToString(p.Data), p.External})
	if err != nil {
		panic(fmt.Sprintf("payload: texts cannot be written as JSON: %v", err))
	}
	return text
}

// Plain returns the JSON value of a payload of the encoding json/plain, whatever its other metadata say.
func (p Payload) Plain() (value json.RawMessage, ok bool) {
	return p.Data, string(p.Metadata[keyEncoding]) == encodingJSON
}

// standsForItself reports whether Parse makes the same payload of the data.
func (p Payload) standsForItself() bool {
	if jsontext.Check(p.Data, maxDepth) != nil || len(compact(p.Data)) != len(p.Data) || string(p.Data) == "null" {
		return false
	}
	_, long := longForm(p.Data)
	return !long
}

// ParseList reads the payloads of a JSON list. A text without a value is a list without elements.
func ParseList(text json.RawMessage) ([]Payload, *jsontext.Problem) {
	if len(text) == 0 {
		return nil, nil
	}
	var values []json.RawMessage
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) || json.Unmarshal(text, &values) != nil {
		return nil, jsontext.Problemf("", "is not a list: a workflow takes a list of arguments, such as [1, \"two\"]")
	}
	list := make([]Payload, len(values))
	for i, value := range values {
		p, problem := Parse(value)
		if problem != nil {
			return nil, jsontext.Problemf(strings.TrimSuffix(jsontext.Indexed("", i)+"."+problem.Path, "."), "%s", problem.Message)
		}
		list[i] = p
	}
	return list, nil
}
