package bus

import (
	"errors"

	"github.com/nats-io/nats.go/jetstream"
)

// IsWrongSequence reports whether the server refused a message because its subject, or the stream, is at another sequence than
// the message expects: somebody else was faster. The server has two codes for it, and a stream with several replicas may
// answer with either. The errors of nats.go would not do: creating a key over a deleted one returns what the server says.
func IsWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
