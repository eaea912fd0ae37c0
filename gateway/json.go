package gateway

import (
	"io"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/temporalproto"
	"google.golang.org/protobuf/proto"
)

// plainPayloads is the content type for clients that want payloads as they are: bytes and metadata.
const plainPayloads = "application/json+no-payload-shorthand"

// temporalJSON reads and writes messages as Temporal's HTTP API does: a payload of JSON is shown as that JSON, unless the client wants it plain.
type temporalJSON struct {
	contentType string
	metadata    map[string]any
}

func newTemporalJSON(shorthand bool) *temporalJSON {
	if !shorthand {
		return &temporalJSON{contentType: plainPayloads}
	}
	return &temporalJSON{contentType: "application/json", metadata: map[string]any{common.EnablePayloadShorthandMetadataKey: true}}
}

// ContentType returns the content type of an answer.
func (j *temporalJSON) ContentType(any) string { return j.contentType }

// Marshal encodes a message.
func (j *temporalJSON) Marshal(v any) ([]byte, error) {
	if message, ok := v.(proto.Message); ok {
		return temporalproto.CustomJSONMarshalOptions{Metadata: j.metadata}.Marshal(message)
	}
	return (&runtime.JSONPb{}).Marshal(v) // a part of a message
}

// Unmarshal decodes a message.
func (j *temporalJSON) Unmarshal(data []byte, v any) error {
	if message, ok := v.(proto.Message); ok {
		return temporalproto.CustomJSONUnmarshalOptions{Metadata: j.metadata}.Unmarshal(data, message)
	}
	return (&runtime.JSONPb{}).Unmarshal(data, v)
}

// NewDecoder returns a decoder of the one message that a body has.
func (j *temporalJSON) NewDecoder(r io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(v any) error {
		data, err := io.ReadAll(r)
		switch {
		case err != nil:
			return err
		case len(data) == 0:
			return io.EOF // a request without a body
		}
		return j.Unmarshal(data, v)
	})
}

// NewEncoder returns an encoder.
func (j *temporalJSON) NewEncoder(w io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(v any) error {
		data, err := j.Marshal(v)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	})
}
