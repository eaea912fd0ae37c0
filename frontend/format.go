package frontend

import (
	"strings"

	"github.com/nats-io/nats.go/micro"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// bodyFormat is the encoding of the body of a request or reply.
type bodyFormat struct {
	contentType string
	decode      decoder
	encode      func(any) ([]byte, error)
}

var (
	formatJSON    = &bodyFormat{"application/json", apitext.DecodeJSON, apitext.EncodeJSON}
	formatMsgpack = &bodyFormat{"application/msgpack", apitext.DecodeMsgpack, apitext.EncodeMsgpack}
)

// formats has the formats by the names that callers use for them, in lower case.
var formats = map[string]*bodyFormat{
	"application/json":        formatJSON,
	"application/msgpack":     formatMsgpack,
	"application/x-msgpack":   formatMsgpack,
	"application/vnd.msgpack": formatMsgpack,
}

const acceptedFormats = "use application/json or application/msgpack"

// maxAccept is how many bytes of an Accept header are read.
const maxAccept = 1 << 10

// The headers by which formats are chosen.
const (
	headerContentType = "Content-Type"
	headerAccept      = "Accept"
)

// formatsOf returns the format of a request and the format of its reply: one that the request accepts, or else its own. If the
// request asks for a format that does not exist, the error says so, and reply is the nearest format.
func formatsOf(header micro.Headers) (request, reply *bodyFormat, err error) {
	request = formatJSON
	if media := mediaType(header.Get(headerContentType)); media != "" {
		known, ok := formats[media]
		if !ok {
			return formatJSON, formatJSON, schedule.Errorf(schedule.CodeInvalidArgument,
				"the content type %q is not accepted: %s", brief(media), acceptedFormats)
		}
		request = known
	}
	reply, err = acceptable(header.Get(headerAccept), request)
	return request, reply, err
}

// acceptable returns the first known format that an Accept header names. If the caller accepts any, it is fallback.
func acceptable(header string, fallback *bodyFormat) (*bodyFormat, error) {
	if strings.TrimSpace(header) == "" {
		return fallback, nil
	}
	for choice := range strings.SplitSeq(request.Cut(header, maxAccept), ",") {
		switch media := mediaType(choice); {
		case formats[media] != nil:
			return formats[media], nil
		case media == "*/*", media == "application/*":
			return fallback, nil
		}
	}
	return fallback, schedule.Errorf(schedule.CodeInvalidArgument,
		"a reply cannot be made as %q, which is all that is accepted: %s", brief(header), acceptedFormats)
}

// mediaType returns the part before parameters such as a charset, which do not matter.
func mediaType(header string) string {
	media, _, _ := strings.Cut(header, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// brief shortens the text of a header to what an error may quote.
func brief(text string) string {
	const most = 100
	if len(text) <= most {
		return text
	}
	return request.Cut(text, most) + "…"
}
