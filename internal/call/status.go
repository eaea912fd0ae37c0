package call

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"go.temporal.io/api/serviceerror"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// headerAnswer marks an answer that is a google.rpc.Status and not the response.
const (
	headerAnswer = "Carillon-Answer"
	answerStatus = "status"
)

// isStatus reports whether an answer is an error.
func isStatus(answer *nats.Msg) bool { return answer.Header.Get(headerAnswer) == answerStatus }

// readStatus returns the error that an answer stands for. It is never nil.
func readStatus(data []byte) error {
	var s spb.Status
	if err := proto.Unmarshal(data, &s); err != nil {
		return serviceerror.NewInternalf("the error of the server cannot be read: %v", err)
	}
	if err := serviceerror.FromStatus(status.FromProto(&s)); err != nil {
		return err
	}
	return serviceerror.NewInternal("the server answered with an error that is none")
}

// writeStatus makes the answer of an error.
func writeStatus(answer *nats.Msg, failure error) {
	answer.Header.Set(headerAnswer, answerStatus)
	answer.Data, _ = proto.Marshal(serviceerror.ToStatus(failure).Proto()) // a status can always be encoded
}

// told returns the error that a caller is told about, and whether it is what the handler said. Other errors come from below, as a rule from
// NATS: their text is for the log, and the caller may try again.
func told(ctx context.Context, err error) (error, bool) {
	var own serviceerror.ServiceError
	switch {
	case errors.As(err, &own):
		return err, true
	case ctx.Err() != nil:
		return serviceerror.NewDeadlineExceeded("the time of the request is over: it is not known whether it was carried out"), true
	}
	return serviceerror.NewUnavailable("the request could not be carried out; the log of the server says why"), false
}
