package gateway

import (
	"io"
	"net/http"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/temporalproto"
	"google.golang.org/protobuf/proto"
)

// The content types. What follows "+" may be asked for in the header Accept, or in the query.
const (
	plainJSON = "application/json"
	// pretty asks for answers of many lines, with indents.
	pretty = "+pretty"
	// plainPayloads asks for payloads as they are: bytes and metadata.
	plainPayloads = "+no-payload-shorthand"
)

// temporalJSON reads and writes messages as Temporal's HTTP API does: a payload of JSON is shown as that JSON, unless the client wants it plain.
type temporalJSON struct {
	contentType, indent string
	metadata            map[string]any
}

// marshalers are the ways to read and write messages, each with its content type. The first is for requests that ask for none of them.
func marshalers() (all []runtime.ServeMuxOption) {
	all = append(all, runtime.WithMarshalerOption(runtime.MIMEWildcard, newTemporalJSON("")))
	for _, wish := range []string{pretty, plainPayloads, pretty + plainPayloads} {
		all = append(all, runtime.WithMarshalerOption(plainJSON+wish, newTemporalJSON(wish)))
	}
	return all
}

// fromQuery turns the wishes of a query, such as "?pretty", into those of the header Accept.
func fromQuery(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wish, query := "", r.URL.Query()
		if query.Has("pretty") {
			wish += pretty
		}
		if query.Has("noPayloadShorthand") {
			wish += plainPayloads
		}
		if wish != "" {
			r.Header.Set("Accept", plainJSON+wish)
		}
		next.ServeHTTP(w, r)
	})
}

func newTemporalJSON(wish string) *temporalJSON {
	j := &temporalJSON{contentType: plainJSON + wish}
	if strings.HasPrefix(wish, pretty) {
		j.indent = "  "
	}
	if !strings.HasSuffix(wish, plainPayloads) {
		j.metadata = map[string]any{common.EnablePayloadShorthandMetadataKey: true}
	}
	return j
}

// ContentType returns the content type of an answer.
func (j *temporalJSON) ContentType(any) string { return j.contentType }

// Marshal encodes a message.
func (j *temporalJSON) Marshal(v any) ([]byte, error) {
	if message, ok := v.(proto.Message); ok {
		return temporalproto.CustomJSONMarshalOptions{Indent: j.indent, Metadata: j.metadata}.Marshal(message)
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
