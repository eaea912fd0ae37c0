package temporal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/internal/payload"
)

// payloads are the arguments of a workflow. They are an object with the encoded payloads or, in the shorthand of Temporal's
// command line, a list of the values themselves.
type payloads []json.RawMessage

func (p *payloads) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*[]json.RawMessage)(p))
	}
	var wrapped struct {
		Payloads []json.RawMessage `json:"payloads"`
	}
	err := json.Unmarshal(data, &wrapped)
	*p = wrapped.Payloads
	return err
}

// value returns the input: nothing, the only argument, or a list of the arguments.
func (p payloads) value(notes *[]string) json.RawMessage {
	var arguments []json.RawMessage
	for i, payload := range p {
		value, problem := payloadValue(payload)
		if problem != "" {
			*notes = append(*notes, fmt.Sprintf("argument %d is not carried over: %s", i+1, problem))
			value = json.RawMessage("null")
		}
		arguments = append(arguments, value)
	}
	switch len(arguments) {
	case 0:
		return nil
	case 1:
		if string(arguments[0]) == "null" {
			return nil
		}
		return arguments[0]
	}
	*notes = append(*notes, fmt.Sprintf("the input is a list of the %d arguments", len(arguments)))
	list, err := apitext.EncodeJSON(arguments)
	if err != nil {
		return nil // what has been read as JSON is JSON
	}
	return list
}

// list returns the arguments of a workflow as they are.
func (p payloads) list() json.RawMessage {
	if len(p) == 0 {
		return nil
	}
	texts := make([]json.RawMessage, len(p))
	for i, argument := range p {
		texts[i] = payloadText(argument)
	}
	list, err := apitext.EncodeJSON(texts)
	if err != nil {
		return nil // what has been read as JSON is JSON
	}
	return list
}

// payloadFields are named payloads: memo, search attributes or header. Their object has them in a field or, in the shorthand, is
// the values themselves.
type payloadFields map[string]json.RawMessage

func (f *payloadFields) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	if len(fields) == 1 {
		for name, inner := range fields {
			var wrapped map[string]json.RawMessage
			if (name == "fields" || name == "indexedFields") && json.Unmarshal(inner, &wrapped) == nil {
				fields = wrapped
			}
		}
	}
	*f = fields
	return nil
}

// payloads returns the payloads as they are.
func (f payloadFields) payloads() map[string]json.RawMessage {
	if len(f) == 0 {
		return nil
	}
	texts := make(map[string]json.RawMessage, len(f))
	for name, value := range f {
		texts[name] = payloadText(value)
	}
	return texts
}

// values returns the values. what names them in notes.
func (f payloadFields) values(what string, notes *[]string) map[string]json.RawMessage {
	var values map[string]json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(f)) {
		value, problem := payloadValue(f[name])
		if problem != "" {
			*notes = append(*notes, fmt.Sprintf("the %s %s is not carried over: %s", what, name, problem))
			continue
		}
		if values == nil {
			values = map[string]json.RawMessage{}
		}
		values[name] = value
	}
	return values
}

// texts returns the values that are texts, as headers are.
func (f payloadFields) texts(notes *[]string) map[string]string {
	var texts map[string]string
	values := f.values("header", notes)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var text string
		if json.Unmarshal(values[name], &text) != nil {
			*notes = append(*notes, fmt.Sprintf("the header %s is not carried over: it is no text", name))
			continue
		}
		if texts == nil {
			texts = map[string]string{}
		}
		texts[name] = text
	}
	return texts
}

// payloadValue returns the JSON in a payload, or why there is none. If the data does not look like an encoded payload, it is the
// value itself.
func payloadValue(data json.RawMessage) (value json.RawMessage, problem string) {
	var payload struct {
		Metadata map[string][]byte `json:"metadata"`
		Data     []byte            `json:"data"`
	}
	if json.Unmarshal(data, &payload) != nil || len(payload.Metadata["encoding"]) == 0 {
		return data, ""
	}
	switch encoding := string(payload.Metadata["encoding"]); encoding {
	case "json/plain", "json/protobuf":
		if !json.Valid(payload.Data) {
			return nil, "it is no valid JSON"
		}
		return payload.Data, ""
	case "binary/null":
		return json.RawMessage("null"), ""
	default:
		return nil, fmt.Sprintf("its encoding %q is no JSON", encoding)
	}
}

// keyMessageType is where the shorthand of Temporal's command line has the type of a protocol buffer.
const keyMessageType = "_protoMessageType"

// payloadText returns a payload in the form of Carillon's model. In Temporal's JSON, a payload is an encoded one, whose data may be
// missing, or a value in shorthand.
func payloadText(data json.RawMessage) json.RawMessage {
	if len(data) == 0 {
		return nil
	}
	var long payload.Payload
	if json.Unmarshal(data, &long) == nil && len(long.Metadata["encoding"]) > 0 {
		return long.Text()
	}
	var message map[string]json.RawMessage
	var name string
	if json.Unmarshal(data, &message) == nil && json.Unmarshal(message[keyMessageType], &name) == nil {
		delete(message, keyMessageType)
		rest, err := apitext.EncodeJSON(message)
		if err == nil {
			return payload.Payload{
				Metadata: map[string][]byte{"encoding": []byte("json/protobuf"), "messageType": []byte(name)}, Data: rest,
			}.Text()
		}
	}
	value, problem := payload.Parse(data)
	if problem != nil {
		value = payload.JSON(data)
	}
	return value.Text()
}
