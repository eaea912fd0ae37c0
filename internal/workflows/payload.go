package workflows

import (
	"encoding/json"
	"errors"

	commonpb "go.temporal.io/api/common/v1"
	"google.golang.org/protobuf/proto"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/payload"
)

// errNoText says that a payload has parts that its JSON form does not have.
var errNoText = errors.New("workflows: the payload has fields of a later version")

// Payload returns the payload that a JSON text stands for (package payload). The problem is that of an object that is nearly a payload.
func Payload(text json.RawMessage) (*commonpb.Payload, *jsontext.Problem) {
	p, problem := payload.Parse(text)
	if problem != nil {
		return nil, problem
	}
	return fromPlain(p), nil
}

// Text returns the JSON text that stands for a payload. The error says that there is none, because the payload has fields that are not known
// here.
func Text(p *commonpb.Payload) (json.RawMessage, error) {
	unknown := len(p.ProtoReflect().GetUnknown())
	plain := payload.Payload{Metadata: p.GetMetadata(), Data: p.GetData()}
	for _, details := range p.GetExternalPayloads() {
		plain.External = append(plain.External, details.GetSizeBytes())
		unknown += len(details.ProtoReflect().GetUnknown())
	}
	if unknown > 0 {
		return nil, errNoText
	}
	return plain.Text(), nil
}

func fromPlain(p payload.Payload) *commonpb.Payload {
	full := &commonpb.Payload{Metadata: p.Metadata, Data: p.Data}
	for _, size := range p.External {
		full.ExternalPayloads = append(full.ExternalPayloads, &commonpb.Payload_ExternalPayloadDetails{SizeBytes: size})
	}
	return full
}

// Arguments returns the payloads of a JSON list, such as the input of a workflow; nil if there are none. The problem says that the text is no
// list, or which element cannot be a payload.
func Arguments(list json.RawMessage) (*commonpb.Payloads, *jsontext.Problem) {
	all, problem := payload.ParseList(list)
	if problem != nil || len(all) == 0 {
		return nil, problem
	}
	payloads := &commonpb.Payloads{}
	for _, p := range all {
		payloads.Payloads = append(payloads.Payloads, fromPlain(p))
	}
	return payloads, nil
}

// Fields returns named payloads, such as those of a memo; nil if there are none. The problem names the one that cannot be a payload.
func Fields(texts map[string]json.RawMessage) (map[string]*commonpb.Payload, *jsontext.Problem) {
	var all map[string]*commonpb.Payload
	for name, text := range texts {
		p, problem := Payload(text)
		if problem != nil {
			return nil, jsontext.Problemf(jsontext.JoinKey("", name), "%s", problem.Message)
		}
		if all == nil {
			all = map[string]*commonpb.Payload{}
		}
		all[name] = p
	}
	return all, nil
}

// encodingPayloads marks a payload that holds several. Temporal's results may have more than one; none of its SDKs makes such.
const encodingPayloads = "carillon/payloads"

// resultText returns a result as JSON: nothing if there is none, and the text of the payload if there is one.
func resultText(result *commonpb.Payloads) (json.RawMessage, error) {
	switch all := result.GetPayloads(); len(all) {
	case 0:
		return nil, nil
	case 1:
		return Text(all[0])
	}
	data, err := proto.Marshal(result)
	return payload.Payload{Metadata: map[string][]byte{"encoding": []byte(encodingPayloads)}, Data: data}.Text(), err
}

// resultOf is the inverse of resultText. Results of runs that are no workflows may be any JSON value.
func resultOf(text json.RawMessage) *commonpb.Payloads {
	if len(text) == 0 {
		return nil
	}
	p, problem := payload.Parse(text)
	if problem != nil {
		p = payload.JSON(text)
	}
	if string(p.Metadata["encoding"]) == encodingPayloads {
		var all commonpb.Payloads
		if proto.Unmarshal(p.Data, &all) == nil {
			return &all
		}
	}
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{fromPlain(p)}}
}
